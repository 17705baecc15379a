import { expect } from 'chai';
import { parseStat, processorTimes, residentMiBOf, spentBetween } from './processorTimes.ts';

const onLinux = process.platform === 'linux';

describe('processor times', () => {
  it('are read from what the kernel writes, whatever the name of the process', () => {
    const fields = '70 70 70 0 -1 4194560 1 2 3 4 120 35 0 0 20 0 1 0 100 1 1';
    expect(parseStat(`71 (a) b) S ${fields}`)).to.deep.equal({ name: 'a) b', parent: 70, ms: 1_550 });
  });

  it('are what was spent between two readings, largest first, without what spent nothing', () => {
    const before = new Map([
      ['a', 10],
      ['b', 5],
      ['c', 7],
    ]);
    const after = new Map([
      ['a', 20],
      ['b', 50],
      ['c', 7],
      ['d', 1],
    ]);
    expect([...spentBetween(before, after)]).to.deep.equal([
      ['b', 45],
      ['a', 10],
      ['d', 1],
    ]);
  });

  it('tell the threads of a process apart, and how much memory it has', async () => {
    const times = await processorTimes(process.pid, process.pid);
    expect(times?.has('service, main thread')).to.equal(onLinux ? true : undefined);
    const residentMiB = await residentMiBOf(process.pid);
    expect(onLinux ? (residentMiB ?? 0) > 10 : residentMiB === undefined).to.equal(true);
  });
});
