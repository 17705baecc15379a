import { expect } from 'chai';
import { atRate, quantile } from './pacing.ts';

/** A clock on which a pause takes as long as the spec says. */
function clockOf(pausesMs: readonly number[]) {
  let now = 100;
  let paused = 0;
  return {
    nowMs: () => now,
    pause: async () => {
      now += pausesMs[paused++] ?? 1;
    },
  };
}

describe('requests at a fixed rate', () => {
  it('are each sent once, and due at even intervals', async () => {
    const due: number[] = [];
    const lateMs = await atRate({ perSecond: 500, requests: 4 }, (dueMs) => due.push(dueMs), clockOf([]));
    expect(due).to.deep.equal([100, 102, 104, 106]);
    expect([...lateMs]).to.deep.equal([0, 0, 0, 0]);
  });

  it('stay due when the generator was held up, and say how late it was', async () => {
    const due: number[] = [];
    const lateMs = await atRate(
      { perSecond: 1_000, requests: 4 },
      (dueMs) => due.push(dueMs),
      clockOf([1, 10]),
    );
    expect(due).to.deep.equal([100, 101, 102, 103]);
    expect([...lateMs]).to.deep.equal([0, 0, 9, 8]);
  });
});

describe('a quantile', () => {
  it('is the value below which that share of the others lies', () => {
    const sorted = Float64Array.from({ length: 1_000 }, (_, index) => index);
    expect([0, 0.5, 0.99, 0.999, 1].map((share) => quantile(sorted, share))).to.deep.equal([
      0, 500, 990, 999, 999,
    ]);
    expect(quantile(new Float64Array(), 0.5)).to.equal(0);
  });
});
