import { eventCodec, figure, Rejection, type StreamType, uuidFromParts } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { type CommandHandlerOptions, createCommandHandler } from './commandHandler.ts';
import type { CommandContext } from './commands.ts';
import {
  LogRewrittenError,
  OutcomeUnknownError,
  StoreAbsentError,
  StoreOverloadedError,
  StoreUnreachableError,
} from './errors.ts';
import { createMemoryEventStore } from './memory/memoryEventStore.ts';
import { createMemorySnapshotStore } from './memory/memorySnapshotStore.ts';
import type { AppendRequest, EventStore } from './port.ts';
import type { SnapshotStore } from './snapshots.ts';

// A purse: the smallest thing with a balance, a refusal and an idempotency key.

const purseEvents = eventCodec({ Spent: { data: z.object({ key: z.string(), amount: figure }) } });
interface Spent {
  readonly key: string;
  readonly left: bigint;
  readonly before: Spent | undefined;
}
interface Purse {
  readonly left: bigint;
  /** Newest first; shared between states, because a copy per event would be slow. */
  readonly spent: Spent | undefined;
}
function* allSpent({ spent }: Purse): Generator<Spent> {
  for (let entry = spent; entry; entry = entry.before) yield entry;
}
interface Spend {
  readonly key: string;
  readonly amount: bigint;
}
const purse: StreamType<Spend, { type: 'Spent'; data: { key: string; amount: bigint } }, Purse, bigint> = {
  category: 'purse',
  version: 1,
  codec: purseEvents,
  initialState: { left: 100n, spent: undefined },
  decide(state, { key, amount }) {
    if (amount < 0n) throw new TypeError('a mistake of our own');
    const seen = allSpent(state).find((entry) => entry.key === key);
    if (seen) return { events: [], answer: seen.left, replayed: true };
    if (amount > state.left) throw new Rejection('purse/empty', { left: state.left });
    return { events: [{ type: 'Spent', data: { key, amount } }], answer: state.left - amount };
  },
  evolve: (state, { data }) => spendFrom(state, data.key, state.left - data.amount),
  sizeOf: () => 1_000,
  snapshot: {
    encode: (state) => ({ facts: [...allSpent(state)].reverse().map(({ key, left }) => [key, `${left}`]) }),
    decode: ({ facts }) =>
      z
        .array(z.tuple([z.string(), z.string()]))
        .parse(facts)
        .reduce((state, [key, left]) => spendFrom(state, key, BigInt(left)), purse.initialState),
  },
};
function spendFrom(state: Purse, key: string, left: bigint): Purse {
  return { left, spent: { key, left, before: state.spent } };
}

const STREAM = 'purse-test.app_1.one';
const context = (options: Partial<CommandContext> = {}): CommandContext => ({
  metadata: { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-01T00:00:00.000Z' },
  deadlineMs: patiently(),
  ...options,
});
const spend = (key: string, amount: bigint): Spend => ({ key, amount });

/** The memory store, counting its calls and failing where the spec says so. */
function watched(store: EventStore = createMemoryEventStore()) {
  const appends: AppendRequest[] = [];
  const probes: (readonly string[])[] = [];
  const faults: ('loseReply' | 'unreachable' | 'absent' | 'rewritten')[] = [];
  let gate: Promise<void> = Promise.resolve();
  const watchedStore: EventStore = {
    ...store,
    async append(request) {
      appends.push(request);
      await gate;
      const fault = faults.shift();
      if (fault === 'unreachable') throw new StoreUnreachableError('away');
      if (fault === 'absent') throw new StoreAbsentError('No node leads.');
      if (fault === 'rewritten') throw new LogRewrittenError('restored');
      const result = await store.append(request);
      if (fault === 'loseReply') throw new OutcomeUnknownError('no reply');
      return result;
    },
    heads(streams) {
      probes.push(streams);
      return store.heads(streams);
    },
  };
  return {
    store: watchedStore,
    appends,
    probes,
    faults,
    /** Holds every append until the returned function is called. */
    holdAppends(): () => void {
      let open = (): void => undefined;
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return () => open();
    },
  };
}

const handlerOn = (store: EventStore, options: Partial<CommandHandlerOptions> = {}) =>
  createCommandHandler({ store, ...options });

async function refusal(attempt: Promise<unknown>): Promise<unknown> {
  try {
    await attempt;
  } catch (error) {
    return error;
  }
  throw new Error('was not refused');
}

async function storedKeys(store: EventStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of store.readStream(STREAM)) {
    for (const event of page) keys.push(JSON.parse(event.data).key);
  }
  return keys;
}

