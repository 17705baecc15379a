import { expect } from 'chai';
import { createCoalescingCache } from './coalescingCache.ts';

describe('a coalescing cache', () => {
  const setUp = (options: { maximumEntries?: number } = {}) => {
    const world = { nowMs: 0, asked: [] as string[], waiting: [] as ((value: string) => void)[] };
    const cache = createCoalescingCache<string>({
      load: (key) => {
        world.asked.push(key);
        return new Promise((resolve) => world.waiting.push(resolve));
      },
      lifetimeMs: 100,
      maximumEntries: options.maximumEntries ?? 10,
      nowMs: () => world.nowMs,
    });
    const answer = (value: string) => world.waiting.shift()?.(value);
    return { cache, world, answer };
  };

  it('counts the age of a value from the start of its lookup', async () => {
    const { cache, world, answer } = setUp();
    const first = cache.get('a');
    world.nowMs = 90;
    answer('one');
    expect(await first).to.equal('one');
    world.nowMs = 99;
    expect(cache.get('a')).to.equal('one');
    world.nowMs = 100;
    expect(cache.get('a')).to.be.instanceOf(Promise);
  });

  it('joins a lookup in flight unless it is older than the lifetime', async () => {
    const { cache, world, answer } = setUp();
    const first = cache.get('a');
    world.nowMs = 99;
    expect(cache.get('a')).to.equal(first);
    world.nowMs = 100;
    const second = cache.get('a');
    expect(second).not.to.equal(first);

    answer('old');
    answer('new');
    expect(await Promise.all([first, second])).to.deep.equal(['old', 'new']);
    expect(cache.get('a')).to.equal('new');
  });

  it('does not keep the value of a lookup that was in flight when the key was forgotten', async () => {
    const { cache, world, answer } = setUp();
    const before = cache.get('a');
    cache.forget('a');
    answer('before the change');
    expect(await before).to.equal('before the change');
    void cache.get('a');
    expect(world.asked).to.deep.equal(['a', 'a']);
  });

  it('evicts the oldest lookup first', async () => {
    const { cache, world, answer } = setUp({ maximumEntries: 2 });
    for (const key of ['a', 'b', 'c']) {
      const value = cache.get(key);
      answer(key);
      await value;
    }
    expect(cache.get('b')).to.equal('b');
    expect(cache.get('c')).to.equal('c');
    void cache.get('a');
    expect(world.asked).to.deep.equal(['a', 'b', 'c', 'a']);
  });
});
