import { expect } from 'chai';
import fc from 'fast-check';
import { comparePositions, distance } from './decimalPosition.ts';
import type { Position } from './port.ts';

const positions = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const at = (position: bigint) => `${position}` as Position;

describe('a decimal position', () => {
  it('is compared as the number that it is', () =>
    fc.assert(
      fc.property(positions, positions, fc.boolean(), (left, other, isSame) => {
        const right = isSame ? left : other;
        const sign = left < right ? -1 : left > right ? 1 : 0;
        expect(Math.sign(comparePositions(at(left), at(right)))).to.equal(sign);
      }),
    ));

  it('is as far from another as the numbers are', () =>
    fc.assert(
      fc.property(positions, positions, (from, to) => {
        expect(distance(at(from), at(to))).to.equal(Number(to - from));
        expect(distance(undefined, at(to))).to.equal(Number(to));
      }),
    ));
});
