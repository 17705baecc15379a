import { expect } from 'chai';
import { transitionsOf } from './states.ts';

describe('what has named states', () => {
  const turn = transitionsOf<'shut' | 'open'>('a door', { shut: ['open'], open: [] });

  it('goes from one to the next', () => {
    const door = { state: 'shut' as 'shut' | 'open' };
    turn(door, 'open');
    expect(door.state).to.equal('open');
  });

  it('goes nowhere that its present state does not lead to, and stays what it is', () => {
    const door = { state: 'open' as 'shut' | 'open' };
    expect(() => turn(door, 'shut')).to.throw('a door that is open cannot be shut next');
    expect(door.state).to.equal('open');
  });
});
