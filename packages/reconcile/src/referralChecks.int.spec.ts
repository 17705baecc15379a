import { expect } from 'chai';
import { REFERRAL_CHECKS } from './referralChecks.ts';
import { checkedRows, type Wrong } from './testing/checkedRows.ts';

const OURS = REFERRAL_CHECKS.map(({ name }) => name);
const commission = (key: string) => `commission-test.app_1.${key}`;
const earnings = (user: string) => `earnings-test.app_1.${user}.2`;
const account = (user: string) => `account-test.app_1.${user}.2`;

/**
 * `p1`: 100 to ann. `d1`: 10 to ann and 5 to bob. `d2`: nobody is above. `w1`: 40 of ann's, credited. `w2`: of ann's,
 * came back, because the key was another operation's.
 */
function consistentReferrals(): string {
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
  return `
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
    insert into $trial_balances values ('b1', 1, 'app_1', 'test', 2, 'referrals', 75)`;
}

const wrong: readonly Wrong[] = [
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

describe('the checks of referrals', () => {
  const { change, found, examined, finds, looksAtOneEnvironment } = checkedRows({
    tables: ['commissions', 'earnings', 'earnings_entries', 'postings', 'trial_balances'],
    consistent: consistentReferrals(),
    isChecked: (check) => OURS.includes(check),
  });

  it('find nothing in commissions that agree with their accruals, and withdrawals with their credits', async () => {
    expect(await found()).to.deep.equal([]);
    expect(await examined()).to.deep.equal({
      commissions: 3,
      earnings: 2,
      earnings_withdrawn: 2,
      referrals_balance: 1,
    });
  });

  finds(wrong);

  it('excuse what is on its way', async () => {
    await change(`delete from $earnings_entries where idem_key = 'd1';
                  update $earnings set accrued = 100 where user_id = 'ann';
                  delete from $earnings where user_id = 'bob';
                  update $trial_balances set balance = 60 where account = 'referrals'`);
    expect(await found(commission('d1'))).to.deep.equal([]);
    await change(`delete from $postings where subject = 'earnings:w1';
                  update $trial_balances set balance = 100 where account = 'referrals'`);
    expect(await found(commission('d1'), `${account('ann')} earnings:w1`)).to.deep.equal([]);
  });

  looksAtOneEnvironment(`update $earnings set accrued = 111 where user_id = 'ann'`);
});
