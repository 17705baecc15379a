import { expect } from 'chai';
import { transitionsOf } from './states.ts';

describe('a state machine', () => {
  const turn = transitionsOf<'shut' | 'open'>('a door', { shut: ['open'], open: [] });

  it('follows a listed transition', () => {
    const door = { state: 'shut' as 'shut' | 'open' };
    turn(door, 'open');
    expect(door.state).to.equal('open');
  });

  it('refuses any other transition and keeps its state', () => {
    const door = { state: 'open' as 'shut' | 'open' };
    expect(() => turn(door, 'shut')).to.throw('a door that is open cannot be shut next');
    expect(door.state).to.equal('open');
  });
});
