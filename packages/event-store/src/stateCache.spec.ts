/** Which states leave when room is needed. */
import { eventCodec } from '@coffer/kernel';
import { expect } from 'chai';
import { createStateCache } from './stateCache.ts';
import type { StreamState } from './streamState.ts';
import type { AnyStreamType } from './works.ts';

const KIB = 1024;
const type: AnyStreamType = {
  category: 'tally',
  version: 1,
  codec: { ...eventCodec({}), encode: () => expect.fail('Nothing is appended here.') },
  initialState: undefined,
  decide: () => expect.fail('Nothing is decided here.'),
  evolve: () => expect.fail('Nothing is folded here.'),
  sizeOf: () => expect.fail('The state has its size.'),
};
const streamOf = (number: number) => `tally-test.app_1.${number}`;

describe('cached states, when room is needed,', () => {
  let cache: ReturnType<typeof createStateCache>;
  let left: StreamState[];
  beforeEach(() => {
    left = [];
    cache = createStateCache({ maximumBytes: 87 * KIB + 1 / 3, onEvicted: (state) => left.push(state) });
  });
  const keep = (number: number, kib: number, typeOf = type) =>
    cache.set({
      stream: streamOf(number),
      type: typeOf,
      state: undefined,
      revision: 0,
      lastEventId: undefined,
      bytes: kib * KIB,
      record: { savedRevision: -1, passes: 0 },
    });
  const remembered = (...numbers: readonly number[]) =>
    numbers.filter((number) => cache.get(streamOf(number)) !== undefined);

  it('leave as large ones rather than as small ones', () => {
    keep(1, 2);
    for (const large of [2, 3, 4]) keep(large, 40);
    expect(remembered(1, 2, 3, 4)).to.deep.equal([1, 3, 4]);
  });

  it('are passed over once if they have up to 16 KiB', () => {
    for (const [index, kib] of [10, 40, 30, 40, 40].entries()) keep(index + 1, kib);
    expect(remembered(1, 2, 3, 4, 5)).to.deep.equal([4, 5]);
  });

  it('are passed over up to eight at a time', () => {
    for (let number = 1; number <= 43; number++) keep(number, 2);
    keep(44, 2);
    expect(remembered(1, 8, 9, 10)).to.deep.equal([1, 8, 10]);
  });

  it('give way to the next state of their stream, which takes only what room it needs more', () => {
    for (const [number, kib] of [
      [1, 40],
      [2, 40],
      [1, 44],
    ] as const) {
      keep(number, kib);
    }
    expect([cache.count, cache.bytes]).to.deep.equal([2, 84 * KIB]);
    keep(1, 60);
    expect(remembered(1, 2)).to.deep.equal([1]);
    expect(left.map(({ stream }) => stream)).to.deep.equal([streamOf(2)]);
    keep(1, 88);
    expect(left.map(({ bytes }) => bytes / KIB)).to.deep.equal([40, 88]);
    expect([cache.count, cache.bytes]).to.deep.equal([0, 0]);
  });

  describe('and their type has outlines,', () => {
    const outlining: AnyStreamType = {
      ...type,
      outlines: {
        of: () => ({ facts: 'x'.repeat(1_000), marks: '' }),
        restore: () => undefined,
        isWhole: () => true,
      },
    };
    const keepAll = (kib: number, ...numbers: readonly number[]) => {
      for (const number of numbers) keep(number, kib, outlining);
    };
    const outlined = (...numbers: readonly number[]) =>
      numbers.filter((number) => cache.outlineOf(streamOf(number)) !== undefined);

    it('leave in the order of their use, and leave those', () => {
      keepAll(8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
      expect(outlined(1, 2, 3)).to.deep.equal([1, 2]);
      expect(cache.bytes).to.be.within(10 * 8 * KIB + 2_000, 87 * KIB);
    });

    it('leave none that would take more than half of their room', () => {
      keepAll(2, ...Array.from({ length: 44 }, (_, number) => number));
      expect(left.map(({ stream }) => stream)).to.deep.equal([streamOf(0)]);
      expect(cache.outlines).to.equal(0);
    });

    /** As a command does that needs the state of a stream: how many were still whole. */
    function play(times: number, ...numbers: readonly number[]): number {
      let whole = 0;
      for (let time = 0; time < times; time++) {
        for (const number of numbers) {
          if (cache.get(streamOf(number))) whole += 1;
          else {
            cache.outlineOf(streamOf(number));
            keep(number, 8, outlining);
          }
        }
      }
      return whole;
    }
    const inPlay = [1, 2, 3, 4, 5, 6, 7, 8];
    const many = Array.from({ length: 50 }, (_, number) => 100 + number);

    it('stay where they are asked for again soon, and outlines of those that rest make room for them', () => {
      keepAll(8, ...many);
      expect(play(1, ...inPlay, ...inPlay)).to.equal(0);
      play(2_000, ...inPlay);
      expect(play(1, ...inPlay)).to.equal(8);
      expect(cache.outlines).to.be.within(12, 17);
    });

    it('make room for outlines where so many are asked for in turn that only those have room', () => {
      keepAll(8, ...many);
      play(2_000, ...inPlay);
      play(200, ...many);
      expect(cache.count).to.be.within(1, 2);
      expect(cache.outlines).to.be.within(45, 58);
    });

    it('leave an eighth of the room to outlines, even where each of them is asked for again soon', () => {
      keepAll(8, ...many);
      play(2_000, ...inPlay, 9, 10, 11);
      expect(cache.outlines).to.be.within(6, 8);
    });

    it('have one or the other', () => {
      keepAll(8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
      keep(1, 8, outlining);
      expect(outlined(1, 2, 3, 4)).to.deep.equal([2, 3]);
      expect(cache.count + cache.outlines).to.equal(12);
      cache.remove(streamOf(2));
      expect(outlined(2)).to.deep.equal([]);
    });
  });

  it('leave at once, alone, if they are larger than all the room', () => {
    keep(1, 2);
    keep(2, 200);
    expect(remembered(1, 2)).to.deep.equal([1]);
    expect(left.map(({ stream }) => stream)).to.deep.equal([streamOf(2)]);
  });
});
