import { accountEvents, accountStreamOf, booksProjection, stakeHoldId } from '@coffer/accounts';
import type { Session } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { Position, RecordedEvent } from '@coffer/event-store';
import { encodeMetadata } from '@coffer/kernel';
import { listPools, poolsWithOverdueStakes, readModelsWork } from '@coffer/read-models';
import { keptPlans, readModelsTemplate } from '@coffer/read-models/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { type PoolEvent, poolEvents } from './domain/pool.events.ts';
import { poolStream, pool as poolType } from './domain/pool.ts';
import { poolPostings, poolsProjection } from './pools.projection.ts';
import {
  bet,
  CONFIRM_BY,
  confirm,
  confirmed,
  last,
  lock,
  locked,
  POOL_ID,
  pays,
  refund,
  refunded,
  release,
  released,
  settle,
  settled,
  user,
} from './testing/poolBuilders.ts';

const APP = `app_${'0'.repeat(26)}`;
const SCHEMA = 'read_v1';
const CLOSED_AT = '2026-02-01T00:00:00.000Z';
const STREAM = poolStream('test', APP, POOL_ID);

describe('the rows of pools', () => {
  let database: TestDatabase;
  let db: Pool;
  let log: RecordedEvent[];

  beforeEach(async () => {
    log = [];
    database = await createTestDatabase(readModelsTemplate);
    db = database.pool;
  });
  afterEach(() => database.drop());

  it('show what is locked, confirmed and released in an open pool', async () => {
    await take(locked(1, 100n), locked(2, 50n), locked(3, 7n), confirmed(1, 100n), released(3, 7n));
    expect(await shownPools()).to.deep.equal([
      {
        poolId: POOL_ID,
        status: 'open',
        locked: 50n,
        confirmed: 100n,
        rake: null,
        credits: 0,
        creditsDone: 0,
      },
    ]);
    expect(await stakes()).to.deep.equal([
      '1 bet-1 100 confirmed null false',
      '2 bet-2 50 locked null false',
      '3 bet-3 7 released null false',
    ]);
  });

  it('show how a pool was settled, and who had been released before', async () => {
    await take(
      locked(1, 100n),
      locked(2, 50n),
      locked(3, 7n),
      locked(4, 5n),
      confirmed(1, 100n),
      confirmed(2, 50n),
      released(3, 7n),
      settled({ staked: 150n, rake: 10n, payouts: [[2, 140n]], released: [4], credits: 3, last: last(4) }),
    );
    expect(await shownPools()).to.deep.equal([
      {
        poolId: POOL_ID,
        status: 'settled',
        locked: 0n,
        confirmed: 150n,
        rake: 10n,
        credits: 3,
        creditsDone: 0,
      },
    ]);
    expect(await stakes()).to.deep.equal([
      '1 bet-1 100 settled 0 true',
      '2 bet-2 50 settled 140 true',
      '3 bet-3 7 released null false',
      '4 bet-4 5 released null true',
    ]);
  });

  it('show how a pool was refunded', async () => {
    await take(
      locked(1, 100n),
      locked(2, 50n),
      locked(3, 7n),
      confirmed(1, 100n),
      released(3, 7n),
      refunded({ refunded: 150n, credits: 2, last: last(2) }),
    );
    expect(await shownPools()).to.deep.equal([
      {
        poolId: POOL_ID,
        status: 'refunded',
        locked: 50n,
        confirmed: 100n,
        rake: null,
        credits: 2,
        creditsDone: 0,
      },
    ]);
    expect(await stakes()).to.deep.equal([
      '1 bet-1 100 refunded 100 true',
      '2 bet-2 50 refunded 50 true',
      '3 bet-3 7 released null false',
    ]);
  });

  it('count the credits of a closed pool as its holds are closed, and no others', async () => {
    await take(locked(1, 100n), locked(2, 50n), locked(3, 7n), released(3, 7n));
    await take(confirmed(1, 100n), confirmed(2, 50n));
    await hold(1, 100n);
    await hold(2, 50n);
    await hold(3, 7n);
    const payouts: [number, bigint][] = [[1, 140n]];
    await take(settled({ staked: 150n, rake: 10n, payouts, released: [], credits: 2, last: last(2) }));
    const done = async () => (await shownPools()).map(({ creditsDone }) => creditsDone);
    await close('StakeReleased', 3, 7n, 7n);
    expect(await done()).to.deep.equal([0]);
    await close('PoolSettled', 1, 100n, 140n);
    expect(await done()).to.deep.equal([1]);
    await close('PoolSettled', 2, 50n, 0n);
    expect(await done()).to.deep.equal([2]);
    expect(await books()).to.include.members(['pools 0', 'house 10']);
  });

  it('bring the rake to the house with the settlement', async () => {
    await take(locked(1, 100n), confirmed(1, 100n));
    await take(settled({ staked: 100n, rake: 100n, payouts: [], released: [], credits: 1, last: last(1) }));
    expect(await books()).to.have.members(['pools -100', 'house 100']);
    const { rows } = await db.query(
      `select account, subject, user_id, previous_balance, current_balance from ${SCHEMA}.postings order by number`,
    );
    expect(rows).to.deep.equal([
      {
        account: 'pools',
        subject: 'pool:round-1',
        user_id: null,
        previous_balance: '0',
        current_balance: '-100',
      },
      {
        account: 'house',
        subject: 'pool:round-1',
        user_id: null,
        previous_balance: '0',
        current_balance: '100',
      },
    ]);
  });

  it('make no posting of no rake', async () => {
    await take(locked(1, 5n), confirmed(1, 5n));
    await take(
      settled({ staked: 5n, rake: 0n, payouts: [[1, 5n]], released: [], credits: 1, last: last(1) }),
    );
    expect(await books()).to.deep.equal([]);
  });

  it('find the pools with stakes that nobody confirmed in time', async () => {
    await take(locked(1, 100n), locked(2, 50n), confirmed(1, 100n));
    const overdue = (at: string) => poolsWithOverdueStakes(db, { at, limit: 10 });
    expect(await overdue('2026-01-31T12:14:59.999Z')).to.deep.equal([]);
    const found = [{ appId: APP, environment: 'test', poolId: POOL_ID }];
    expect(await overdue(CONFIRM_BY)).to.deep.equal(found);
    const place = { appId: APP, environment: 'live' } as const;
    expect(await poolsWithOverdueStakes(db, { at: CONFIRM_BY, limit: 10, place })).to.deep.equal([]);
    await take(released(2, 50n));
    expect(await overdue(CONFIRM_BY)).to.deep.equal([]);
  });

  it('are planned for their rows of the moment, but for inserts', async () => {
    await take(locked(1, 100n), confirmed(1, 100n));
    const payouts: [number, bigint][] = [[1, 100n]];
    await take(settled({ staked: 100n, rake: 0n, payouts, released: [], credits: 1, last: last(1) }));
    expect(await keptPlans(db)).to.deep.equal(['insert']);
  });

  it('change nothing when a page is applied again', async () => {
    await take(locked(1, 100n), locked(2, 3n), confirmed(1, 100n));
    await hold(1, 100n);
    await hold(2, 3n);
    await take(
      settled({ staked: 100n, rake: 10n, payouts: [[1, 90n]], released: [2], credits: 2, last: last(2) }),
    );
    await close('PoolSettled', 1, 100n, 90n);
    await close('PoolSettled', 2, 3n, 3n);
    const before = await dump();
    await apply(log, 0);
    expect(await dump()).to.deep.equal(before);
  });

  for (const [wrong, history] of [
    ['confirms a stake that is not there', [locked(1, 5n), confirmed(2, 5n)]],
    ['confirms a stake twice', [locked(1, 5n), confirmed(1, 5n), confirmed(1, 5n)]],
    ['releases a confirmed stake', [locked(1, 5n), confirmed(1, 5n), released(1, 5n)]],
    [
      'settles another sum',
      [locked(1, 5n), settled({ staked: 5n, rake: 5n, payouts: [], released: [], credits: 1 })],
    ],
    ['gives back another sum', [locked(1, 5n), refunded({ refunded: 6n, credits: 1 })]],
    ['closes fewer stakes than there are', [locked(1, 5n), refunded({ refunded: 5n, credits: 0 })]],
    [
      'pays a stake that was not confirmed',
      [locked(1, 5n), settled({ staked: 0n, rake: 0n, payouts: [[1, 0n]], released: [1], credits: 1 })],
    ],
    ['locks a stake twice', [locked(1, 5n), locked(1, 5n)]],
    ['begins without a stake', [confirmed(1, 5n)]],
  ] as const) {
    it(`refuse an event that ${wrong}`, async () => {
      let refused = false;
      await take(...history).catch(() => {
        refused = true;
      });
      expect(refused).to.equal(true);
    });
  }

  it('are the same however the log is cut into pages, and those that the pool itself remembers', () =>
    fc.assert(
      fc.asyncProperty(histories, fc.infiniteStream(fc.integer({ min: 1, max: 6 })), async (facts, sizes) => {
        log = [];
        await db.query(`truncate ${TABLES.map((table) => `${SCHEMA}.${table}`).join(', ')}`);
        await take(...facts);
        const whole = await dump();
        await db.query(`truncate ${TABLES.map((table) => `${SCHEMA}.${table}`).join(', ')}`);
        for (let from = 0; from < log.length; ) {
          const size = sizes.next().value ?? 1;
          await apply(log.slice(from, from + size), from);
          from += size;
        }
        expect(await dump()).to.deep.equal(whole);

        const state = facts.reduce(poolType.evolve, poolType.initialState);
        const [row] = await shownPools();
        const remembered = state.status !== 'unknown' && {
          status: state.status,
          locked: state.locked,
          confirmed: state.confirmed,
          credits: state.status === 'open' ? 0 : state.end.credits,
        };
        expect(row).to.deep.equal(remembered ? { ...row, ...remembered } : undefined);
      }),
      { numRuns: 60 },
    ));

  /** Appends the facts to the spec's log, and applies them as one page. */
  const take = (...facts: readonly PoolEvent[]) =>
    append(
      STREAM,
      facts.map((fact) => poolEvents.encode(fact)),
    );

  const accountOf = (stake: number) =>
    accountStreamOf({ environment: 'test', appId: APP, userId: user(stake), currencyId: 1 });

  /** On an account that was funded for it. */
  const hold = (stake: number, amount: bigint) =>
    append(
      accountOf(stake),
      (
        [
          {
            type: 'AccountCredited',
            data: { entryId: `adjust:${stake}`, amount, reason: 'adjustment', available: amount, held: 0n },
          },
          {
            type: 'FundsHeld',
            data: { holdId: stakeHoldId(POOL_ID, bet(stake)), amount, purpose: 'stake', request: {} },
          },
        ] as const
      ).map((fact) => accountEvents.encode(fact)),
    );

  /** Because of the last event of that type. */
  const close = (cause: PoolEvent['type'], stake: number, held: bigint, payout: bigint) =>
    append(
      accountOf(stake),
      [
        accountEvents.encode({
          type: 'HoldClosed',
          data: { holdId: stakeHoldId(POOL_ID, bet(stake)), held, payout },
        }),
      ],
      log.findLast(({ type }) => type === cause)?.id,
    );

  async function append(
    stream: string,
    encoded: readonly { readonly type: string; readonly data: string; readonly schemaVersion: number }[],
    causationId?: string,
  ): Promise<void> {
    const before = log.length;
    for (const { type, data, schemaVersion } of encoded) {
      const metadata = encodeMetadata(
        { correlationId: 'c', ...(causationId && { causationId }), actor: 'key:1', occurredAt: CLOSED_AT },
        schemaVersion,
      );
      log.push({
        id: `${log.length + 1}`,
        stream,
        revision: log.filter((event) => event.stream === stream).length,
        // The spec's log assigns its own positions.
        position: String(log.length + 1) as Position,
        type,
        data,
        metadata,
        recordedAt: new Date(0),
      });
    }
    await apply(log.slice(before), before);
  }

  async function apply(events: readonly RecordedEvent[], before: number): Promise<void> {
    const session: Session = {
      pool: db,
      place: before === 0 ? undefined : { position: `${before}` as Position, eventId: '', ordinal: before },
      leaseMs: 10_000,
      save: async () => undefined,
      isSkipped: async () => false,
      signal: new AbortController().signal,
      fail() {},
      onTrouble() {},
    };
    const projections = { books: booksProjection, pools: poolsProjection, poolPostings };
    await readModelsWork(SCHEMA, projections).begin(session).take(events);
  }

  async function shownPools() {
    const { items } = await listPools(db, { appId: APP, environment: 'test', limit: 10 });
    return items.map(({ poolId, status, locked: open, confirmed: firm, rake, credits, creditsDone }) => {
      return { poolId, status, locked: open, confirmed: firm, rake, credits, creditsDone };
    });
  }

  async function stakes(): Promise<readonly string[]> {
    const { rows } = await db.query(
      `select number, bet_id, amount, status, payout, credit_due from ${SCHEMA}.pool_stakes order by number`,
    );
    return rows.map((row) => Object.values(row).map(String).join(' '));
  }

  async function books(): Promise<readonly string[]> {
    const { rows } = await db.query(
      `select account, balance from ${SCHEMA}.trial_balances where account in ('pools', 'house')`,
    );
    return rows.map(({ account, balance }) => `${account} ${balance}`);
  }

  async function dump() {
    const all = TABLES.map((table) => db.query(`select * from ${SCHEMA}.${table} order by 1, 2, 3`));
    return (await Promise.all(all)).map(({ rows }) => rows);
  }
});

