import { expect } from 'chai';
import fc from 'fast-check';
import { createTransientMap } from './transientMap.ts';

describe('a transient map', () => {
  const step = fc.record({
    kind: fc.constantFrom('set', 'delete'),
    key: fc.integer({ min: 0, max: 40 }),
    value: fc.integer(),
  });

  it('holds what a map holds, however often keys come and go', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 300, maxLength: 600 }), (steps) => {
        const transient = createTransientMap<number, number>();
        const plain = new Map<number, number>();
        for (const { kind, key, value } of steps) {
          if (kind === 'set') {
            transient.set(key, value);
            plain.set(key, value);
          } else {
            transient.delete(key);
            plain.delete(key);
          }
          expect(transient.has(key)).to.equal(plain.has(key));
        }
        for (let key = 0; key <= 40; key++) expect(transient.get(key)).to.equal(plain.get(key));
      }),
    );
  });
});
