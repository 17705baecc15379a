/** Rows of pools that are not what the log says, each fault named by pool and bet. Source: contract, Custody. */
import { custodyContext } from '@coffer/custody';
import { useCustody } from '@coffer/custody/testing';
import { requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { RECONCILED_CONTEXTS } from './testing/reconciledContexts.ts';
import { whileTampered } from './testing/whileTampered.ts';

const POOLS = `read_v1.pools`;
const STAKES = `read_v1.pool_stakes`;

describe('Reconciling the rows of pools', () => {
  const custody = useCustody({ contexts: RECONCILED_CONTEXTS.with(custodyContext) });
  const streamOf = (poolId: string) => `pool-test.${custody.test.appId}.${poolId}`;

  const reconcile = () => custody.test.reconcile();

  before(async () => {
    await custody.stake('open', 'b1', '20');
    await custody.orphan('open', 'b2', '10');
    const winner = await custody.stake('won', 'b1', '50');
    await custody.stake('won', 'b2', '50');
    await custody.orphan('won', 'b3', '7');
    const payouts = [{ betId: 'b1', userId: winner, payout: '90' }];
    requireStatus(await custody.settle({ poolId: 'won', rake: '10', payouts }), 200);
    await custody.stake('void', 'b1', '4');
    requireStatus(await custody.refund({ poolId: 'void' }), 200);
  });

  it('finds nothing in those of open, settled and refunded pools, and looks at each', async () => {
    const { checks } = requireStatus(await reconcile(), 200).json;
    const examined = Object.fromEntries(Object(checks).map(({ name, examined }: Check) => [name, examined]));
    expect(examined).to.include({ pools_rows: 3, pool_stakes_rows: 6, pool_rakes: 1, pools_balance: 1 });
  });

  interface Check {
    readonly name: string;
    readonly examined: number;
  }

  const cases: readonly (readonly [what: string, tamper: string, poolId: string, fault: object])[] = [
    [
      'a confirmed sum',
      `update ${POOLS} set confirmed = 21 where pool_id = 'open'`,
      'open',
      { check: 'pools_rows', expected: { confirmed: '20' }, actual: { confirmed: '21' } },
    ],
    [
      'a rake',
      `update ${POOLS} set rake = 11 where pool_id = 'won'`,
      'won',
      { check: 'pools_rows', expected: { rake: '10' }, actual: { rake: '11' } },
    ],
    [
      'a count of credits',
      `update ${POOLS} set credits_done = 2 where pool_id = 'won'`,
      'won',
      { check: 'pools_rows', expected: { credits_done: '3' }, actual: { credits_done: '2' } },
    ],
    [
      'a missing pool',
      `delete from ${POOLS} where pool_id = 'void'`,
      'void',
      { check: 'pools_rows', actual: null },
    ],
    [
      'the amount of a stake',
      `update ${STAKES} set amount = 11 where stream like '%.open' and bet_id = 'b2'`,
      'open b2',
      { check: 'pool_stakes_rows', expected: { amount: '10' }, actual: { amount: '11' } },
    ],
    [
      'a stake that is said to be confirmed',
      `update ${STAKES} set status = 'confirmed' where stream like '%.open' and bet_id = 'b2'`,
      'open b2',
      { check: 'pool_stakes_rows', expected: { status: 'locked' }, actual: { status: 'confirmed' } },
    ],
    [
      'a payout',
      `update ${STAKES} set payout = 91 where stream like '%.won' and bet_id = 'b1'`,
      'won b1',
      { check: 'pool_stakes_rows', expected: { payout: '90' }, actual: { payout: '91' } },
    ],
    [
      'a missing stake',
      `delete from ${STAKES} where stream like '%.void' and bet_id = 'b1'`,
      'void b1',
      { check: 'pool_stakes_rows', actual: null },
    ],
    [
      'a stake that never was',
      `insert into ${STAKES}
       select stream, 9, app_id, environment, 'b9', user_id, currency_id, account, 'stake:open/b9', amount, status,
              payout, credit_due, confirm_by
         from ${STAKES} where stream like '%.open' and bet_id = 'b1'`,
      'open b9',
      { check: 'pool_stakes_rows', expected: null },
    ],
    [
      'the stake of another player',
      `update ${STAKES} set user_id = 'usr_0' where stream like '%.won' and bet_id = 'b3'`,
      'won b3',
      { check: 'pool_stakes_rows', actual: { user_id: 'usr_0' } },
    ],
  ];
  for (const [what, tamper, subject, fault] of cases) {
    it(`names ${what} by its pool${subject.includes(' ') ? ' and bet' : ''}`, async () => {
      const table = tamper.includes(STAKES) ? STAKES : POOLS;
      await whileTampered(custody.world.pool, table, tamper, async () => {
        const answer = await reconcile();
        expect(verdict(answer), answer.text).to.equal('409 ledger/integrity_failed');
        const [found, ...others] = Object(answer.json.details).discrepancies;
        expect(others).to.deep.equal([]);
        expect(found).to.deep.include({ subject: streamOf(subject), ...fault });
      });
      requireStatus(await reconcile(), 200);
    });
  }
});
