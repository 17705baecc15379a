/** How autovacuum, which alone follows these settings, treats the log. ADR 0084 and 0085. */
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { logTemplate } from '../testing/logDatabase.ts';

describe('the events', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase(logTemplate);
  });
  after(() => database.drop());

  it('are vacuumed every 20,000, however long the log, and frozen at once', async () => {
    const { rows } = await database.pool.query<{ options: string[] }>(
      `select reloptions as options from pg_class where oid = 'log.events'::regclass`,
    );
    expect(rows[0]?.options).to.have.members([
      'autovacuum_vacuum_insert_scale_factor=0',
      'autovacuum_vacuum_insert_threshold=20000',
      'autovacuum_freeze_min_age=0',
    ]);
  });

  it('are analyzed by a tenth of the usual sample, and their contents not at all', async () => {
    const { rows } = await database.pool.query<{ column: string; target: number }>(
      `select attname as column, attstattarget as target from pg_attribute
       where attrelid = 'log.events'::regclass and attnum > 0`,
    );
    const targets = Object.fromEntries(rows.map(({ column, target }) => [column, target]));
    const [few, none] = [10, 0];
    expect(targets).to.deep.equal({
      ...{ position: few, stream: few, revision: few, id: few, type: few, created: few },
      ...{ data: none, metadata: none },
    });
  });
});