const TABLES = ['pools', 'pool_stakes', 'postings', 'trial_balances'];

/** What any commands on one pool lead to. */
const histories: fc.Arbitrary<readonly PoolEvent[]> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('lock' as const), fc.bigInt(1n, 100n)) },
      { weight: 6, arbitrary: fc.tuple(fc.constant('confirm' as const), fc.nat(9)) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('release' as const)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('settle' as const), fc.nat(9)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('refund' as const)) },
    ),
    { maxLength: 30 },
  )
  .map((acts) => {
    const facts: PoolEvent[] = [];
    let state = poolType.initialState;
    for (const [act, value] of acts) {
      const count = state.status === 'unknown' ? 0 : state.stakes.count;
      if (act === 'lock' && count >= 9) continue;
      try {
        const command =
          act === 'lock'
            ? lock(count + 1, value)
            : act === 'confirm'
              ? confirm(value)
              : act === 'release'
                ? release()
                : act === 'refund'
                  ? refund()
                  : settle({ ...paysAll(state, value) });
        for (const event of poolType.decide(state, command).events) {
          facts.push(event);
          state = poolType.evolve(state, event);
        }
      } catch {
        // Refused: nothing happened.
      }
    }
    return facts;
  });

/** Everything to one stake; the rake where that one is not confirmed. */
function paysAll(state: typeof poolType.initialState, winner: number) {
  if (state.status === 'unknown') return {};
  const payouts = [pays(winner, state.confirmed)];
  try {
    poolType.decide(state, settle({ payouts }));
    return { payouts };
  } catch {
    return { rake: state.confirmed };
  }
}
