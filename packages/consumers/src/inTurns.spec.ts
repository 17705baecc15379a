import { expect } from 'chai';
import { inTurns } from './inTurns.ts';

describe('work in turns', () => {
  it('is on all items, in their order, and others get a turn between two parts', async () => {
    const items = Array.from({ length: 25 }, (_, index) => index);
    const seen: number[] = [];
    let [turns, isOver] = [0, false];
    const other = () => {
      turns += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    const sizes: number[] = [];
    for await (const part of inTurns(items, 10)) {
      sizes.push(part.length);
      seen.push(...part);
    }
    isOver = true;
    expect(seen).to.deep.equal(items);
    expect(sizes).to.deep.equal([10, 10, 5]);
    expect(turns).to.be.at.least(2);
  });

  it('on nothing has no part', async () => {
    for await (const part of inTurns([])) expect.fail(String(part));
  });
});
