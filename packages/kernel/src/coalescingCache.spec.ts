import { expect } from 'chai';
import { createCoalescingCache } from './coalescingCache.ts';

describe('a coalescing cache', () => {
  const setUp = (options: { maximumEntries?: number; renewAfterMs?: number } = {}) => {
    const world = {
      nowMs: 0,
      asked: [] as string[],
      waiting: [] as PromiseWithResolvers<string>[],
    };
    const cache = createCoalescingCache<string>({
      load: (key) => {
        world.asked.push(key);
        const asked = Promise.withResolvers<string>();
        world.waiting.push(asked);
        return asked.promise;
      },
      lifetimeMs: 100,
      maximumEntries: 10,
      ...options,
      nowMs: () => world.nowMs,
    });
    const answer = (value: string) => world.waiting.shift()?.resolve(value);
    const fail = (message: string) => world.waiting.shift()?.reject(new Error(message));
    return { cache, world, answer, fail };
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

  describe('that renews what is in use', () => {
    /** Knows `one` of `a` since 0, and is asked at 60, when a renewal is due. */
    const renewing = async () => {
      const set = setUp({ renewAfterMs: 60 });
      const first = set.cache.get('a');
      set.answer('one');
      await first;
      set.world.nowMs = 59;
      expect(set.cache.get('a')).to.equal('one');
      expect(set.world.asked).to.deep.equal(['a']);
      set.world.nowMs = 60;
      expect(set.cache.get('a')).to.equal('one');
      expect(set.world.asked).to.deep.equal(['a', 'a']);
      return set;
    };
    const settled = () => new Promise(setImmediate);

    it('returns what it knows while it asks, once, and then the answer', async () => {
      const { cache, world, answer } = await renewing();
      world.nowMs = 99;
      expect(cache.get('a')).to.equal('one');
      expect(world.asked).to.deep.equal(['a', 'a']);
      answer('two');
      await settled();
      expect(cache.get('a')).to.equal('two');
      world.nowMs = 119;
      expect(cache.get('a')).to.equal('two');
      expect(world.asked).to.deep.equal(['a', 'a']);
    });

    it('counts the age of the answer from the question', async () => {
      const { cache, world, answer } = await renewing();
      world.nowMs = 90;
      answer('two');
      await settled();
      world.nowMs = 160;
      expect(cache.get('a')).to.be.instanceOf(Promise);
    });

    it('waits for the answer when what it knows has become too old', async () => {
      const { cache, world, answer } = await renewing();
      world.nowMs = 100;
      const second = cache.get('a');
      expect(second).to.be.instanceOf(Promise);
      answer('two');
      expect(await second).to.equal('two');
      expect(world.asked).to.deep.equal(['a', 'a']);
    });

    it('keeps what it knows for its lifetime if the renewal fails, and then says why', async () => {
      const { cache, world, fail } = await renewing();
      fail('away');
      await settled();
      world.nowMs = 99;
      expect(cache.get('a')).to.equal('one');
      expect(world.asked).to.deep.equal(['a', 'a']);
      world.nowMs = 100;
      const late = cache.get('a');
      fail('still away');
      expect(await Promise.resolve(late).catch(String)).to.equal('Error: still away');
    });

    it('forgets what it knows and what it has asked', async () => {
      const { cache, world, answer } = await renewing();
      cache.forget('a');
      answer('before the change');
      await settled();
      const next = cache.get('a');
      expect(next).to.be.instanceOf(Promise);
      expect(world.asked).to.deep.equal(['a', 'a', 'a']);
    });
  });
});
