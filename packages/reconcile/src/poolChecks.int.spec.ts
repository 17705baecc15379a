import { expect } from 'chai';
import { checkedRows, type Wrong } from './testing/checkedRows.ts';

const accountOf = (user: string) => `account-test.app_1.${user}.2`;
const streamOf = (pool: string) => `pool-test.app_1.${pool}`;

type StakeValues = readonly [
  pool: string,
  number: number,
  user: string,
  amount: number,
  status: string,
  payout: number | null,
  creditDue: boolean,
];

/**
 * `open`: 10 locked, 20 confirmed. `won`: 100 staked by ann and bob, 90 to ann and 10 to the house; 7 of cid were
 * released before, 8 of dan by the settlement. `void`: 4 refunded. A lock of eve came too late.
 */
function consistentPools(): string {
  const stakes: readonly StakeValues[] = [
    ['open', 1, 'ann', 10, 'locked', null, false],
    ['open', 2, 'bob', 20, 'confirmed', null, false],
    ['won', 1, 'ann', 50, 'settled', 90, true],
    ['won', 2, 'bob', 50, 'settled', 0, true],
    ['won', 3, 'cid', 7, 'released', null, false],
    ['won', 4, 'dan', 8, 'released', null, true],
    ['void', 1, 'ann', 4, 'refunded', 4, true],
    ['void', 2, 'bob', 3, 'released', null, false],
  ];
  const holdOf = ([name, number, user]: StakeValues) => `'${accountOf(user)}', 'stake:${name}/b${number}'`;
  const last = `${accountOf('dan')} stake:won/b4`;
  return `
    insert into $pools values
      ('${streamOf('open')}', 1, 2, 'app_1', 'test', 'open', 2, 'open', 10, 20, null, 0, null, 0, 0, null, now(), null),
      ('${streamOf('won')}', 2, 7, 'app_1', 'test', 'won', 2, 'settled', 0, 100, 10, 3, '${last}',
        3, 30, 'e1', now(), now()),
      ('${streamOf('void')}', 3, 3, 'app_1', 'test', 'void', 2, 'refunded', 0, 4, null, 1,
        '${accountOf('ann')} stake:void/b1', 1, 40, 'e2', now(), now());
    insert into $pool_stakes values ${stakes
      .map((stake) => {
        const [name, number, user, amount, status, payout, creditDue] = stake;
        return `('${streamOf(name)}', ${number}, 'app_1', 'test', 'b${number}', '${user}', 2, ${holdOf(stake)},
                 ${amount}, '${status}', ${payout}, ${creditDue}, now())`;
      })
      .join(', ')};
    insert into $holds values ${stakes
      .map((stake) => {
        const [name, , user, amount, status, payout] = stake;
        const closing =
          name === 'open' ? 'null, 1, null' : `${status === 'released' ? amount : payout}, 1, 2`;
        return `(${holdOf(stake)}, 'app_1', 'test', '${user}', 2, 'stake', ${amount}, ${closing})`;
      })
      .join(', ')},
      ('${accountOf('eve')}', 'stake:won/b5', 'app_1', 'test', 'eve', 2, 'stake', 6, 6, 1, 2);
    insert into $postings values
      (1, 1, '${streamOf('won')}', 7, 'app_1', 'test', null, 2, 'pools', 'pool:won', -10, 0, -10, now()),
      (1, 2, '${streamOf('won')}', 7, 'app_1', 'test', null, 2, 'house', 'pool:won', 10, 0, 10, now());
    insert into $trial_balances values ('b1', 1, 'app_1', 'test', 2, 'pools', 0)`;
}

