/**
 * Two nodes on one log in memory, with real accounts, users and pools, for specs. A node can be killed before or after
 * any of its appends: from then on it neither writes nor reads.
 */
import { accountEvents, createAccounts, createHoldActs, postingsOf, settlesDue } from '@coffer/accounts';
import type { Reaction } from '@coffer/consumers';
import { actOnAllOwed } from '@coffer/consumers/testing';
import { createCommandHandler, type EventStore, type RecordedEvent } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { Died } from '@coffer/event-store/testing';
import { type AccountKey, type Environment, type FailPoint, type FailPointName, newId } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { createUsers } from '@coffer/users';
import { expect } from 'chai';
import { creditsOf } from '../domain/pool.answers.ts';
import { poolEvents } from '../domain/pool.events.ts';
import type { Pool } from '../domain/pool.state.ts';
import { pool } from '../domain/pool.ts';
import { stakeAt } from '../domain/stakes.ts';
import { poolDues, stakeHoldAct } from '../pool.reactions.ts';
import { poolPlace } from '../poolStreams.ts';
import { createPools } from '../pools.ts';

export const CHIP = 2;
export const SOL = 1;
export const TIMEOUT_SECONDS = 900;
const FIRST_TIME = Date.UTC(2026, 0, 31, 12);

export type PoolWorld = Awaited<ReturnType<typeof createPoolWorld>>;

export async function createPoolWorld({
  store = createMemoryEventStore(),
  mayDie = () => false,
}: {
  readonly store?: EventStore;
  /** Called at each fail point, in addition to those that a spec names. */
  readonly mayDie?: () => boolean;
} = {}) {
  const place = { appId: newId('app'), scopeId: newId('scp'), environment: 'test' as Environment };
  const diesAt = new Set<FailPointName>();
  let timeMs = FIRST_TIME;
  const clock = () => new Date(timeMs);
  const context = () => ({ requestId: 'req-1', actor: 'key:1', deadlineMs: patiently() });

  const startNode = (own: EventStore = store) => {
    const handler = createCommandHandler({ store: own });
    const accounts = createAccounts({ handler, store: own });
    const users = createUsers({ handler, store: own, clock });
    const failPoint: FailPoint = (name) => {
      if (diesAt.delete(name) || mayDie()) throw new Died(name);
    };
    const pools = createPools({
      handler,
      store: own,
      clock,
      failPoint,
      accounts,
      users,
      hasCurrency: async (_appId, currencyId) => currencyId === CHIP || currencyId === SOL,
      lockTimeoutSeconds: async () => TIMEOUT_SECONDS,
    });
    const holds = createHoldActs();
    holds.register('stake', stakeHoldAct(pools));
    const reactions: readonly Reaction[] = [holds.reaction, ...poolDues(pools).map(settlesDue)];
    return { handler, accounts, users, pools, reactions };
  };
  const nodes = [startNode(), startNode()] as const;

  const events = async (): Promise<readonly RecordedEvent[]> =>
    (await Array.fromAsync(store.readAll({}))).flat();
  const accountOf = (userId: string, currencyId = CHIP): AccountKey => ({
    environment: place.environment,
    appId: place.appId,
    userId,
    currencyId,
  });

  return {
    store,
    place,
    nodes,
    startNode,
    context,
    accountOf,
    events,
    /** The next request that gets there dies. */
    dieAt: (name: FailPointName) => void diesAt.add(name),
    passSeconds(seconds: number) {
      timeMs += seconds * 1_000;
    },
    async newPlayer(amount: bigint): Promise<string> {
      const { environment, scopeId, appId } = place;
      const { answer } = await nodes[0].users.register({ environment, scopeId, appId }, context());
      if (amount > 0n) {
        await nodes[0].accounts.credit(
          accountOf(answer.userId),
          { ref: 'funds', amount },
          { ...metadata(), deadlineMs: patiently() },
        );
      }
      return answer.userId;
    },
    figures: (userId: string, currencyId = CHIP) =>
      nodes[1].accounts.figures(accountOf(userId, currencyId), context()),
    typesOf: async (prefix: string) =>
      (await events()).filter(({ stream }) => stream.startsWith(prefix)).map(({ type }) => type),
    /** Does what the hold process does with everything that the log owes; returns how much that was. */
    finish: async ({ reactions }: Pick<(typeof nodes)[number], 'reactions'> = nodes[1]) =>
      actOnAllOwed(await events(), reactions),
    requireWhole: async () => requireWhole(await events()),
  };

  function metadata() {
    return { metadata: { correlationId: 'req-1', actor: 'operator', occurredAt: clock().toISOString() } };
  }
}

