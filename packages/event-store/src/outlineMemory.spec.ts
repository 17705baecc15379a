/** Outlines in blocks: what goes in comes out, and what is released is used again. */
import type { Outline } from '@coffer/kernel';
import { expect } from 'chai';
import fc from 'fast-check';
import { bytesInBlocks, createOutlineMemory, type FirstBlock } from './outlineMemory.ts';

/** Lone surrogates too. */
const marks = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
  .map((units) => String.fromCharCode(...units));
const outline: fc.Arbitrary<Outline> = fc.record({
  facts: fc.string({ unit: 'grapheme', maxLength: 300 }),
  marks,
});

describe('memory for outlines', () => {
  it('gives back what was written, whatever was written and released meanwhile', () => {
    const step = fc.oneof(
      fc.record({ write: outline }),
      fc.record({ release: fc.nat() }),
      fc.record({ clear: fc.constant(true) }),
    );
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 20, arbitrary: step }, step), { maxLength: 60 }), (steps) => {
        const memory = createOutlineMemory();
        const kept: { readonly first: FirstBlock; readonly outline: Outline }[] = [];
        for (const one of steps) {
          if ('write' in one) kept.push({ first: memory.write(one.write), outline: one.write });
          else if ('clear' in one) {
            memory.clear();
            kept.length = 0;
          } else {
            const [released] = kept.splice(one.release % (kept.length || 1), 1);
            if (released) memory.release(released.first);
          }
          for (const { first, outline: written } of kept) expect(memory.read(first)).to.deep.equal(written);
        }
      }),
    );
  });

  it('grows no further than what is in it at a time', () => {
    const memory = createOutlineMemory();
    const large = { facts: 'x'.repeat(100_000), marks: '\ud800'.repeat(100_000) };
    const blocks = bytesInBlocks(large) / 132;
    expect(blocks).to.equal(Math.ceil(300_008 / 128));
    const places = new Set<FirstBlock>();
    for (let round = 0; round < 300; round++) {
      const first = memory.write(large);
      expect(memory.read(first)).to.deep.equal(large);
      places.add(first);
      const second = memory.write({ facts: 'small', marks: '' });
      for (const one of [first, second]) memory.release(one);
    }
    // One block that is lost in each round would take another slab.
    expect(Math.max(...places)).to.be.below(5 * 512);
  });

  it('goes on in further slabs', () => {
    const memory = createOutlineMemory();
    const all = Array.from({ length: 20_000 }, (_, number) => ({ facts: `${number}`, marks: `m${number}` }));
    const firsts = all.map((one) => memory.write(one));
    expect(firsts.map((first) => memory.read(first))).to.deep.equal(all);
    expect(new Set(firsts).size).to.equal(20_000);
  });
});
