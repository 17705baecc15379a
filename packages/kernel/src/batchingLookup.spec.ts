import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { createBatchingLookup } from './batchingLookup.ts';

describe('a batching lookup', () => {
  const setUp = (maximumKeys: number | (() => number) = 10) => {
    const questions: { readonly keys: readonly string[]; readonly answer: PromiseWithResolvers<string[]> }[] =
      [];
    const asked = { changed: Promise.withResolvers<void>() };
    const find = createBatchingLookup<string, string>({
      findAll: (keys) => {
        const answer = Promise.withResolvers<string[]>();
        questions.push({ keys, answer });
        asked.changed.resolve();
        asked.changed = Promise.withResolvers();
        return answer.promise;
      },
      maximumKeys,
    });
    const question = async (index: number) => {
      while (questions.length <= index) await asked.changed.promise;
      const found = questions[index];
      if (!found) throw new Error('No such query.');
      return found;
    };
    const upper = ({ keys, answer }: Awaited<ReturnType<typeof question>>) =>
      answer.resolve(keys.map((key) => key.toUpperCase()));
    return { find, question, questions, upper };
  };

  it('sends one query for simultaneous callers, and gives each its own answer', async () => {
    const { find, question, questions, upper } = setUp();
    const found = Promise.all(['a', 'b', 'a'].map(find));
    const first = await question(0);
    expect(first.keys).to.deep.equal(['a', 'b', 'a']);
    upper(first);
    expect(await found).to.deep.equal(['A', 'B', 'A']);
    expect(questions).to.have.length(1);
  });

  it('has one query in flight, and never answers a caller from an earlier one', async () => {
    const { find, question, questions, upper } = setUp();
    const early = find('a');
    const first = await question(0);
    const late = ['a', 'b'].map(find);
    // A query of its own would have been sent by now.
    await setImmediate();
    expect(questions).to.have.length(1);
    first.answer.resolve(['before']);
    expect(await early).to.equal('before');
    const second = await question(1);
    expect(second.keys).to.deep.equal(['a', 'b']);
    upper(second);
    expect(await Promise.all(late)).to.deep.equal(['A', 'B']);
    expect(questions).to.have.length(2);
  });

  it('limits the keys of a query and leaves the rest to the next', async () => {
    const { find, question, upper } = setUp(2);
    const found = Promise.all(['a', 'b', 'c'].map(find));
    for (const [index, keys] of [['a', 'b'], ['c']].entries()) {
      const asked = await question(index);
      expect(asked.keys).to.deep.equal(keys);
      upper(asked);
    }
    expect(await found).to.deep.equal(['A', 'B', 'C']);
  });

  it('asks before each query how many keys it may have', async () => {
    const limits = [1, 2];
    const { find, question, upper } = setUp(() => limits.shift() ?? 10);
    const found = Promise.all(['a', 'b', 'c', 'd'].map(find));
    for (const [index, keys] of [['a'], ['b', 'c'], ['d']].entries()) {
      const asked = await question(index);
      expect(asked.keys).to.deep.equal(keys);
      upper(asked);
    }
    expect(await found).to.deep.equal(['A', 'B', 'C', 'D']);
  });

  it('fails the callers of a failed query only', async () => {
    const { find, question, upper } = setUp();
    const refused = Promise.allSettled(['a', 'b'].map(find));
    (await question(0)).answer.reject(new Error('away'));
    expect((await refused).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    const found = find('c');
    upper(await question(1));
    expect(await found).to.equal('C');
  });

  it('refuses an answer with the wrong number of values', async () => {
    const { find, question } = setUp();
    const refused = Promise.allSettled(['a', 'b'].map(find));
    (await question(0)).answer.resolve(['A']);
    expect((await refused).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
  });
});
