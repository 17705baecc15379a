import { expect } from 'chai';
import { type EventLoop, restOf } from './memoryAtRest.ts';

describe('the memory that V8 keeps for the next load', () => {
  it('is kept until all loops have been idle for some time, and again after the first work or once it is given back', () => {
    const spent = [0, 0];
    const loops = spent.map(
      (_, at): EventLoop => ({
        // As Node does: without arguments what it has come to, with two the difference.
        eventLoopUtilization: (now, before) => ({
          idle: 0,
          active: 0,
          utilization: now && before ? now.utilization - before.utilization : (spent[at] ?? 0),
        }),
      }),
    );
    const isResting = restOf(loops, 3, 2);
    const checks = ([main, other]: readonly [number, number]) => {
      spent[0] = (spent[0] ?? 0) + main;
      spent[1] = (spent[1] ?? 0) + other;
      return isResting();
    };
    const idle = [0.01, 0.02] as const;
    const busy = [0.01, 0.3] as const;
    expect([idle, idle, busy, idle, idle, idle].map(checks).indexOf(true)).to.equal(5);
    expect([idle, idle, idle].map(checks)).to.deep.equal([true, false, false]);
    expect([busy, idle, idle, idle, busy].map(checks)).to.deep.equal([false, false, false, true, false]);
  });
});
