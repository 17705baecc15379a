import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { createOverruns, type Timed } from './overruns.ts';

describe('calls whose time is up', () => {
  let told: string[];
  let overruns: ReturnType<typeof createOverruns<Timed & { name: string }>>;
  beforeEach(() => {
    told = [];
    overruns = createOverruns(({ name }) => told.push(name));
  });
  const watched = (name: string, dueMs = performance.now()) => {
    const call = { name, dueMs, place: 0 };
    overruns.watch(call);
    return call;
  };
  const toldOf = (name: string) => eventually(`${name} is told`, () => told.includes(name) || undefined);

  it('are told once', async () => {
    watched('first');
    await toldOf('first');
    watched('second');
    await toldOf('second');
    expect(told).to.deep.equal(['first', 'second']);
  });

  it('are not told before, and can be given more of it', async () => {
    const early = performance.now() + 3_600_000;
    watched('later', early);
    watched('extended').dueMs = early;
    watched('due');
    await toldOf('due');
    expect(told).to.deep.equal(['due']);
  });

  it('are not told once they have left, in whatever order', async () => {
    const [one, two, three, four, five] = ['one', 'two', 'three', 'four', 'five'].map((name) =>
      watched(name),
    );
    for (const left of [five, two, four, one]) overruns.leave(left ?? expect.fail());
    await toldOf('three');
    overruns.leave(three ?? expect.fail());
    watched('last');
    await toldOf('last');
    expect(told).to.deep.equal(['three', 'last']);
  });
});
