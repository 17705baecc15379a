import type { Session } from '@coffer/consumers';
import { migrate, type Pool } from '@coffer/database';
import type { Position, RecordedEvent } from '@coffer/event-store';
import { createReadModels, readModelMigrations, readModelsWork, trialBalances } from '@coffer/read-models';
import { keptPlans } from '@coffer/read-models/testing';
import { createTestDatabase, recordedEvent, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { booksProjection } from './books.projection.ts';
import { type AccountEvent, accountEvents } from './domain/account.events.ts';
import { accountStreamOf } from './domain/account.ts';

const APP = `app_${'0'.repeat(26)}`;
const ANN = `usr_${'0'.repeat(26)}`;
const BOB = `usr_${'0'.repeat(25)}1`;
const SCHEMA = 'read_v1';

describe('the books', () => {
  let database: TestDatabase;
  let pool: Pool;
  let log: RecordedEvent[];

  beforeEach(async () => {
    log = [];
    database = await createTestDatabase({
      name: 'books',
      async prepare(preparing) {
        await migrate(preparing, [readModelMigrations]);
        await createReadModels(preparing);
      },
    });
    pool = database.pool;
  });

  afterEach(() => database.drop());

  it('show each account, and each hold with its payout', async () => {
    await take(
      credited(ANN, 'adjust:a', 100n, 100n),
      heldBy(ANN, 'session:s1', 60n),
      credited(BOB, 'adjust:b', 7n, 7n),
      heldBy(ANN, 'session:s2', 10n),
      closed(ANN, 'session:s1', 60n, 75n),
    );
    expect(await rows('accounts', 'user_id, revision, available, held')).to.deep.equal([
      { user_id: ANN, revision: 3, available: '105', held: '10' },
      { user_id: BOB, revision: 0, available: '7', held: '0' },
    ]);
    expect(
      await rows('holds', 'hold_id, amount, payout, held_at_revision, closed_at_revision'),
    ).to.deep.equal([
      { hold_id: 'session:s1', amount: '60', payout: '75', held_at_revision: 1, closed_at_revision: 3 },
      { hold_id: 'session:s2', amount: '10', payout: null, held_at_revision: 2, closed_at_revision: null },
    ]);
  });

  it('show every posting with the balance of its account before and after', async () => {
    await take(
      credited(ANN, 'adjust:a', 100n, 100n),
      credited(BOB, 'adjust:b', 7n, 7n),
      heldBy(ANN, 'session:s1', 60n),
      closed(ANN, 'session:s1', 60n, 0n),
    );
    const columns = 'log_ordinal, number, account, subject, amount, previous_balance, current_balance';
    const shown = (await rows('postings', columns)).map((row) => Object.values(row).join(' '));
    expect(shown).to.deep.equal([
      '1 1 available adjust:a 100 0 100',
      '1 2 adjustments adjust:a -100 0 -100',
      '2 1 available adjust:b 7 0 7',
      '2 2 adjustments adjust:b -7 -100 -107',
      '3 1 available session:s1 -60 100 40',
      '3 2 held session:s1 60 0 60',
      '4 1 held session:s1 -60 60 0',
      '4 2 available session:s1 0 40 40',
      '4 3 house session:s1 60 0 60',
    ]);
  });

  it('keep a trial balance for each app, environment and currency', async () => {
    await take(
      credited(ANN, 'adjust:a', 100n, 100n),
      credited(ANN, 'adjust:c', 5n, 5n, { currencyId: 1 }),
      credited(ANN, 'adjust:l', 9n, 9n, { environment: 'live' }),
      heldBy(ANN, 'session:s1', 60n),
      closed(ANN, 'session:s1', 60n, 20n),
    );
    const shown = (await rows('trial_balances', 'environment, currency_id, account, balance')).map((row) =>
      Object.values(row).join(' '),
    );
    expect(shown).to.have.members([
      'test 2 available 60',
      'test 2 held 0',
      'test 2 house 40',
      'test 2 adjustments -100',
      'test 1 available 5',
      'test 1 adjustments -5',
      'live 2 available 9',
      'live 2 adjustments -9',
    ]);
  });

  it('have a trial balance for every moment', async () => {
    await take(
      credited(ANN, 'adjust:a', 100n, 100n),
      heldBy(ANN, 'session:s1', 60n),
      credited(BOB, 'adjust:c', 5n, 5n, { currencyId: 1 }),
      closed(ANN, 'session:s1', 60n, 20n),
    );
    const at = (upToOrdinal?: number) =>
      trialBalances(pool, SCHEMA, { appId: APP, environment: 'test', upToOrdinal });
    const zero = {
      available: 0n,
      held: 0n,
      pools: 0n,
      house: 0n,
      referrals: 0n,
      external: 0n,
      adjustments: 0n,
    };
    const chip = { currencyId: 2, ...zero, adjustments: -100n };
    const sol = { currencyId: 1, ...zero, available: 5n, adjustments: -5n };
    expect(await at(0)).to.deep.equal([]);
    expect(await at(1)).to.deep.equal([{ ...chip, available: 100n }]);
    expect(await at(2)).to.deep.equal([{ ...chip, available: 40n, held: 60n }]);
    expect(await at(3)).to.deep.equal([sol, { ...chip, available: 40n, held: 60n }]);
    expect(await at(4)).to.deep.equal([sol, { ...chip, available: 60n, house: 40n }]);
    expect(await at()).to.deep.equal(await at(4));
  });

  it('are planned for their rows of the moment, but for inserts', async () => {
    await take(credited(ANN, 'adjust:a', 100n, 100n), heldBy(ANN, 'session:s1', 60n));
    await take(closed(ANN, 'session:s1', 60n, 0n));
    expect(await keptPlans(pool)).to.deep.equal(['insert']);
  });

  it('change nothing when a page is applied again', async () => {
    await take(credited(ANN, 'adjust:a', 100n, 100n), heldBy(ANN, 'session:s1', 60n));
    const before = await dump();
    await apply(log, 0);
    expect(await dump()).to.deep.equal(before);
  });

  for (const [wrong, history] of [
    ['records a balance other than the sum', [credited(ANN, 'adjust:a', 100n, 99n)]],
    ['overdraws the account', [heldBy(ANN, 'session:s1', 1n)]],
    ['closes an amount other than what was held', [...opened(), closed(ANN, 'session:s1', 59n, 0n)]],
    ['closes a hold that is not open', [...opened(), closed(ANN, 'session:s2', 60n, 0n)]],
    ['holds under the same id again', [...opened(), heldBy(ANN, 'session:s1', 1n)]],
  ] as const) {
    it(`refuse an event that ${wrong}, and name it`, async () => {
      const before = history.slice(0, -1);
      await take(...before);
      const kept = await dump();
      const failure = await take(...history.slice(-1)).catch((error: unknown) => error);
      expect(failure).to.have.property('code', 'consumer/poison_event');
      expect(failure).to.have.nested.property('event.revision', before.length);
      expect(await dump()).to.deep.equal(kept);
    });
  }

  it('balance after any history, however it is divided into pages', async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.array(fc.integer({ min: 1, max: 5 })), async (history, cuts) => {
        await pool.query(`truncate ${SCHEMA}.accounts, ${SCHEMA}.holds, ${SCHEMA}.postings,
                                   ${SCHEMA}.trial_balances`);
        log = [];
        const facts = [...history];
        for (const size of cuts) await take(...facts.splice(0, size));
        await take(...facts);

        const { rows: unbalanced } = await pool.query(
          `select currency_id from ${SCHEMA}.trial_balances
            group by app_id, environment, currency_id having sum(balance) <> 0`,
        );
        expect(unbalanced).to.deep.equal([]);
        const { rows: broken } = await pool.query(
          `select b.book from ${SCHEMA}.trial_balances b
            where b.balance <> (select sum(amount) from ${SCHEMA}.postings p
                                 where p.environment = b.environment and p.app_id = b.app_id
                                   and p.currency_id = b.currency_id and p.account = b.account)`,
        );
        expect(broken).to.deep.equal([]);
        const { rows: players } = await pool.query(
          `select a.stream from ${SCHEMA}.accounts a
            where a.held <> (select coalesce(sum(amount), 0) from ${SCHEMA}.holds h
                              where h.stream = a.stream and h.payout is null)`,
        );
        expect(players).to.deep.equal([]);
      }),
      { numRuns: 30 },
    );
  });

  /** Appends the facts to the spec's log, and applies them as one page. */
  async function take(...facts: readonly Fact[]): Promise<void> {
    const before = log.length;
    const added = facts.map((fact) => {
      const stream = accountStreamOf({ ...fact, appId: APP });
      const revision = log.filter((event) => event.stream === stream).length;
      const event = recorded(stream, revision, log.length + 1, fact.event);
      log.push(event);
      return event;
    });
    await apply(added, before);
  }

  async function apply(events: readonly RecordedEvent[], before: number): Promise<void> {
    const session: Session = {
      pool,
      place: before === 0 ? undefined : { position: `${before}` as Position, eventId: '', ordinal: before },
      leaseMs: 10_000,
      save: async () => undefined,
      isSkipped: async () => false,
      signal: new AbortController().signal,
      fail() {},
      onTrouble() {},
    };
    const none = {
      keyOf: () => undefined,
      evolve() {
        throw new Error('No event concerns another table here.');
      },
    };
    const projections = { books: booksProjection, playSessions: none, moves: none };
    await readModelsWork(SCHEMA, projections).begin(session).take(events);
  }

  async function rows(table: string, columns: string): Promise<readonly Record<string, unknown>[]> {
    return (await pool.query(`select ${columns} from ${SCHEMA}.${table} order by 1, 2`)).rows;
  }

  async function dump() {
    const tables = ['accounts', 'holds', 'postings', 'trial_balances'];
    return Promise.all(tables.map((table) => rows(table, '*')));
  }
});