describe('command handler', () => {
  it('appends at once what arrives for a stream in one turn', async () => {
    const { store, appends } = watched();
    const handler = handlerOn(store);
    await Promise.all(
      ['a', 'b', 'c'].map((key) => handler.execute(purse, STREAM, spend(key, 1n), context())),
    );
    expect(appends.map(({ events }) => events.length)).to.deep.equal([3]);
    expect(await storedKeys(store)).to.deep.equal(['a', 'b', 'c']);
  });

  it('decides on the folded state and appends at its revision', async () => {
    const { store, appends } = watched();
    const handler = handlerOn(store);
    expect((await handler.execute(purse, STREAM, spend('a', 30n), context())).answer).to.equal(70n);
    expect((await handler.execute(purse, STREAM, spend('b', 30n), context())).answer).to.equal(40n);
    expect(appends.map(({ expectedRevision }) => expectedRevision)).to.deep.equal(['noStream', 0]);
    expect(appends[1]?.expectedLastEventId).to.equal(appends[0]?.events[0]?.id);
  });

  it('appends together what waited for the append in flight, each decided on the state before it', async () => {
    const { store, appends, holdAppends } = watched();
    const handler = handlerOn(store);
    const open = holdAppends();
    const first = handler.execute(purse, STREAM, spend('first', 10n), context());
    await new Promise(setImmediate);
    const waiting = ['a', 'b', 'c'].map((key) => handler.execute(purse, STREAM, spend(key, 10n), context()));
    open();
    expect((await first).answer).to.equal(90n);
    expect((await Promise.all(waiting)).map(({ answer }) => answer)).to.deep.equal([80n, 70n, 60n]);
    expect(appends.map(({ events }) => events.length)).to.deep.equal([1, 3]);
  });

  it('answers nobody before the append has committed, not even refusals and replays', async () => {
    const { store, holdAppends } = watched();
    const handler = handlerOn(store);
    const open = holdAppends();
    const answered: string[] = [];
    const all = [spend('a', 100n), spend('a', 100n), spend('b', 1n)].map((command, index) =>
      handler.executeAll(purse, STREAM, [command], context()).then((results) => {
        answered.push(`${index}:${results[0]?.status}`);
        return results[0];
      }),
    );
    await new Promise(setImmediate);
    expect(answered).to.deep.equal([]);
    open();
    const [, replayed, refused] = await Promise.all(all);
    expect(replayed).to.include({ replayed: true });
    expect(refused).to.have.nested.property('reason.code', 'purse/empty');
  });

  it('confirms a refusal: a stale state never causes one', async () => {
    const shared = createMemoryEventStore();
    const [one, other] = [handlerOn(shared), handlerOn(shared)];
    await one.execute(purse, STREAM, spend('a', 60n), context());
    await other.execute(purse, STREAM, spend('b', 40n), context());
    const error = await refusal(one.execute(purse, STREAM, spend('c', 40n), context()));
    expect(error).to.have.deep.property('details', { left: 0n });
  });

  it('confirms a query by reading only what is newer than its state', async () => {
    const shared = createMemoryEventStore();
    const [one, other] = [handlerOn(shared), handlerOn(shared)];
    await one.execute(purse, STREAM, spend('a', 1n), context());
    await other.execute(purse, STREAM, spend('b', 1n), context());
    expect((await one.load(purse, STREAM, context())).left).to.equal(98n);
  });

  it('replays a committed write from the cache without asking the store', async () => {
    const { store, appends, probes } = watched();
    const handler = handlerOn(store);
    await handler.execute(purse, STREAM, spend('a', 30n), context());
    const again = await handler.execute(purse, STREAM, spend('a', 30n), context());
    expect(again).to.include({ answer: 70n, replayed: true });
    expect([appends.length, probes.length]).to.deep.equal([1, 0]);
  });

  it('confirms a replay that a later write could have undone', async () => {
    const { store, probes } = watched();
    const revocable = {
      ...purse,
      decide: (state: Purse, command: Spend) => ({ ...purse.decide(state, command), revocable: true }),
    };
    const handler = handlerOn(store);
    await handler.execute(revocable, STREAM, spend('a', 30n), context());
    await handler.execute(revocable, STREAM, spend('a', 30n), context());
    expect(probes.length).to.equal(1);
  });

  it('decides again when another process was faster', async () => {
    const shared = createMemoryEventStore();
    const [one, other] = [handlerOn(shared), handlerOn(shared)];
    await one.execute(purse, STREAM, spend('a', 10n), context());
    await other.execute(purse, STREAM, spend('b', 10n), context());
    expect((await one.execute(purse, STREAM, spend('c', 10n), context())).answer).to.equal(70n);
    expect(await storedKeys(shared)).to.deep.equal(['a', 'b', 'c']);
  });

  it('retries an unknown outcome with the same events, so that they are written once', async () => {
    const { store, appends, faults } = watched();
    const handler = handlerOn(store);
    faults.push('loseReply', 'unreachable');
    expect((await handler.execute(purse, STREAM, spend('a', 10n), context())).answer).to.equal(90n);
    expect(new Set(appends.map(({ events }) => events[0]?.id)).size).to.equal(1);
    expect(await storedKeys(store)).to.deep.equal(['a']);
  });

  it('reports an unknown outcome when time is up, and a retry of the request converges', async () => {
    const { store, faults } = watched();
    const handler = handlerOn(store);
    faults.push('loseReply');
    const error = await refusal(
      handler.execute(purse, STREAM, spend('a', 10n), context({ deadlineMs: performance.now() })),
    );
    expect(error).to.be.instanceOf(OutcomeUnknownError);
    const retried = await handler.execute(purse, STREAM, spend('a', 10n), context());
    expect(retried).to.include({ answer: 90n, replayed: true });
    expect(await storedKeys(store)).to.deep.equal(['a']);
  });

  it('never reports that nothing was written once an attempt may have been', async () => {
    const { store, faults } = watched();
    const handler = handlerOn(store);
    faults.push('loseReply', 'unreachable', 'unreachable', 'unreachable', 'unreachable');
    const deadlineMs = performance.now() + 300;
    const error = await refusal(handler.execute(purse, STREAM, spend('a', 10n), context({ deadlineMs })));
    expect(error).to.be.instanceOf(OutcomeUnknownError);
    expect(await storedKeys(store)).to.deep.equal(['a']);
  });

  it('fails at once when the store is absent, unless an attempt may have been written', async () => {
    const { store, appends, faults } = watched();
    const handler = handlerOn(store);
    faults.push('absent');
    const error = await refusal(handler.execute(purse, STREAM, spend('a', 10n), context()));
    expect(error).to.be.instanceOf(StoreAbsentError);
    expect(appends).to.have.length(1);
    faults.push('loseReply', 'absent');
    expect((await handler.execute(purse, STREAM, spend('b', 10n), context())).answer).to.equal(90n);
    expect(await storedKeys(store)).to.deep.equal(['b']);
  });

  it('drops the state of a rewritten stream and decides on the new one', async () => {
    const { store, faults } = watched();
    const handler = handlerOn(store);
    await handler.execute(purse, STREAM, spend('a', 10n), context());
    faults.push('rewritten');
    expect((await handler.execute(purse, STREAM, spend('b', 10n), context())).answer).to.equal(80n);
  });

  it('forgets every state when one stream was rewritten, so that nothing the log has lost is replayed', async () => {
    let log = createMemoryEventStore();
    const handler = handlerOn({
      ...log,
      append: (request) => log.append(request),
      readTails: (tails, limit) => log.readTails(tails, limit),
    });
    const other = 'purse-test.app_1.two';
    await handler.execute(purse, STREAM, spend('a', 10n), context());
    await handler.execute(purse, other, spend('b', 30n), context());
    expect(await handler.execute(purse, other, spend('b', 30n), context())).to.include({ replayed: true });

    log = createMemoryEventStore();
    await handler.execute(purse, STREAM, spend('c', 10n), context());
    expect(await handler.execute(purse, other, spend('b', 30n), context())).to.include({ replayed: false });
  });

  it('fails only the command whose decision threw', async () => {
    const { store, holdAppends } = watched();
    const handler = handlerOn(store);
    const open = holdAppends();
    const first = handler.execute(purse, STREAM, spend('a', 1n), context());
    await new Promise(setImmediate);
    const bad = refusal(handler.execute(purse, STREAM, spend('bad', -1n), context()));
    const good = handler.execute(purse, STREAM, spend('b', 1n), context());
    open();
    await first;
    expect(await bad).to.be.instanceOf(TypeError);
    expect((await good).answer).to.equal(98n);
  });

  it('decides a group in order and appends it at once', async () => {
    const { store, appends } = watched();
    const results = await handlerOn(store).executeAll(
      purse,
      STREAM,
      [spend('a', 60n), spend('b', 60n), spend('a', 60n), spend('c', 40n)],
      context(),
    );
    expect(results.map((result) => (result.status === 'decided' ? result.answer : 'refused'))).to.deep.equal([
      40n,
      'refused',
      40n,
      0n,
    ]);
    expect(appends.map(({ events }) => events.length)).to.deep.equal([2]);
  });

  it('refuses a command when too many are already waiting', async () => {
    const { store, holdAppends } = watched();
    const handler = handlerOn(store, { maxPending: 1 });
    const open = holdAppends();
    const first = handler.execute(purse, STREAM, spend('a', 1n), context());
    const second = await refusal(handler.execute(purse, STREAM, spend('b', 1n), context()));
    expect(second).to.be.instanceOf(StoreOverloadedError);
    open();
    await first;
    expect((await handler.execute(purse, STREAM, spend('b', 1n), context())).answer).to.equal(98n);
  });

  it('uses the given ids for events that follow from a cause', async () => {
    const { store, appends } = watched();
    const eventIds = { parts: ['cause', 'of this'], first: 3 };
    await handlerOn(store).execute(purse, STREAM, spend('a', 1n), context({ eventIds }));
    await handlerOn(store).execute(
      purse,
      STREAM,
      spend('b', 1n),
      context({ eventIds: { ...eventIds, within: STREAM } }),
    );
    const id = uuidFromParts('cause', 'of this', '3');
    expect(appends.map(({ events }) => events[0]?.id)).to.deep.equal([id, uuidFromParts(STREAM, id)]);
  });

  it('keeps its cache within its limit, and answers the same without it', async () => {
    const handler = handlerOn(createMemoryEventStore(), { cacheBytes: 2_500 });
    for (const stream of ['purse-a', 'purse-b', 'purse-c', 'purse-a']) {
      await handler.execute(purse, stream, spend(`k-${stream}`, 1n), context());
    }
    expect(handler.stats().cachedStreams).to.equal(2);
    expect(handler.stats().cachedBytes).to.be.at.most(2_500);
  });

  describe('snapshots', () => {
    const spendMany = async (store: EventStore, snapshots: SnapshotStore, count: number) => {
      const handler = handlerOn(store, { snapshots });
      for (let start = 0; start < count; start += 500) {
        const commands = Array.from({ length: 500 }, (_, index) => spend(`k${start + index}`, 0n));
        await handler.executeAll(purse, STREAM, commands, context());
      }
      await handler.saveStates(10_000);
    };

    it('are taken along the way and give the same state as a full fold', async () => {
      const { store } = watched();
      const snapshots = createMemorySnapshotStore();
      await spendMany(store, snapshots, 3_000);
      expect(snapshots.kept.get(STREAM)?.revision).to.be.at.least(1_999);
      const fromSnapshot = await handlerOn(store, { snapshots }).load(purse, STREAM, context());
      const folded = await handlerOn(store).load(purse, STREAM, context());
      expect([...allSpent(fromSnapshot)].map(({ key, left }) => [key, left])).to.deep.equal(
        [...allSpent(folded)].map(({ key, left }) => [key, left]),
      );
    });

    it('that cannot be taken are reported and do not fail the command', async () => {
      const snapshots = createMemorySnapshotStore();
      const told: unknown[] = [];
      const handler = handlerOn(createMemoryEventStore(), {
        snapshots,
        onSnapshotError: (error) => told.push(error),
      });
      const broken: typeof purse = {
        ...purse,
        snapshot: {
          encode() {
            throw new TypeError('a mistake of our own');
          },
          decode: () => purse.initialState,
        },
      };
      const commands = Array.from({ length: 2_100 }, (_, index) => spend(`k${index}`, 0n));
      const results = await handler.executeAll(broken, STREAM, commands, context());
      expect(results.every(({ status }) => status === 'decided')).to.equal(true);
      await handler.saveStates(10_000);
      expect(told).to.have.length(1);
    });

    it('are ignored when the log no longer holds the event at which they were taken', async () => {
      const { store } = watched();
      const snapshots = createMemorySnapshotStore();
      await spendMany(store, snapshots, 3_000);
      const snapshot = snapshots.kept.get(STREAM);
      if (snapshot) {
        const state = { facts: [['other', '1']] };
        snapshots.kept.set(STREAM, { ...snapshot, eventId: 'another', state });
      }
      const state = await handlerOn(store, { snapshots }).load(purse, STREAM, context());
      expect(state.left).to.equal(100n);
    });
  });
});
