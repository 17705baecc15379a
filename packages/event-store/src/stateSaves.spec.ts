import { expect } from 'chai';
import { createMemorySnapshotStore } from './memory/memorySnapshotStore.ts';
import { createSnapshotQueue } from './snapshotQueue.ts';
import { createStateSaves } from './stateSaves.ts';
import type { StreamState } from './streamState.ts';
import type { AnyStreamType } from './works.ts';

describe('states from outlines that are to be saved', () => {
  const outlined = (number: number): StreamState => ({
    stream: `tally-test.app_1.${number}`,
    type: { outlines: { isWhole: () => false } } as unknown as AnyStreamType,
    state: undefined,
    revision: 40,
    lastEventId: undefined,
    bytes: 1_000,
    record: { savedRevision: -1, passes: 0 },
  });
  const savesOf = (maximumBytes: number, meanBytes: number) =>
    createStateSaves({
      queue: createSnapshotQueue({
        store: createMemorySnapshotStore(),
        maximumBytes,
        onError: (error) => expect.fail(String(error)),
      }),
      wholes: { wholeOf: () => new Promise(() => undefined), meanBytes: () => meanBytes },
      onSnapshotError: (error) => expect.fail(String(error)),
    });

  for (const [maximumBytes, meanBytes, read] of [
    [1_000_000_000, 1_000, 64],
    [10_000, 1_000, 10],
    [10_000, 20_000, 1],
  ] as const) {
    it(`are read, ${read} at a time, where ${maximumBytes} bytes have room and one has ${meanBytes}`, () => {
      const saves = savesOf(maximumBytes, meanBytes);
      for (let number = 0; number < 100; number++) saves.save(outlined(number));
      expect(saves.reading).to.equal(read);
      saves.cancelAll();
      expect(saves.reading).to.equal(0);
    });
  }
});