interface Fact {
  readonly userId: string;
  readonly environment: 'test' | 'live';
  readonly currencyId: number;
  readonly event: AccountEvent;
}

type Where = Partial<Pick<Fact, 'environment' | 'currencyId'>>;

function fact(
  userId: string,
  event: AccountEvent,
  { environment = 'test', currencyId = 2 }: Where = {},
): Fact {
  return { userId, environment, currencyId, event };
}

function credited(
  userId: string,
  entryId: `adjust:${string}`,
  amount: bigint,
  available: bigint,
  where?: Where,
) {
  const data = { entryId, amount, reason: 'adjustment', available, held: 0n } as const;
  return fact(userId, { type: 'AccountCredited', data }, where);
}

function heldBy(userId: string, holdId: `session:${string}`, amount: bigint): Fact {
  return fact(userId, { type: 'FundsHeld', data: { holdId, amount, purpose: 'session', request: {} } });
}

function closed(userId: string, holdId: `session:${string}`, held: bigint, payout: bigint): Fact {
  return fact(userId, { type: 'HoldClosed', data: { holdId, held, payout } });
}

function opened(): readonly Fact[] {
  return [credited(ANN, 'adjust:a', 100n, 100n), heldBy(ANN, 'session:s1', 60n)];
}

/** Credits, holds and payouts of two players, as their accounts would decide them. */
const histories: fc.Arbitrary<readonly Fact[]> = fc
  .array(
    fc.record({
      userId: fc.constantFrom(ANN, BOB),
      act: fc.constantFrom('credit', 'hold', 'close'),
      amount: fc.bigInt(0n, 2n ** 64n - 1n),
    }),
    { maxLength: 30 },
  )
  .map((acts) => {
    const players = new Map([ANN, BOB].map((userId) => [userId, { available: 0n, holds: [] as Hold[] }]));
    return acts.flatMap(({ userId, act, amount }, index) => {
      const player = players.get(userId);
      if (!player) return [];
      const held = player.holds.reduce((sum, hold) => sum + hold.amount, 0n);
      if (act === 'credit') {
        player.available += amount;
        const { available } = player;
        const data = { entryId: `adjust:${index}`, amount, reason: 'adjustment', available, held } as const;
        return [fact(userId, { type: 'AccountCredited', data })];
      }
      if (act === 'hold') {
        const taken = amount % (player.available + 1n);
        player.available -= taken;
        player.holds.push({ holdId: `session:${index}`, amount: taken });
        return [heldBy(userId, `session:${index}`, taken)];
      }
      const hold = player.holds.pop();
      if (!hold) return [];
      player.available += amount;
      return [closed(userId, hold.holdId, hold.amount, amount)];
    });
  });

interface Hold {
  readonly holdId: `session:${string}`;
  readonly amount: bigint;
}

function recorded(stream: string, revision: number, ordinal: number, event: AccountEvent): RecordedEvent {
  const { type, data } = accountEvents.encode(event);
  // The spec's log assigns its own positions.
  const position = String(ordinal) as Position;
  return recordedEvent({ id: `${ordinal}`, stream, revision, position, type, data });
}
