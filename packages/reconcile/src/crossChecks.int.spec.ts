import { type Pool, withTransaction } from '@coffer/database';
import { createReadSchema } from '@coffer/read-models';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { crossChecks } from './crossChecks.ts';

const SCHEMA = 'verified_v1';
const APP = 'app_1';
const BOOKS = { appId: APP, environment: 'test' } as const;
const ANN = 'account-test.app_1.ann.2';

/** Revision, number, book, subject, amount and the previous balance. */
type PostingRow = readonly [number, number, string, string, number, number];
const held = (revision: number, subject: string, amount: number): readonly PostingRow[] => [
  [revision, 1, 'available', subject, -amount, 100],
  [revision, 2, 'held', subject, amount, 0],
];
const closed = (revision: number, subject: string, amount: number, to: string): readonly PostingRow[] => [
  [revision, 1, 'held', subject, -amount, amount],
  [revision, 2, to, subject, amount, 0],
];

const entryOfNothing = (revision: number, subject: string): readonly PostingRow[] => [
  [revision, 1, 'available', subject, 0, 100],
  [revision, 2, 'house', subject, 0, 10],
];

type MoveValues = readonly [operation: string, key: string, amount: number, status: string, user?: string];
const moves = (given: readonly MoveValues[]) =>
  given
    .map(
      ([operation, key, amount, status, user = 'ann'], index) =>
        `('mov_${key}_${user}', ${user.length * 100 + index}, 0, 'app_1', 'test', 'app_1', '${operation}', '${key}', '${user}', 2, 'native',
          ${amount}, 'wlt_1', 'from', 'to', '${status}', 1, null, null, null, now(), now())`,
    )
    .join(', ');

