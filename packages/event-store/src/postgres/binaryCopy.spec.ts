import { expect } from 'chai';
import { createSpareRooms } from './binaryCopy.ts';

describe('spare rooms', () => {
  it('are given once each, and again when they were given back', () => {
    const rooms = createSpareRooms({ most: 2 });
    const [first, second] = [rooms.take(100), rooms.take(200)];
    expect([first.length, second.length]).to.deep.equal([100, 200]);
    rooms.giveBack(first);
    rooms.giveBack(second);
    expect(new Set([rooms.take(), rooms.take()])).to.deep.equal(new Set([first, second]));
    expect(rooms.take(300)).to.have.length(300);
  });

  it('are kept as many, and as large, as was said', () => {
    const rooms = createSpareRooms({ most: 2, mostBytesEach: 100 });
    for (const bytes of [101, 100, 99, 98]) rooms.giveBack(Buffer.alloc(bytes));
    const taken = [rooms.take(1), rooms.take(1), rooms.take(1)].map(({ length }) => length);
    expect(taken.toSorted((one, other) => one - other)).to.deep.equal([1, 99, 100]);
  });
});
