import { type Pool, withTransaction } from '@coffer/database';
import { createReadSchema } from '@coffer/read-models';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { crossChecks } from './crossChecks.ts';
import { REFERRAL_CHECKS } from './referralChecks.ts';

const SCHEMA = 'verified_v1';
const APP = 'app_1';
const BOOKS = { appId: APP, environment: 'test' } as const;
const TABLES = ['commissions', 'earnings', 'earnings_entries', 'postings', 'trial_balances'];
const OURS = REFERRAL_CHECKS.map(({ name }) => name);
const commission = (key: string) => `commission-test.${APP}.${key}`;
const earnings = (user: string) => `earnings-test.${APP}.${user}.2`;
const account = (user: string) => `account-test.${APP}.${user}.2`;

describe('the checks of referrals', () => {
  let database: TestDatabase;
  let pool: Pool;

  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
    await withTransaction(pool, (client) => createReadSchema(client, SCHEMA));
  });
  after(() => database.drop());
  beforeEach(async () => {
    await change(`truncate ${TABLES.map((table) => `$${table}`).join(', ')}`);
    await consistentReferrals();
  });

  const change = async (sql: string) => {
    await pool.query(sql.replaceAll('$', `${SCHEMA}.`));
  };
  const checks = async (inFlight: readonly string[] = []) =>
    (await crossChecks(pool, SCHEMA, BOOKS, inFlight)).filter(({ check }) => OURS.includes(check.name));
  const named = async (...inFlight: readonly string[]) =>
    (await checks(inFlight)).flatMap(({ discrepancies }) =>
      discrepancies.map(({ check, subject }) => `${check} ${subject}`),
    );

  it('find nothing in commissions that agree with their accruals, and withdrawals with their credits', async () => {
    expect(await named()).to.deep.equal([]);
    const examined = Object.fromEntries((await checks()).map(({ check }) => [check.name, check.examined]));
    expect(examined).to.deep.equal({
      commissions: 3,
      earnings: 2,
      earnings_withdrawn: 2,
      referrals_balance: 1,
    });
  });

  const cases: readonly (readonly [what: string, sql: string, faults: readonly string[]])[] = [
    [
      'an accrual that was never made',
      `delete from $earnings_entries where idem_key = 'd1' and user_id = 'bob'`,
      [`commissions ${commission('d1')}`, `earnings ${earnings('bob')}`],
    ],
    [
      'an accrual of another amount',
      `update $earnings_entries set amount = 11 where idem_key = 'd1' and user_id = 'ann'`,
      [`commissions ${commission('d1')}`, `earnings ${earnings('ann')}`],
    ],
    [
      'an accrual in another currency',
      `update $earnings_entries set currency_id = 3 where idem_key = 'p1'`,
      [`commissions ${commission('p1')}`, `commissions ${commission('p1')}`],
    ],
    [
      'an accrual that no commission decided',
      `delete from $commissions where idem_key = 'p1'`,
      [`commissions ${commission('p1')}`],
    ],
    [
      'earnings that are not the sum of what changed them',
      `update $earnings set accrued = 111 where user_id = 'ann'`,
      [`earnings ${earnings('ann')}`, 'referrals_balance 2'],
    ],
    [
      'a withdrawal that counts although it came back',
      `update $earnings set withdrawn = 10 where user_id = 'ann'`,
      [`earnings ${earnings('ann')}`],
    ],
    [
      'a withdrawal that was never credited',
      `delete from $postings where subject = 'earnings:w1'`,
      [`earnings_withdrawn ${account('ann')} earnings:w1`, 'referrals_balance 2'],
    ],
    [
      'a withdrawal credited with another amount',
      `update $postings set amount = 41, current_balance = 41 where subject = 'earnings:w1' and account = 'available'`,
      [`earnings_withdrawn ${account('ann')} earnings:w1`, 'referrals_balance 2'],
    ],
    [
      'a withdrawal without its key',
      `delete from $commissions where idem_key = 'w1'`,
      [`earnings_withdrawn ${account('ann')} earnings:w1`],
    ],
    [
      'a credit that nothing was set aside for',
      `delete from $earnings_entries where entry like '% withdrawal:w1'`,
      [`earnings ${earnings('ann')}`, `earnings_withdrawn ${account('ann')} earnings:w1`],
    ],
    [
      'a house that owes another sum',
      `update $trial_balances set balance = 71 where account = 'referrals'`,
      ['referrals_balance 2'],
    ],
  ];
  for (const [what, sql, faults] of cases) {
    it(`find ${what}`, async () => {
      await change(sql);
      expect(await named()).to.deep.equal(faults);
    });
  }

  it('excuse what is on its way', async () => {
    await change(`delete from $earnings_entries where idem_key = 'd1';
                  update $earnings set accrued = 100 where user_id = 'ann';
                  delete from $earnings where user_id = 'bob';
                  update $trial_balances set balance = 60 where account = 'referrals'`);
    expect(await named(commission('d1'))).to.deep.equal([]);
    await change(`delete from $postings where subject = 'earnings:w1';
                  update $trial_balances set balance = 100 where account = 'referrals'`);
    expect(await named(commission('d1'), `${account('ann')} earnings:w1`)).to.deep.equal([]);
  });

  it('look at one app and environment alone', async () => {
    await change(`update $earnings set accrued = 111 where user_id = 'ann'`);
    const live = await crossChecks(pool, SCHEMA, { appId: APP, environment: 'live' }, []);
    expect(live.filter(({ check }) => !check.ok)).to.deep.equal([]);
  });

  /**
   * `p1`: 100 to ann. `d1`: 10 to ann and 5 to bob. `d2`: nobody is above. `w1`: 40 of ann's, credited. `w2`: of ann's,
   * came back, because the key was another operation's.
   */
  async function consistentReferrals(): Promise<void> {
    const entry = (
      number: number,
      user: string,
      kind: string,
      key: string,
      amount: number,
      status = 'booked',
    ) => {
      const stream = earnings(user);
      const name = kind === 'withdrawal' ? kind : 'accrual';
      return `('${stream} ${name}:${key}', ${number}, '${stream}', 'app_1', 'test', '${user}', 2, '${kind}', '${key}',
               ${amount}, null, null, null, '${status}', now())`;
    };
    const decided = (number: number, key: string, kind: string, amount: number, accruals: number) =>
      `('${commission(key)}', ${number}, 0, 'app_1', 'test', '${key}', '${kind}', 'ann', 2, ${amount}, ${accruals})`;
    await change(`
      insert into $commissions values ${[
        decided(1, 'p1', 'payout', 100, 1),
        decided(2, 'd1', 'distribution', 15, 2),
        decided(3, 'd2', 'distribution', 0, 0),
        decided(4, 'w1', 'withdrawal', 40, 0),
      ].join(', ')};
      insert into $earnings values
        ('${earnings('ann')}', 1, 4, 'app_1', 'test', 'ann', 2, 110, 40),
        ('${earnings('bob')}', 2, 0, 'app_1', 'test', 'bob', 2, 5, 0);
      insert into $earnings_entries values ${[
        entry(1, 'ann', 'payout', 'p1', 100),
        entry(2, 'ann', 'distribution', 'd1', 10),
        entry(3, 'bob', 'distribution', 'd1', 5),
        entry(4, 'ann', 'withdrawal', 'w1', 40),
        entry(5, 'ann', 'withdrawal', 'w2', 10, 'returned'),
      ].join(', ')};
      insert into $postings values
        (6, 1, '${account('ann')}', 0, 'app_1', 'test', 'ann', 2, 'available', 'earnings:w1', 40, 0, 40, now()),
        (6, 2, '${account('ann')}', 0, 'app_1', 'test', 'ann', 2, 'referrals', 'earnings:w1', -40, 115, 75, now());
      insert into $trial_balances values ('b1', 1, 'app_1', 'test', 2, 'referrals', 75)`);
  }
});
