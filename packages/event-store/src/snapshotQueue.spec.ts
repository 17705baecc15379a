import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { createMemorySnapshotStore } from './memory/memorySnapshotStore.ts';
import { createSnapshotQueue } from './snapshotQueue.ts';
import type { StreamState } from './streamState.ts';
import type { AnyStreamType } from './works.ts';

const WRITING_MS = 20;

describe('states on their way to the snapshot store', () => {
  const stateOf = (number: number): StreamState => ({
    stream: `tally-test.app_1.${number}`,
    type: { version: 1, snapshot: { encode: () => ({ facts: {} }) } } as unknown as AnyStreamType,
    state: undefined,
    revision: 40,
    lastEventId: `event of ${number}`,
    bytes: 1_000,
    record: { savedRevision: -1, passes: 0 },
  });

  /** One of whose batches, of 128 states, each takes 20 ms to write. The rests end when their signal aborts, or at once. */
  function queueOf(
    maximumBytes: number,
    rests: 'atOnce' | 'untilAborted' = 'atOnce',
    writingMs = WRITING_MS,
  ) {
    const store = createMemorySnapshotStore();
    let nowMs = 0;
    const restsMs: number[] = [];
    const queue = createSnapshotQueue({
      store: {
        ...store,
        async save(batch) {
          nowMs += writingMs;
          await store.save(batch);
        },
      },
      maximumBytes,
      onError: (error) => expect.fail(String(error)),
      nowMs: () => nowMs,
      pause: (delayMs, signal) => {
        restsMs.push(Math.round(delayMs));
        if (rests === 'atOnce') return Promise.resolve();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    });
    const offer = (from: number, to: number) => {
      for (let number = from; number < to; number++) queue.offer(stateOf(number));
    };
    const written = (count: number) =>
      eventually(`${count} states are written`, () => queue.written === count || undefined);
    return { queue, offer, written, restsMs };
  }

  it('leave nine tenths of the time to others, the less the more of the room they take', async () => {
    const { offer, written, restsMs } = queueOf(4_000_000);
    offer(0, 300);
    await written(300);
    const eighthOfTheRoom = 500;
    expect(restsMs).to.deep.equal(
      [172, 44].map((waiting) => Math.round(WRITING_MS * 9 * (1 - waiting / eighthOfTheRoom))),
    );
  });

  it('are written one batch after the other while they take an eighth of the room', async () => {
    const { offer, written, restsMs } = queueOf(1_200_000);
    offer(0, 300);
    await written(300);
    expect(restsMs).to.have.length(1);
  });

  it('rest for a second at the most, however long a batch took', async () => {
    const { offer, written, restsMs } = queueOf(4_000_000, 'atOnce', 3_000);
    offer(0, 129);
    await written(129);
    expect(restsMs).to.deep.equal([1_000]);
  });

  it('rest no longer once they take an eighth of the room', async () => {
    const { queue, offer, written } = queueOf(4_000_000, 'untilAborted');
    offer(0, 129);
    await written(128);
    offer(129, 628);
    await new Promise(setImmediate);
    expect(queue.written).to.equal(128);
    offer(628, 629);
    await written(256);
  });

  it('rest no longer before the process ends', async () => {
    const { queue, offer, written } = queueOf(4_000_000, 'untilAborted');
    offer(0, 400);
    await written(128);
    await queue.finish([stateOf(400)], 10_000);
    expect(queue.written).to.equal(401);
  });
});
