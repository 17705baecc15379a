/** Which transactionUuids were used in two sessions, however their uses are spread over pages and statements. */
import { type Pool, withTransaction } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import { keptPlans } from '@coffer/read-models/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import {
  compareTransactionUuids,
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
  const compare = () => withTransaction(pool, (client) => compareTransactionUuids(client, SCHEMA));
  const take = async (...pages: readonly (readonly TransactionUse[])[]) => {
    let uses: TransactionUse[] = [];
    const projection = projectTransactionUuids(SCHEMA, () => uses.shift());
    for (const page of pages) {
      uses = [...page];
      // Only their number counts: what each records is given above.
      const events = page.map(() => ({}) as RecordedEvent);
      await withTransaction(pool, (client) => projection.apply(client, events, 0));
    }
  };
  const found = async () => {
    const shared = await sharedTransactionUuids(pool, SCHEMA, PLACE);
    return shared.map(({ subject, sessions }) => `${subject}: ${sessions.join(' ')}`);
  };
  const others = (count: number) => Array.from({ length: count }, (_, index) => use('s0', `other ${index}`));

  const twice = [use('s1', 'a, "b" \\ c {d} ä'), use('s2', 'a, "b" \\ c {d} ä')] as const;
  const [first, second] = twice;
  const FOUND = [`${first.transactionUuid}: s1 s2`];

  /** When the uses are compared: all at the end, each as it comes, or the first page at its end and the others as they come. */
  const WAYS = {
    'at the end': async (pages: readonly (readonly TransactionUse[])[]) => {
      await take(...pages);
      await compare();
    },
    'as it comes': async (pages: readonly (readonly TransactionUse[])[]) => {
      await compare();
      await take(...pages);
      await compare();
    },
    'in between': async ([first = [], ...others]: readonly (readonly TransactionUse[])[]) => {
      await take(first);
      await compare();
      await take(...others);
    },
  };
  for (const [way, takeAndCompare] of Object.entries(WAYS)) {
    const findIn = async (...pages: readonly (readonly TransactionUse[])[]) => {
      await takeAndCompare(pages);
      return found();
    };

    it(`is found in one statement, compared ${way}`, async () =>
      expect(await findIn(twice)).to.deep.equal(FOUND));

    it(`is found in two statements of a page, compared ${way}`, async () =>
      expect(await findIn([first, ...others(3_000), second])).to.deep.equal(FOUND));

    it(`is found in two pages, compared ${way}`, async () =>
      expect(await findIn([first, ...others(10)], [second, ...others(10)])).to.deep.equal(FOUND));

    it(`is not one that a session uses again, nor a page that is taken again, compared ${way}`, async () => {
      const page = [first, first, ...others(10)];
      expect(await findIn(page, page)).to.deep.equal([]);
    });

    it(`is found once though its page is taken again, compared ${way}`, async () =>
      expect(await findIn(twice, twice)).to.deep.equal(FOUND));

    it(`is found once in all its sessions, compared ${way}`, async () => {
      const shared = [
        [use('s1', 'x'), use('s2', 'x')],
        [use('s3', 'x')],
        [use('s3', 'x y'), use('s1', 'x y')],
      ];
      expect(await findIn(...shared)).to.deep.equal(['x: s1 s2 s3', 'x y: s1 s3']);
    });
  }

  it('is still one of two sessions for a later use, after both were compared', async () => {
    await take([first]);
    await compare();
    await take([second]);
    await compare();
    expect(await found()).to.deep.equal(FOUND);
    await take([use('s3', first.transactionUuid)]);
    expect(await found()).to.deep.equal([`${first.transactionUuid}: s1 s2 s3`]);
  });

  it('is planned for its rows of the moment, but for inserts', async () => {
    await compare();
    await take([first], [second]);
    expect(await keptPlans(pool)).to.deep.equal(['insert']);
  });

  it('is found among uuids that are never analyzed: a sample would read 30,000 pages', async () => {
    const { rows } = await pool.query<{ options: string[] }>(
      `select reloptions as options from pg_class where oid = '${SCHEMA}.transaction_uuids'::regclass`,
    );
    expect(rows[0]?.options).to.deep.equal(['autovacuum_analyze_threshold=2147483647']);
  });
});
