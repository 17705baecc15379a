import { expect } from 'chai';
import { createBlockTimes, type TimeMark } from './blockTimes.ts';

describe('block times', () => {
  it('do not go back with a clock that was set back', () => {
    const kept: TimeMark[] = [];
    const later = { slot: 10n, atMs: Date.now() + 60_000, slotMs: 400 };
    const times = createBlockTimes({ marks: [later], slotMs: 400, keep: (mark) => kept.push(mark) });
    times.mark(20n);
    expect(times.secondsAt(20n)).to.be.at.least(times.secondsAt(19n));
    expect(kept.map(({ slot }) => slot)).to.deep.equal([20n]);
  });
});
