/**
 * Many conditional appends through a network and a server that fail all the time: nothing is lost, nothing doubled,
 * and every append that was acknowledged stands where that was said.
 *
 * COFFER_FAULT_RUN_APPENDS sets how many, COFFER_FAULT_RUN_SEED repeats the faults of a run.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { allOf, newEvents, streamName } from '../contractTools.contract.ts';
import { OutcomeUnknownError, StoreUnreachableError, WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, AppendResult, EventStore, RecordedEvent } from '../port.ts';
import { follow } from '../subscription.contract.ts';
import { openWorld, type World } from './testTools.contract.ts';

const APPENDS = Number(process.env.COFFER_FAULT_RUN_APPENDS ?? 2_000);
const SEED = Number(process.env.COFFER_FAULT_RUN_SEED ?? randomInt(2 ** 31));
const LANES = 32;
/** Streams that all lanes write to, so that conflicts are among the answers that get lost. */
const SHARED_STREAMS = 8;
/** One fault after so many appends have arrived at the server. */
const ARRIVALS_PER_FAULT = 40;
const RETRY_MS = 5;

/** Mulberry32: small, and the same everywhere. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const faults: Readonly<Record<string, (world: World) => void | Promise<void>>> = {
  cut: ({ proxy }) => proxy.cut(),
  halfClose: ({ proxy }) => proxy.halfClose(),
  async loseReplies({ proxy }) {
    proxy.swallowReplies();
    await delay(30);
    proxy.cut();
  },
  async lateReplies({ proxy }) {
    proxy.holdReplies();
    // Longer than an append waits.
    await delay(250);
    proxy.release();
  },
  async lateRequests({ proxy }) {
    proxy.holdRequests();
    await delay(250);
    proxy.release();
  },
  async away({ proxy }) {
    await proxy.goAway();
    await delay(50);
    await proxy.comeBack();
  },
  restart: (world) => world.restart(),
};

interface Acknowledged {
  readonly request: AppendRequest;
  readonly result: AppendResult;
}

describe('conditional appends to EventStoreDB under faults', () => {
  let world: World;
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  before(async () => {
    process.on('unhandledRejection', note);
    world = await openWorld();
  });
  after(async () => {
    process.off('unhandledRejection', note);
    await world.close();
  });

  it(`are kept, ${APPENDS} of them, each once (seed ${SEED})`, async function () {
    this.timeout(60_000 + APPENDS * 30);
    const random = randomOf(SEED);
    const store = world.open({ appendTimeoutMs: 150, readSilenceMs: 150 });
    const other = world.open({ appendTimeoutMs: 150, readSilenceMs: 150 });
    const reader = follow(world.open({ watchMs: 1_000, readSilenceMs: 300 }), { pageSize: 50 });
    const acknowledged: Acknowledged[] = [];
    const shared = Array.from({ length: SHARED_STREAMS }, streamName);

    const made: string[] = [];
    let failing: Promise<void> | undefined;
    const arrive = (): void => {
      if (acknowledged.length < APPENDS) world.onNextAppend(onArrival);
    };
    let arrivals = 0;
    const onArrival = (): undefined => {
      arrivals += 1;
      arrive();
      if (arrivals % ARRIVALS_PER_FAULT !== 0 || failing) return;
      const names = Object.keys(faults);
      const name = names[Math.floor(random() * names.length)] ?? '';
      made.push(name);
      failing = Promise.resolve(faults[name]?.(world)).finally(() => {
        failing = undefined;
      });
    };
    arrive();

    let left = APPENDS;
    const write = async (lane: number): Promise<void> => {
      const own = { stream: streamName(), last: -1 };
      const places = [own, ...shared.map((stream) => ({ stream, last: -1 }))];
      while (left > 0) {
        left -= 1;
        const place = places[random() < 0.5 ? 0 : Math.floor(random() * places.length)] ?? own;
        acknowledged.push(
          await appendUntilKnown(lane % 2 ? store : other, place, 1 + Math.floor(random() * 3)),
        );
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, lane) => write(lane)));
    await failing;
    world.proxy.release();

    const events = await allOf(world.served.readAll());
    expect(faultsIn(events, acknowledged)).to.deep.equal([]);
    expect(acknowledged).to.have.length(APPENDS);
    expect(new Set(made).size, made.join(' ')).to.be.at.least(3);
    await reader.until(() => reader.ids().length >= events.length);
    expect(reader.ids()).to.deep.equal(events.map(({ id }) => id));
    await reader.stop();
    expect(unhandled).to.deep.equal([]);
  });
});

/** As the command handler does it: the same request until its outcome is known, a new one after a conflict. */
async function appendUntilKnown(
  store: EventStore,
  place: { readonly stream: string; last: number },
  count: number,
): Promise<Acknowledged> {
  for (;;) {
    const request: AppendRequest = {
      stream: place.stream,
      expectedRevision: place.last < 0 ? 'noStream' : place.last,
      events: newEvents(count),
    };
    for (;;) {
      try {
        const result = await store.append(request);
        place.last = result.revision;
        return { request, result };
      } catch (error) {
        if (error instanceof WrongExpectedRevisionError) {
          place.last = error.actual ?? -1;
          break;
        }
        if (!(error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError)) throw error;
        await delay(RETRY_MS);
      }
    }
  }
}

/** Every way in which the log is not what was acknowledged; empty when all is well. */
function faultsIn(events: readonly RecordedEvent[], acknowledged: readonly Acknowledged[]): string[] {
  const found: string[] = [];
  const byId = new Map<string, RecordedEvent>();
  for (const event of events) {
    if (byId.has(event.id)) found.push(`Event ${event.id} stands twice.`);
    byId.set(event.id, event);
  }
  let sent = 0;
  for (const { request, result } of acknowledged) {
    sent += request.events.length;
    request.events.forEach(({ id }, index) => {
      const event = byId.get(id);
      const revision = result.revision - (request.events.length - 1 - index);
      if (event?.stream !== request.stream || event.revision !== revision) {
        found.push(`Event ${id} was acknowledged at ${request.stream} ${revision} and is not there.`);
      }
    });
  }
  // What was given up after a conflict was never written.
  if (sent !== events.length) found.push(`${sent} events were acknowledged, ${events.length} stand.`);
  return found;
}