const wrong: readonly Wrong[] = [
  [
    'a stake of an open pool without its hold',
    `delete from $holds where hold_id = 'stake:open/b1'`,
    [`open_stakes ${accountOf('ann')} stake:open/b1`],
  ],
  [
    'a stake of an open pool whose hold was closed',
    `update $holds set payout = 10, closed_at_revision = 9 where hold_id = 'stake:open/b1'`,
    [`open_stakes ${accountOf('ann')} stake:open/b1`],
  ],
  [
    'a hold of another amount than its stake',
    `update $holds set amount = 11 where hold_id = 'stake:open/b1'`,
    [`open_stakes ${accountOf('ann')} stake:open/b1`],
  ],
  [
    'a hold that is in no pool',
    `insert into $holds values
      ('${accountOf('eve')}', 'stake:open/b9', 'app_1', 'test', 'eve', 2, 'stake', 5, null, 1, null)`,
    [`open_stakes ${accountOf('eve')} stake:open/b9`],
  ],
  [
    'a hold in no pool that was not given back in full',
    `insert into $holds values
      ('${accountOf('eve')}', 'stake:open/b9', 'app_1', 'test', 'eve', 2, 'stake', 5, 4, 1, 2)`,
    [`closed_stakes ${accountOf('eve')} stake:open/b9`],
  ],
  [
    'a credit of a settled pool that was never made',
    `update $holds set payout = null, closed_at_revision = null where hold_id = 'stake:won/b1'`,
    [`open_stakes ${accountOf('ann')} stake:won/b1`, 'pools_balance 2'],
  ],
  [
    'a credit of another amount',
    `update $holds set payout = 91 where hold_id = 'stake:won/b1'`,
    [`closed_stakes ${accountOf('ann')} stake:won/b1`],
  ],
  [
    'a settled stake that was never held',
    `delete from $holds where hold_id = 'stake:won/b2'`,
    [`closed_stakes ${accountOf('bob')} stake:won/b2`],
  ],
  [
    'a released stake that was not given back in full',
    `update $holds set payout = 6 where hold_id = 'stake:won/b3'`,
    [`closed_stakes ${accountOf('cid')} stake:won/b3`],
  ],
  [
    'a refunded stake that was not given back in full',
    `update $holds set payout = 3 where hold_id = 'stake:void/b1'`,
    [`closed_stakes ${accountOf('ann')} stake:void/b1`],
  ],
  [
    'a pool whose confirmed sum is wrong',
    `update $pools set confirmed = 21 where pool_id = 'open'`,
    [`pools ${streamOf('open')}`],
  ],
  [
    'a pool whose locked sum is wrong',
    `update $pools set locked = 9 where pool_id = 'open'`,
    [`pools ${streamOf('open')}`],
  ],
  [
    'a pool whose count of credits is wrong',
    `update $pools set credits = 4 where pool_id = 'won'`,
    [`pools ${streamOf('won')}`],
  ],
  [
    'a settlement that is not conserved',
    `update $pools set rake = 11 where pool_id = 'won'`,
    [`pools ${streamOf('won')}`, `pool_rakes ${streamOf('won')}`],
  ],
  [
    'a refund of another sum',
    `update $pools set confirmed = 3 where pool_id = 'void'`,
    [`pools ${streamOf('void')}`],
  ],
  ['stakes without a pool', `delete from $pools where pool_id = 'void'`, [`pools ${streamOf('void')}`]],
  [
    'a rake that did not reach the house',
    `delete from $postings where stream = '${streamOf('won')}'`,
    [`pool_rakes ${streamOf('won')}`],
  ],
  [
    'something left in pools when all credits are done',
    `update $trial_balances set balance = -1 where account = 'pools'`,
    ['pools_balance 2'],
  ],
];

describe('the checks of pools', () => {
  const { change, found, examined, finds, looksAtOneEnvironment } = checkedRows({
    tables: ['accounts', 'holds', 'pools', 'pool_stakes', 'postings', 'trial_balances'],
    consistent: consistentPools(),
    isChecked: (check) => check === 'pools_balance' || /^pools?$|pool_|stakes/.test(check),
  });

  it('find nothing in pools that agree with their holds', async () => {
    expect(await found()).to.deep.equal([]);
    expect(await examined()).to.include({
      open_stakes: 2,
      closed_stakes: 6,
      pools: 3,
      pool_rakes: 1,
      pools_balance: 1,
    });
  });

  finds(wrong);

  it('count no credit that is on its way, under the name of the last one of the pool', async () => {
    await change(
      `update $holds set payout = null, closed_at_revision = null where hold_id like 'stake:won/b%' and user_id <> 'eve'`,
    );
    // 90 for a stake of 50, nothing for one of 50, and 7 of 7 given back; the rake has left.
    await change(`update $trial_balances set balance = -10 where account = 'pools'`);
    const last = `${accountOf('dan')} stake:won/b4`;
    expect(await found(last)).to.deep.equal([`open_stakes ${accountOf('cid')} stake:won/b3`]);
    expect(await found(last, `${accountOf('cid')} stake:won/b3`)).to.deep.equal([]);
    expect(await found(`${accountOf('dan')} stake:won/b40`)).to.have.length(4);
  });

  looksAtOneEnvironment(`update $holds set amount = 11 where hold_id = 'stake:open/b1'`);
});