describe('the checks between rows of different kinds', () => {
  let database: TestDatabase;
  let pool: Pool;

  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
    await withTransaction(pool, (client) => createReadSchema(client, SCHEMA));
  });
  after(() => database.drop());
  beforeEach(async () => {
    for (const table of ['accounts', 'holds', 'moves', 'postings', 'play_sessions', 'trial_balances']) {
      await pool.query(`truncate ${SCHEMA}.${table}`);
    }
    await consistentBooks();
  });

  const found = async (inFlight: readonly string[] = []) =>
    (await crossChecks(pool, SCHEMA, BOOKS, inFlight)).flatMap(({ discrepancies }) => discrepancies);
  const change = async (sql: string) => {
    await pool.query(sql.replaceAll('$', `${SCHEMA}.`));
  };

  it('find nothing in books that agree', async () => {
    expect(await found()).to.deep.equal([]);
    const results = await crossChecks(pool, SCHEMA, BOOKS, []);
    expect(Object.fromEntries(results.map(({ check }) => [check.name, check.examined]))).to.deep.equal({
      postings_balance: 28,
      account_postings: 1,
      held_funds: 1,
      trial_balance: 5,
      open_holds: 1,
      settled_holds: 1,
      late_rollbacks: 1,
      deposits: 1,
      cash_outs: 4,
      open_stakes: 0,
      closed_stakes: 0,
      pools: 0,
      pool_rakes: 0,
      pools_balance: 0,
      commissions: 0,
      earnings: 0,
      earnings_withdrawn: 0,
      referrals_balance: 0,
    });
  });

  const cases: readonly (readonly [what: string, sql: string, checks: readonly string[]])[] = [
    [
      'postings of an event that do not sum to zero',
      `update $postings set amount = 101, current_balance = 101 where revision = 0 and number = 1`,
      ['postings_balance', 'account_postings', 'trial_balance'],
    ],
    [
      'an account that is not the sum of its postings',
      `update $accounts set available = 61`,
      ['account_postings'],
    ],
    [
      'held funds that are not the sum of the open holds',
      `update $holds set payout = 30, closed_at_revision = 9 where hold_id = 'session:open'`,
      ['held_funds', 'open_holds', 'settled_holds'].filter((name) => name !== 'settled_holds'),
    ],
    [
      'a book that is not the sum of its postings, and books that do not balance',
      `update $trial_balances set balance = 11 where account = 'house'`,
      ['trial_balance', 'trial_balance'],
    ],
    [
      'an open session without its hold',
      `delete from $holds where hold_id = 'session:open'`,
      ['held_funds', 'open_holds'],
    ],
    [
      'an open hold without its session',
      `delete from $play_sessions where session_id = 'open'`,
      ['open_holds'],
    ],
    [
      'a hold of another player',
      `update $play_sessions set user_id = 'bob' where session_id = 'open'`,
      ['open_holds', 'open_holds'],
    ],
    [
      'a hold of another amount',
      `update $play_sessions set lock_amount = 31 where session_id = 'open'`,
      ['open_holds'],
    ],
    [
      'a settlement that was paid out with another payout',
      `update $play_sessions set payout = 41 where session_id = 'settled'`,
      ['settled_holds'],
    ],
    [
      'a hold that was paid out without a settlement',
      `delete from $play_sessions where session_id = 'settled'`,
      ['settled_holds', 'late_rollbacks'],
    ],
    [
      'a late rollback that was not credited',
      `update $play_sessions set late_rolled_back = 15 where session_id = 'settled'`,
      ['late_rollbacks'],
    ],
    [
      'a confirmed deposit without its entry',
      `update $moves set status = 'confirmed' where key = 'under-way'`,
      ['deposits'],
    ],
    [
      'an entry of a deposit that is not confirmed',
      `update $moves set status = 'submitted' where key = 'top-up'`,
      ['deposits'],
    ],
    ['an entry of no deposit', `delete from $moves where key = 'top-up'`, ['deposits', 'cash_outs']],
    ['a deposit of another amount', `update $moves set amount = 39 where key = 'top-up'`, ['deposits']],
    [
      'a deposit on the account of another player',
      `update $moves set user_id = 'bob' where key = 'top-up'`,
      ['deposits', 'deposits'],
    ],
    [
      'a deposit on the account of another currency',
      `update $moves set currency_id = 3 where key = 'top-up'`,
      ['deposits', 'deposits'],
    ],
    [
      'a cash-out under way whose hold is gone',
      `update $moves set status = 'submitted' where key = 'done'`,
      ['cash_outs'],
    ],
    [
      'a cash-out that was confirmed and is still held',
      `update $moves set status = 'confirmed' where key = 'open'`,
      ['cash_outs'],
    ],
    [
      'a cash-out that has failed and is still held',
      `update $moves set status = 'failed' where key = 'open'`,
      ['cash_outs'],
    ],
    [
      'a cash-out that has failed and was not given back',
      `update $moves set status = 'failed' where key = 'done'`,
      ['cash_outs'],
    ],
    [
      'a cash-out that left and was given back',
      `update $moves set status = 'confirmed' where key = 'failed'`,
      ['cash_outs'],
    ],
    ['a cash-out of another amount', `update $moves set amount = 4 where key = 'open'`, ['cash_outs']],
    [
      'a cash-out that was never held',
      `insert into $moves values ${moves([['cashOut', 'new', 1, 'pending', 'carla']])}`,
      ['cash_outs'],
    ],
    [
      'a cash-out that another player paid',
      `update $moves set user_id = 'bob' where key = 'done'`,
      ['cash_outs', 'cash_outs'],
    ],
    ['a hold for a cash-out that is nowhere', `delete from $moves where key = 'open'`, ['cash_outs']],
    [
      'a hold that was given back although nobody else had its ref',
      `delete from $moves where key = 'failed'`,
      ['cash_outs'],
    ],
    [
      'a hold whose ref only a withdrawal from a wallet has',
      `update $moves set operation = 'withdraw' where key = 'failed'`,
      ['cash_outs'],
    ],
  ];

  for (const [what, sql, checks] of cases) {
    it(`find ${what}`, async () => {
      await change(sql);
      expect((await found()).map(({ check }) => check)).to.deep.equal(checks);
    });
  }

  it('accept a hold that was given back whole to one who lost the open to another', async () => {
    await change(`insert into $holds values
      ('account-test.app_1.bob.2', 'session:settled', 'app_1', 'test', 'bob', 2, 'session', 50, 50, 1, 2)`);
    expect(await found()).to.deep.equal([]);
  });

  it('accept an entry of nothing for a late rollback of nothing, as earlier releases have made', async () => {
    await post(entryOfNothing(14, 'rollback:open/b1'));
    expect(await found()).to.deep.equal([]);
  });

  it('find an entry of nothing where a late rollback gives something back', async () => {
    await change(`update $play_sessions set late_rolled_back = 15 where session_id = 'open'`);
    await post(entryOfNothing(14, 'rollback:open/b1'));
    expect((await found()).map(({ check, subject }) => `${check} ${subject}`)).to.deep.equal([
      `late_rollbacks ${ANN} rollback:open`,
    ]);
  });

  it('count nothing against what is in flight, and all the rest', async () => {
    await change(
      `update $holds set payout = null, closed_at_revision = null where hold_id = 'session:settled'`,
    );
    await change(`update $accounts set held = 85`);
    const named = (await found([`${ANN} session:settled`])).map(({ check }) => check);
    expect(named).to.deep.equal(['account_postings']);
    const all = (await found()).map(({ check }) => check);
    expect(all).to.deep.equal(['account_postings', 'open_holds', 'settled_holds']);
    await change(`update $play_sessions set late_rolled_back = 15`);
    const late = (await found([`${ANN} session:settled`, `${ANN} rollback:settled/b2`])).map(
      ({ check }) => check,
    );
    expect(late).to.include('late_rollbacks').and.to.include('account_postings');
  });

  it('count nothing of a move that is on its way into the books, and never another of a like name', async () => {
    await change(`update $moves set status = 'confirmed' where key in ('under-way', 'open')`);
    const names = async (...inFlight: readonly string[]) =>
      (await found(inFlight)).map(({ check, subject }) => `${check} ${subject}`);
    expect(await names(`${ANN} deposit:under-way`, `${ANN} cashout:open`)).to.deep.equal([]);
    expect(await names(`${ANN} deposit:under-way-2`, `${ANN} cashout:open2`)).to.deep.equal([
      `deposits ${ANN} deposit:under-way`,
      `cash_outs ${ANN} cashout:open`,
    ]);
    await change(`delete from $moves where key = 'open'`);
    expect(await names(`${ANN} deposit:under-way`, `${ANN} cashout:open`)).to.deep.equal([]);
  });

  it('tell what a move has come to, and what the account has of it', async () => {
    await change(`update $moves set status = 'failed' where key = 'done'`);
    const [finding] = await found();
    expect(finding).to.deep.equal({
      check: 'cash_outs',
      subject: `${ANN} cashout:done`,
      expected: { amount: '6', payout: '6', move_status: 'failed' },
      actual: { amount: '6', payout: '0' },
    });
  });

  it('look at one app and environment alone', async () => {
    await change(`update $accounts set environment = 'live', available = 61`);
    const live = await crossChecks(pool, SCHEMA, { appId: APP, environment: 'live' }, []);
    expect(live.filter(({ check }) => !check.ok).map(({ check }) => check.name)).to.deep.equal([
      'account_postings',
      'held_funds',
    ]);
  });

  /**
   * 100 put in; one session settled with 40, 10 of it given back late; one of 30 open. 40 deposited;
   * cash-outs of 5 under way, 6 done, 7 failed, and 8 given back in full because the deposit had the ref.
   */
  async function consistentBooks(): Promise<void> {
    await change(`
      insert into $accounts values ('${ANN}', 1, 5, 'app_1', 'test', 'ann', 2, 89, 35);
      insert into $holds values
        ('${ANN}', 'session:settled', 'app_1', 'test', 'ann', 2, 'session', 50, 30, 1, 2),
        ('${ANN}', 'session:open', 'app_1', 'test', 'ann', 2, 'session', 30, null, 4, null),
        ('${ANN}', 'cashout:open', 'app_1', 'test', 'ann', 2, 'cashout', 5, null, 7, null),
        ('${ANN}', 'cashout:done', 'app_1', 'test', 'ann', 2, 'cashout', 6, 0, 8, 9),
        ('${ANN}', 'cashout:failed', 'app_1', 'test', 'ann', 2, 'cashout', 7, 7, 10, 11),
        ('${ANN}', 'cashout:top-up', 'app_1', 'test', 'ann', 2, 'cashout', 8, 8, 12, 13);
      insert into $moves values ${moves([
        ['deposit', 'top-up', 40, 'confirmed'],
        ['deposit', 'under-way', 41, 'submitted'],
        ['deposit', 'in-vain', 42, 'failed'],
        ['cashOut', 'open', 5, 'submitted'],
        ['cashOut', 'done', 6, 'confirmed'],
        ['cashOut', 'failed', 7, 'failed'],
        ['withdraw', 'elsewhere', 43, 'confirmed'],
      ])};
      insert into $trial_balances values
        ('b1', 1, 'app_1', 'test', 2, 'available', 89), ('b2', 2, 'app_1', 'test', 2, 'held', 35),
        ('b5', 5, 'app_1', 'test', 2, 'external', -34),
        ('b3', 3, 'app_1', 'test', 2, 'house', 10), ('b4', 4, 'app_1', 'test', 2, 'adjustments', -100);
      insert into $play_sessions values
        ('settled', 1, 5, 'app_1', 'test', 'ann', 'dice', 'CHIP', 2, 50, 30, 20, 0, 30, -20, 10, 'settled', now(), now()),
        ('open', 2, 0, 'app_1', 'test', 'ann', 'dice', 'CHIP', 2, 30, 30, 0, 0, null, null, 0, 'open', now(), null)`);
    const rows: readonly PostingRow[] = [
      [0, 1, 'available', 'adjust:a', 100, 0],
      [0, 2, 'adjustments', 'adjust:a', -100, 0],
      [1, 1, 'available', 'session:settled', -50, 100],
      [1, 2, 'held', 'session:settled', 50, 0],
      [2, 1, 'held', 'session:settled', -50, 50],
      [2, 2, 'available', 'session:settled', 30, 50],
      [2, 3, 'house', 'session:settled', 20, 0],
      [3, 1, 'available', 'rollback:settled/b1', 10, 80],
      [3, 2, 'house', 'rollback:settled/b1', -10, 20],
      [4, 1, 'available', 'session:open', -30, 90],
      [4, 2, 'held', 'session:open', 30, 0],
      [5, 1, 'available', 'adjust:nothing', 0, 60],
      [6, 1, 'available', 'deposit:top-up', 40, 60],
      [6, 2, 'external', 'deposit:top-up', -40, 0],
      ...held(7, 'cashout:open', 5),
      ...held(8, 'cashout:done', 6),
      ...closed(9, 'cashout:done', 6, 'external'),
      ...held(10, 'cashout:failed', 7),
      ...closed(11, 'cashout:failed', 7, 'available'),
      ...held(12, 'cashout:top-up', 8),
      ...closed(13, 'cashout:top-up', 8, 'available'),
    ];
    await post(rows);
  }

  async function post(rows: readonly PostingRow[]): Promise<void> {
    for (const [revision, number, account, subject, amount, before] of rows) {
      await pool.query(
        `insert into ${SCHEMA}.postings values
           ($1, $2, '${ANN}', $3, 'app_1', 'test', 'ann', 2, $4, $5, $6, $7, $6::numeric + $7, now())`,
        [revision + 1, number, revision, account, subject, amount, before],
      );
    }
  }
});
