import { randomUUID } from 'node:crypto';
import { decodeMetadata, encodeMetadata, eventCodec, Rejection, type StreamType } from '@coffer/kernel';
import { patiently } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { createCommandHandler } from './commandHandler.ts';
import type { CommandContext, CommandHandler, Settled } from './commands.ts';
import {
  EventTooLargeError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
} from './errors.ts';
import { createMemoryEventStore } from './memory/memoryEventStore.ts';
import { createMemoryLog } from './memory/memoryLog.ts';
import { type AppendRequest, type EventStore, MAX_APPEND_BYTES } from './port.ts';

// A shelf of parcels of any size: how many fit into one append depends on their bytes.

const KIB = 1024;
const STREAM = 'shelf-test.app_1.one';

interface Put {
  readonly key: string;
  readonly bytes: number;
  readonly fate?: 'refused' | 'throws';
}
interface Stored {
  readonly type: 'Stored';
  readonly data: { readonly key: string; readonly filling: string };
}
const shelf: StreamType<Put, Stored, ReadonlySet<string>, number> = {
  category: 'shelf',
  version: 1,
  codec: eventCodec({ Stored: { data: z.object({ key: z.string(), filling: z.string() }) } }),
  initialState: new Set(),
  decide(state, { key, bytes, fate }) {
    if (fate === 'throws') throw new TypeError('a mistake of our own');
    if (fate === 'refused') throw new Rejection('shelf/full');
    if (state.has(key)) return { events: [], answer: state.size, replayed: true };
    return {
      events: [{ type: 'Stored', data: { key, filling: 'x'.repeat(bytes) } }],
      answer: state.size + 1,
    };
  },
  evolve: (state, { data }) => new Set(state).add(data.key),
  sizeOf: (state) => 100 * state.size,
};

type Fault =
  | 'overloaded'
  | 'unreachable'
  /** Written, but the answer is lost. */
  | 'replyLost'
  /** Not written, but nobody can know. */
  | 'neverArrived'
  /** Another process takes the revision first. */
  | 'overtaken';

/** The memory store, with the given faults in order; afterwards it works. */
function faultyStore(faults: readonly (Fault | undefined)[]) {
  const log = createMemoryLog();
  const memory = createMemoryEventStore({ log });
  const left = [...faults];
  const appends: AppendRequest[] = [];
  const store: EventStore = {
    ...memory,
    async append(request) {
      appends.push(request);
      const bytes = request.events.reduce((sum, { data }) => sum + data.length, 0);
      if (bytes > MAX_APPEND_BYTES) throw new EventTooLargeError(request.stream, bytes, MAX_APPEND_BYTES);
      const fault = left.shift();
      if (fault === 'overloaded') throw new StoreOverloadedError('full');
      if (fault === 'unreachable') throw new StoreUnreachableError('away');
      if (fault === 'neverArrived') throw new OutcomeUnknownError('no reply');
      if (fault === 'overtaken') {
        await memory.append({ stream: request.stream, expectedRevision: 'any', events: [eventOfAnother()] });
      }
      const result = await memory.append(request);
      if (fault === 'replyLost') throw new OutcomeUnknownError('no reply');
      return result;
    },
  };
  const storedKeys = () =>
    log.events.map(({ data }) => z.object({ key: z.string() }).parse(JSON.parse(data)).key);
  return { store, appends, log, storedKeys };
}

const eventOfAnother = () => ({
  id: randomUUID(),
  type: 'Stored',
  data: JSON.stringify({ key: `another-${randomUUID()}`, filling: '' }),
  metadata: encodeMetadata(metadata, 1),
});

