import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createGate, untilAborted } from './waiting.ts';

describe('a gate', () => {
  const world = (width: number) => {
    const gate = createGate(width);
    const inside: string[] = [];
    const finish = new Map<string, () => void>();
    const enter = (name: string, signal = new AbortController().signal) =>
      gate.through(signal, async () => {
        inside.push(name);
        await new Promise<void>((resolve) => finish.set(name, resolve));
        inside.splice(inside.indexOf(name), 1);
      });
    const leave = async (name: string) => {
      finish.get(name)?.();
      await nextTurn();
    };
    return { enter, inside, leave };
  };

  it('admits a limited number at a time, in order of arrival', async () => {
    const { enter, inside, leave } = world(2);
    const all = ['a', 'b', 'c', 'd'].map((name) => enter(name));
    await nextTurn();
    expect(inside).to.deep.equal(['a', 'b']);
    await leave('a');
    expect(inside).to.deep.equal(['b', 'c']);
    await leave('b');
    await leave('c');
    await leave('d');
    await Promise.all(all);
    expect(inside).to.deep.equal([]);
  });

  it('forgets a waiter that is aborted', async () => {
    const { enter, inside, leave } = world(1);
    const stopping = new AbortController();
    const first = enter('a');
    const stopped = enter('b', stopping.signal).catch(() => 'stopped');
    const last = enter('c');
    stopping.abort();
    expect(await stopped).to.equal('stopped');
    await leave('a');
    expect(inside).to.deep.equal(['c']);
    await leave('c');
    await Promise.all([first, last]);
  });

  it('loses no place when a waiter is aborted at the moment of its turn', async () => {
    const { enter, inside, leave } = world(1);
    const stopping = new AbortController();
    const first = enter('a');
    const stopped = enter('b', stopping.signal).catch(() => 'stopped');
    const last = enter('c');
    await nextTurn();
    const left = leave('a');
    stopping.abort();
    await left;
    if (inside[0] === 'b') await leave('b');
    await stopped;
    await nextTurn();
    expect(inside).to.deep.equal(['c']);
    await leave('c');
    await Promise.all([first, last]);
  });
});

describe('waiting', () => {
  it('fails with the reason of the abort, even an earlier one', async () => {
    const reason = new Error('stop');
    const never = new Promise<void>(() => {});
    const ended = await untilAborted(AbortSignal.abort(reason), never).catch((error: unknown) => error);
    expect(ended).to.equal(reason);
  });

  it('has the result of the promise', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(signal, Promise.resolve(1))).to.equal(1);
  });
});