/**
 * What must hold once nothing is owed: each hold of a stake is open exactly while its stake waits in an open pool, each
 * was closed with what its pool says, and every pool has paid what it took.
 */
function requireWhole(log: readonly RecordedEvent[]): void {
  const pools = new Map<string, Pool>();
  const holds = new Map<string, { readonly amount: bigint; payout?: bigint }>();
  const books = new Map<string, bigint>();
  const post = (account: string, amount: bigint) => books.set(account, (books.get(account) ?? 0n) + amount);
  const available = new Map<string, bigint>();
  for (const stored of log) {
    if (stored.stream.startsWith('pool-')) {
      const event = poolEvents.decode(stored);
      pools.set(stored.stream, pool.evolve(pools.get(stored.stream) ?? pool.initialState, event));
      if (event.type === 'PoolSettled') {
        post('pools', -event.data.rake);
        post('house', event.data.rake);
      }
    } else if (stored.stream.startsWith('account-')) {
      const event = accountEvents.decode(stored);
      for (const { account, amount } of postingsOf(event)) {
        post(account, amount);
        if (account === 'available') {
          const funds = (available.get(stored.stream) ?? 0n) + amount;
          expect(funds >= 0n, `${stored.stream} is never overdrawn`).to.equal(true);
          available.set(stored.stream, funds);
        }
      }
      if (event.type === 'FundsHeld') {
        holds.set(`${stored.stream} ${event.data.holdId}`, { amount: event.data.amount });
      } else if (event.type === 'HoldClosed') {
        const key = `${stored.stream} ${event.data.holdId}`;
        const hold = holds.get(key);
        expect(hold?.payout, 'a hold is closed once').to.equal(undefined);
        holds.set(key, { amount: event.data.held, payout: event.data.payout });
      }
    }
    const sum = [...books.values()].reduce((total, amount) => total + amount, 0n);
    expect(sum, 'the books balance after every event').to.equal(0n);
  }

  expect(new Set(log.map(({ id }) => id)).size, 'every event has an id of its own').to.equal(log.length);
  const staked = new Set<string>();
  for (const [stream, state] of pools) {
    const { environment, appId, poolId } = poolPlace(stream);
    if (state.status === 'unknown') continue;
    const credits = new Map(
      state.status === 'open' ? [] : [...creditsOf(state)].map(({ stake, payout }) => [stake, payout]),
    );
    if (state.status === 'settled') {
      const paid = [...state.end.payouts].reduce((sum, payout) => sum + payout, 0n);
      expect(paid + state.end.rake).to.equal(state.end.staked);
    }
    for (let stake = 1; stake <= state.stakes.count; stake++) {
      const { betId, userId, amount, standing } = stakeAt(state.stakes, stake);
      const key = `account-${environment}.${appId}.${userId}.${state.currencyId} stake:${poolId}/${betId}`;
      const due = credits.get(stake) ?? (standing === 'released' ? amount : undefined);
      expect(holds.get(key), key).to.deep.equal({ amount, ...(due === undefined ? {} : { payout: due }) });
      staked.add(key);
    }
  }
  for (const [key, { amount, payout }] of holds) {
    if (!staked.has(key)) expect(payout, `${key} is in no pool`).to.equal(amount);
  }
  expect(books.get('pools') ?? 0n, 'what pools owe').to.equal(0n);
}
