import { expect } from 'chai';
import { judge, median, ratios } from './bars.ts';

describe('the bars of the benchmark', () => {
  it('are judged by the median of the rounds', () => {
    expect(judge('betAt256', [0.1, 0.36, 0.9])).to.include({ value: 0.36, passed: true });
    expect(judge('betAt256', [0.9, 0.35, 0.1])).to.include({ value: 0.35, passed: false });
  });

  it('may be an upper limit', () => {
    expect(judge('stateMemory', [700])).to.include({ passed: true, limit: 'at most 700 MiB' });
    expect(judge('stateMemory', [700.5])).to.include({ passed: false });
  });

  it('are not passed when nothing was measured', () => {
    expect(() => judge('batch', [])).to.throw('Nothing was measured.');
    expect(() => judge('batch', [Number.NaN])).to.throw('Nothing was measured.');
    expect(() => judge('batch', [5 / 0])).to.throw('Nothing was measured.');
  });

  it('compare figures of the same round', () => {
    expect(ratios([10, 30], [20, 40])).to.deep.equal([0.5, 0.75]);
    expect(() => ratios([10], [20, 40])).to.throw('same rounds');
  });

  it('take the mean of the two in the middle of an even number', () => {
    expect(median([4, 1, 3, 2])).to.equal(2.5);
  });
});
