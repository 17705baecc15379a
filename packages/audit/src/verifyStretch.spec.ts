import { expect } from 'chai';
import fc from 'fast-check';
import type { Block, ChainHead } from './blocks.ts';
import { headAfter } from './blocks.ts';
import {
  asStored,
  brief,
  chained,
  chainOf,
  changed,
  logOf,
  reportOf,
  rules,
  storeOf,
  without,
} from './testing/tamperedLog.ts';
import { verifyLog, verifyStretch } from './verifyLog.ts';

const { signal } = new AbortController();

/** All stretches, each of this many blocks. */
async function stretches(events: ReturnType<typeof logOf>, blocks: readonly Block[], blocksEach: number) {
  const [store, chain] = [storeOf(events), chainOf(blocks.map(asStored))];
  const end = await chain.head();
  const found: string[] = [];
  let after: ChainHead | undefined;
  for (let last = blocksEach - 1; end && after?.ordinal !== end.ordinal; last += blocksEach) {
    const block = blocks[last];
    const upTo = block ? headAfter(block) : end;
    const report = await reportOf(
      verifyStretch({ store, chain, rules, signal }, { after, upTo, foldedUpTo: end.place.position }),
    );
    found.push(...brief(report));
    after = upTo;
  }
  return found;
}

describe('a log that is verified stretch by stretch', () => {
  const jars = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 40 });

  it('is found right when it is, wherever it is cut', () =>
    fc.assert(
      fc.asyncProperty(jars, fc.integer({ min: 1, max: 5 }), async (played, blocksEach) => {
        const events = logOf(played);
        expect(await stretches(events, chained(events), blocksEach)).to.deep.equal([]);
      }),
    ));

  it('is found wrong where it is found wrong as a whole: an event altered, or removed', () =>
    fc.assert(
      fc.asyncProperty(
        jars,
        fc.nat(),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        async (played, at, isAltered, each) => {
          const events = logOf(played);
          const ordinal = (at % events.length) + 1;
          const tampered = isAltered
            ? changed(events, ordinal, (event) => ({ ...event, data: '{"amount":"2","balance":"9"}' }))
            : without(events, ordinal);
          const blocks = chained(events);
          const whole = await reportOf(
            verifyLog({ store: storeOf(tampered), chain: chainOf(blocks), rules, signal }),
          );
          const found = await stretches(tampered, blocks, each);
          expect(found)
            .to.include(brief(whole)[0])
            .and.include(`${isAltered ? 'altered' : 'missing'} ${ordinal}`);
        },
      ),
    ));

  it('is found wrong although an event further on does not follow from one before the cut', async () => {
    const events = logOf(Array.from({ length: 12 }, () => 1));
    const made = changed(events, 11, (event) => ({ ...event, data: '{"amount":"7","balance":"99"}' }));
    // The chain was rebuilt over it: only the rules of the stream detect the change.
    expect(await stretches(made, chained(made), 1)).to.deep.equal(['unfoldable 1']);
  });
});
