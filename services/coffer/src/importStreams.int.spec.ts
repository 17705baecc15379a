/** What an import forgets of the log, and when it is refused. The chain: `importChainedLog.int.spec.ts` of audit. */
import { randomUUID } from 'node:crypto';
import { readCheckpoint } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { streamName } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { CommandFailure } from './cli/failure.ts';
import { importStreams, importStreamsFrom } from './importStreams.ts';
import { serviceTemplate } from './testing/world.ts';

describe('an import into the configured store', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;

  beforeEach(async () => {
    database = await createTestDatabase(serviceTemplate);
    store = createMemoryEventStore();
    pool = database.pool;
  });
  afterEach(async () => {
    await store.close();
    await database.drop();
  });

  const importing = () => importStreams({ pool, store, chunks: oneEvent(), onProgress() {} });

  it('forgets all that was read of the log by its old positions', async () => {
    await pool.query(`insert into cache.snapshots (stream, decider_version, revision, event_id, state, bytes, mac)
                      values ('a-test.b.c', 1, 5, '${randomUUID()}', '{}', '', '')`);
    await pool.query(`insert into records.consumers (name, position, event_id, ordinal)
                      values ('holds', '7', '${randomUUID()}', 7)`);
    await pool.query('create schema verified_v1');
    const { dropped, restarted } = await importing();
    expect(dropped.join()).to.match(/^read_v\d+,verified_v\d+$/);
    expect(restarted).to.deep.equal([
      'holds',
      'identities',
      'chainWorkerTest',
      'chainWorkerLive',
      'webhooks',
    ]);
    expect((await pool.query(`select from cache.snapshots`)).rowCount).to.equal(0);
    expect(await readCheckpoint(pool, { schema: 'records', name: 'holds' })).to.equal(undefined);
    const schemas = await pool.query(`select from pg_namespace where nspname ~ '^(read|verified)_v'`);
    expect(schemas.rowCount).to.equal(0);
  });

  it('says so if its file cannot be read', async () => {
    const environment = { DATABASE_URL: database.connectionString };
    const path = '/no/such/file.jsonl';
    const error = await importStreamsFrom(environment, { path, onProgress() {} }).catch(
      (refused: unknown) => refused,
    );
    expect(error).to.be.instanceOf(CommandFailure).and.have.property('message').that.includes(path);
  });

  for (const consumer of ['holds', 'kafka']) {
    it(`is refused while a service runs ${consumer}, before anything is written`, async () => {
      await pool.query(
        `insert into records.consumers (name, owner, leased_until)
         values ($1, 'somebody', now() + interval '1 minute')`,
        [consumer],
      );
      const error = await importing().catch((refused: unknown) => refused);
      expect(error).to.be.instanceOf(CommandFailure).and.have.property('message').that.includes('somebody');
      expect(await store.head()).to.equal(undefined);
    });
  }
});

async function* oneEvent(): AsyncGenerator<Uint8Array> {
  const stream = streamName('thing', 'test', `app_${'0'.repeat(26)}`, '1');
  const event = { position: '1', stream, revision: 0, id: randomUUID(), type: 'Happened' };
  const recordedAt = '2026-01-01T00:00:00.000Z';
  yield Buffer.from(`${JSON.stringify({ ...event, data: {}, metadata: { v: 1 }, recordedAt })}\n`);
}