const metadata = { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-01T00:00:00.000Z' };
const context = (options: Partial<CommandContext> = {}): CommandContext => ({
  metadata,
  deadlineMs: patiently(),
  ...options,
});

/** The outcome of puts that wait in the lane together while a query holds it. */
async function putTogether(
  handler: CommandHandler,
  puts: readonly (Put & { readonly deadlineMs?: number })[],
  type = shelf,
): Promise<readonly string[]> {
  const query = handler.load(type, STREAM, context());
  // It has left the queue when they arrive.
  await Promise.resolve();
  const calls = puts.map(({ deadlineMs, ...put }) =>
    handler.execute(type, STREAM, put, context(deadlineMs === undefined ? {} : { deadlineMs })).then(
      () => 'written',
      (error: Error) => error.name,
    ),
  );
  await query;
  return Promise.all(calls);
}
const isOurs = (key: string) => !key.startsWith('another');

describe('works of a command handler', () => {
  const fiveLargeOnes = ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, bytes: 100 * KIB }));

  it('are not refused by an append that had no room for them: what is refused is not in the log', async () => {
    const { store, storedKeys } = faultyStore(['overloaded']);
    const handler = createCommandHandler({ store });
    const outcomes = await putTogether(handler, fiveLargeOnes);
    expect(storedKeys()).to.deep.equal(
      ['a', 'b', 'c', 'd', 'e'].filter((_, index) => outcomes[index] === 'written'),
    );
    expect(outcomes).to.deep.equal([
      'StoreOverloadedError',
      'StoreOverloadedError',
      'written',
      'written',
      'written',
    ]);
    expect(handler.stats().pending).to.equal(0);
  });

  for (const { fault, told } of [
    { fault: 'unreachable', told: 'StoreUnreachableError' },
    { fault: 'neverArrived', told: 'OutcomeUnknownError' },
  ] as const) {
    it(`continue when time is up for those before them (${fault})`, async () => {
      const { store, storedKeys } = faultyStore([fault]);
      const handler = createCommandHandler({ store });
      const deadlineMs = performance.now();
      const outcomes = await putTogether(
        handler,
        fiveLargeOnes.map((put) => ({ ...put, deadlineMs })),
      );
      expect(outcomes).to.deep.equal([told, told, 'written', 'written', 'written']);
      expect(storedKeys()).to.deep.equal(['c', 'd', 'e']);
    });
  }

  it('that were told "unreachable" are not sent with neighbours whose time is not up', async () => {
    const { store, storedKeys } = faultyStore(['unreachable']);
    const handler = createCommandHandler({ store });
    const outcomes = await putTogether(handler, [
      { key: 'late', bytes: 1, deadlineMs: performance.now() },
      { key: 'patient', bytes: 1 },
    ]);
    expect(outcomes).to.deep.equal(['StoreUnreachableError', 'written']);
    expect(storedKeys()).to.deep.equal(['patient']);
  });

  it('whose outcome was reported unknown are not decided again when another process was faster', async () => {
    const { store, storedKeys } = faultyStore(['neverArrived', 'overtaken']);
    const handler = createCommandHandler({ store });
    const outcomes = await putTogether(handler, [
      { key: 'late', bytes: 1, deadlineMs: performance.now() },
      { key: 'patient', bytes: 1 },
    ]);
    expect(outcomes).to.deep.equal(['OutcomeUnknownError', 'written']);
    expect(storedKeys().filter(isOurs)).to.deep.equal(['patient']);
  });

  it('are each written once when another process overtakes an append that had no room for all', async () => {
    const { store, storedKeys } = faultyStore(['overtaken', undefined, 'overtaken']);
    const handler = createCommandHandler({ store });
    await putTogether(handler, fiveLargeOnes);
    expect(storedKeys().filter(isOurs)).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
  });

  it('that throw or are refused leave the ones without room to the next append', async () => {
    const { store, storedKeys } = faultyStore([]);
    const handler = createCommandHandler({ store });
    const outcomes = await putTogether(handler, [
      { key: 'a', bytes: 100 * KIB },
      { key: 'b', bytes: 100 * KIB, fate: 'throws' },
      { key: 'c', bytes: 100 * KIB, fate: 'refused' },
      { key: 'd', bytes: 100 * KIB },
      { key: 'e', bytes: 100 * KIB, fate: 'throws' },
      { key: 'f', bytes: 100 * KIB },
    ]);
    expect(outcomes).to.deep.equal(['written', 'TypeError', 'Rejection', 'written', 'TypeError', 'written']);
    expect(storedKeys()).to.deep.equal(['a', 'd', 'f']);
  });

  it('that fit an append alone are not refused for being too large with their neighbours', async () => {
    const { store, appends } = faultyStore([]);
    const handler = createCommandHandler({ store });
    const sizes = [200 * KIB, 900 * KIB, 900 * KIB, 10];
    const outcomes = await putTogether(
      handler,
      sizes.map((bytes, index) => ({ key: `${index}`, bytes })),
    );
    expect(outcomes).to.deep.equal(['written', 'written', 'written', 'written']);
    expect(appends.map(({ events }) => events.length)).to.deep.equal([1, 1, 1, 1]);
  });

  it('are refused, and not written, when their new state cannot be measured', async () => {
    const { store, storedKeys } = faultyStore([]);
    const unmeasured: typeof shelf = {
      ...shelf,
      sizeOf: (state) => {
        if (state.has('b')) throw new TypeError('a mistake of our own');
        return 1;
      },
    };
    const handler = createCommandHandler({ store });
    expect(await putTogether(handler, [{ key: 'a', bytes: 1 }], unmeasured)).to.deep.equal(['written']);
    expect(await putTogether(handler, [{ key: 'b', bytes: 1 }], unmeasured)).to.deep.equal(['TypeError']);
    expect(storedKeys()).to.deep.equal(['a']);
  });

  describe('whatever goes wrong, in whatever order they arrive', () => {
    const call = fc.record({
      /** Few keys, so that some calls repeat others. */
      puts: fc.array(
        fc.record({
          key: fc.constantFrom(...'abcdefghij'),
          bytes: fc.constantFrom(1, 60 * KIB, 130 * KIB, 300 * KIB),
          fate: fc.constantFrom(undefined, undefined, undefined, undefined, 'refused', 'throws'),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      patienceMs: fc.constantFrom(0, 0, 20, 30_000, 30_000, 30_000),
      /** The number of event loop turns after the one before it. */
      pause: fc.constantFrom(0, 0, 0, 1, 2, 5),
    });
    const fault = fc.constantFrom<Fault | undefined>(
      undefined,
      undefined,
      'overloaded',
      'unreachable',
      'replyLost',
      'neverArrived',
      'overtaken',
    );

    it('are answered once, and refused ones are never in the log', () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(call, { minLength: 1, maxLength: 14 }),
          fc.array(fault, { maxLength: 6 }),
          async (calls, faults) => {
            const { store, log, storedKeys } = faultyStore(faults);
            const handler = createCommandHandler({ store });
            let open = 0;
            const requests: string[] = [];
            const answers: Promise<readonly Settled<number>[] | Error>[] = [];
            for (const { puts, patienceMs, pause } of calls) {
              for (let turn = 0; turn < pause; turn++) await new Promise(setImmediate);
              const correlationId = randomUUID();
              requests.push(correlationId);
              open += 1;
              const answer = handler
                .executeAll(shelf, STREAM, puts.map(asPut), {
                  ...context({ deadlineMs: performance.now() + patienceMs }),
                  metadata: { ...context().metadata, correlationId },
                })
                .catch((error: Error) => error)
                .finally(() => {
                  open -= 1;
                });
              answers.push(answer);
              expect(handler.stats().pending).to.be.within(0, open);
            }
            const results = await Promise.all(answers);
            expect(handler.stats().pending).to.equal(0);

            results.forEach((result, index) => {
              if (result instanceof OutcomeUnknownError) return;
              const written = log.events
                .filter(({ metadata }) => decodeMetadata(metadata).correlationId === requests[index])
                .map(({ id }) => id);
              const promised =
                result instanceof Error
                  ? []
                  : result.flatMap((settled) => (settled.status === 'decided' ? settled.appended : []));
              expect(written).to.have.members(promised.map(({ id }) => id));
              for (const { id, revision } of promised) {
                expect(log.events.find((event) => event.id === id)?.revision).to.equal(revision);
              }
            });
            const keys = storedKeys();
            expect(keys).to.have.length(new Set(keys).size);
          },
        ),
        { numRuns: 60 },
      ));
  });
});

function asPut({ fate, ...put }: Omit<Put, 'fate'> & { readonly fate: Put['fate'] | undefined }): Put {
  return fate ? { ...put, fate } : put;
}
