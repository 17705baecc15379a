/** Which transactionUuids were used in two sessions, however their uses are spread over pages and statements. */
import { type Pool, withTransaction } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import {
  createTransactionUuids,
  projectTransactionUuids,
  sharedTransactionUuids,
  type TransactionUse,
} from './transactionUuids.ts';

const SCHEMA = 'verified_spec';
const PLACE = { appId: 'app_1', environment: 'test' } as const;

describe('a transactionUuid used in two sessions', () => {
  let database: TestDatabase;
  let pool: Pool;
  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
  });
  after(() => database.drop());
  beforeEach(() =>
    withTransaction(pool, async (client) => {
      await client.query(`drop schema if exists ${SCHEMA} cascade; create schema ${SCHEMA}`);
      await createTransactionUuids(client, SCHEMA);
    }),
  );

  const use = (sessionId: string, transactionUuid: string): TransactionUse => ({
    ...PLACE,
    sessionId,
    transactionUuid,
  });
  const take = async (...pages: readonly (readonly TransactionUse[])[]) => {
    for (const page of pages) {
      const uses = [...page];
      const projection = projectTransactionUuids(SCHEMA, () => uses.shift());
      // Only their number counts: what each records is given above.
      const events = page.map(() => ({}) as RecordedEvent);
      await withTransaction(pool, (client) => projection.apply(client, events, 0));
    }
    const shared = await sharedTransactionUuids(pool, SCHEMA, PLACE);
    return shared.map(({ subject, sessions }) => `${subject}: ${sessions.join(' ')}`);
  };
  const others = (count: number) => Array.from({ length: count }, (_, index) => use('s0', `other ${index}`));

  const twice = [use('s1', 'a, "b" \\ c {d} ä'), use('s2', 'a, "b" \\ c {d} ä')] as const;
  const [first, second] = twice;
  const FOUND = [`${first.transactionUuid}: s1 s2`];

  it('is found in one statement, in two of a page, and in two pages', async () => {
    expect(await take(twice)).to.deep.equal(FOUND);
    await pool.query(`truncate ${SCHEMA}.transaction_uuids, ${SCHEMA}.shared_transaction_uuids`);
    expect(await take([first, ...others(3_000), second])).to.deep.equal(FOUND);
    await pool.query(`truncate ${SCHEMA}.transaction_uuids, ${SCHEMA}.shared_transaction_uuids`);
    expect(await take([first, ...others(10)], [second, ...others(10)])).to.deep.equal(FOUND);
  });

  it('is not one that a session uses again, nor a page that is taken again', async () => {
    const page = [first, first, ...others(10)];
    expect(await take(page, page)).to.deep.equal([]);
    expect(await take(twice, twice)).to.deep.equal(FOUND);
  });

  it('is found once in all its sessions', async () => {
    expect(await take([use('s1', 'x'), use('s2', 'x')], [use('s3', 'x')])).to.deep.equal(['x: s1 s2 s3']);
  });
});
