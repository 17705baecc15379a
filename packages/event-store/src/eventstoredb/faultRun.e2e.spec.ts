/**
 * Many conditional appends through a network and a server that fail all the time: nothing is lost, nothing is doubled,
 * and every acknowledged append is where the acknowledgement said.
 *
 * COFFER_FAULT_RUN_APPENDS sets how many, COFFER_FAULT_RUN_SEED repeats the faults of a run.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { type Acknowledged, appendUntilKnown, faultsIn } from '../testing/acknowledged.ts';
import { openWorld, type World } from '../testing/eventStoreDbWorld.ts';
import { allOf, streamName } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';

const APPENDS = Number(process.env.COFFER_FAULT_RUN_APPENDS ?? 2_000);
const SEED = Number(process.env.COFFER_FAULT_RUN_SEED ?? randomInt(2 ** 31));
const LANES = 32;
/** Streams that all lanes write to, so that conflicts are among the lost answers. */
const SHARED_STREAMS = 8;
/** One fault after this many appends have arrived at the server. */
const ARRIVALS_PER_FAULT = 40;

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

  it(`are each kept once, all ${APPENDS} of them (seed ${SEED})`, async function () {
    // Ten a second, on a machine with eight other things to do per core.
    this.timeout(APPENDS * 300);
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
