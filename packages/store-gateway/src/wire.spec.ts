import { randomUUID } from 'node:crypto';
import type { Position } from '@coffer/event-store';
import { expect } from 'chai';
import { countOf, idOf, positionNumber, wireId, wirePosition } from './wire.ts';

describe('on the wire', () => {
  it('an id is the same as text and as two halves', () => {
    const ids = [
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      '80000000-0000-0000-7fff-ffffffffffff',
      randomUUID(),
    ];
    for (const form of ['text', 'structured'] as const) {
      expect(ids.map((id) => idOf(wireId(id, form)))).to.deep.equal(ids);
    }
  });

  it('what is beyond every log and every stream is clamped to what a store can be asked for', () => {
    expect(countOf('12')).to.equal(12);
    expect(countOf('18446744073709551615')).to.equal(Number.MAX_SAFE_INTEGER);
    expect(positionNumber('12')).to.equal(12n);
    expect(positionNumber('18446744073709551615') < 2n ** 63n - 1n).to.equal(true);
  });

  it('a position is a whole number, and a store with others is not served', () => {
    expect(wirePosition('17' as Position)).to.equal('17');
    for (const position of ['', '-1', '1.5', 'C:1/P:1']) {
      expect(() => wirePosition(position as Position)).to.throw(/not a whole number/);
    }
  });
});
