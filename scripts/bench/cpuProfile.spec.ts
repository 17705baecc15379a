import { expect } from 'chai';
import { busyTimes, type CpuProfile } from './cpuProfile.ts';

const frame = (functionName: string, url = '', lineNumber = -1) => ({ functionName, url, lineNumber });
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(idle)') },
    { id: 2, callFrame: frame('decide', 'file:///somewhere/packages/ledger/src/a.ts', 9) },
    { id: 3, callFrame: frame('', 'node:net', 4) },
    { id: 4, callFrame: frame('(root)'), children: [1, 2, 5] },
    { id: 5, callFrame: frame('query', 'file:///somewhere/node_modules/pg/lib/client.js', 1), children: [3] },
  ],
  startTime: 1_000,
  samples: [2, 1, 2, 3, 2],
  timeDeltas: [0, 100, 100, 200, 300],
};

describe('a CPU profile', () => {
  it('says which share of the busy time each function and package took', () => {
    expect(busyTimes(profile, 0, 10_000)).to.deep.equal({
      idleShare: 100 / 700,
      functions: [
        { name: 'decide packages/ledger/src/a.ts:10', share: 400 / 600 },
        { name: '(anonymous) node:net:5', share: 200 / 600 },
      ],
      packages: [
        { name: 'packages/ledger', share: 400 / 600 },
        { name: 'node_modules/pg', share: 200 / 600 },
      ],
    });
  });

  it('is cut to the time that was measured', () => {
    expect(busyTimes(profile, 1_150, 1_450).functions.map(({ share }) => share)).to.deep.equal([
      200 / 300,
      100 / 300,
    ]);
    expect(() => busyTimes(profile, 5_000, 6_000)).to.throw('no sample');
  });
});
