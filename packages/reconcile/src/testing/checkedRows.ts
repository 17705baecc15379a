/** Rows of one app's read models, made by SQL, and what the cross checks find in them. */
import { type Pool, withTransaction } from '@coffer/database';
import { createReadSchema } from '@coffer/read-models';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { crossChecks } from '../crossChecks.ts';

const SCHEMA = 'verified_v1';
const APP = 'app_1';

export interface CheckedRows {
  readonly tables: readonly string[];
  /** SQL, in which `$` stands before the name of a table. */
  readonly consistent: string;
  /** Other checks look at what these rows have nothing of. */
  readonly isChecked: (check: string) => boolean;
}

/** What is wrong, by SQL, and what is found then: the check and its subject. */
export type Wrong = readonly [what: string, sql: string, found: readonly string[]];

/** Called in a `describe`: before each test the tables have the consistent rows and no others. */
export function checkedRows({ tables, consistent, isChecked }: CheckedRows) {
  let database: TestDatabase;
  let pool: Pool;

  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
    await withTransaction(pool, (client) => createReadSchema(client, SCHEMA));
  });
  after(() => database.drop());
  beforeEach(async () => {
    await change(`truncate ${tables.map((table) => `$${table}`).join(', ')}`);
    await change(consistent);
  });

  async function change(sql: string): Promise<void> {
    await pool.query(sql.replaceAll('$', `${SCHEMA}.`));
  }

  const resultsIn = (environment: 'test' | 'live', inFlight: readonly string[]) =>
    crossChecks(pool, SCHEMA, { appId: APP, environment }, inFlight);

  const found = async (...inFlight: readonly string[]) =>
    (await resultsIn('test', inFlight))
      .flatMap(({ discrepancies }) => discrepancies)
      .flatMap(({ check, subject }) => (isChecked(check) ? [`${check} ${subject}`] : []));

  return {
    change,
    found,
    /** How many rows each check has looked at. */
    async examined() {
      const results = await resultsIn('test', []);
      return Object.fromEntries(
        results.flatMap(({ check: { name, examined } }) => (isChecked(name) ? [[name, examined]] : [])),
      );
    },
    finds(cases: readonly Wrong[]): void {
      for (const [what, sql, faults] of cases)
        it(`find ${what}`, async () => {
          await change(sql);
          expect(await found()).to.deep.equal(faults);
        });
    },
    looksAtOneEnvironment(sql: string): void {
      it('look at one app and environment alone', async () => {
        await change(sql);
        const live = await resultsIn('live', []);
        expect(live.filter(({ check }) => !check.ok)).to.deep.equal([]);
      });
    },
  };
}
