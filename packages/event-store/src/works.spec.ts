import { expect } from 'chai';
import { advance, putBack, takeWorks, type Work, type WorkState } from './works.ts';

const workIn = (state: WorkState, commands = 1): Work => ({
  decides: Array.from({ length: commands }, () => () => ({ events: [], answer: undefined })),
  context: undefined,
  deadlineMs: 0,
  resolve: () => undefined,
  reject: () => undefined,
  state,
});

describe('a work of the command handler', () => {
  const STATES: readonly WorkState[] = ['queued', 'deciding', 'appending', 'answered'];
  const legal = [
    'queued -> deciding',
    'deciding -> queued',
    'deciding -> appending',
    'deciding -> answered',
    'appending -> deciding',
    'appending -> answered',
  ];

  for (const from of STATES) {
    for (const to of STATES) {
      const move = `${from} -> ${to}`;
      const isLegal = legal.includes(move);
      it(`${isLegal ? 'goes' : 'never goes'} ${move}`, () => {
        const work = workIn(from);
        if (isLegal) advance(work, to);
        else expect(() => advance(work, to)).to.throw(`a work that is ${from} cannot be ${to} next`);
        expect(work.state).to.equal(isLegal ? to : from);
      });
    }
  }

  it('is taken in order, and put back before those that arrived meanwhile', () => {
    const [first, second, third] = [workIn('queued'), workIn('queued'), workIn('queued')];
    const queue = [first, second];
    expect(takeWorks(queue)).to.deep.equal([first, second]);
    queue.push(third);
    putBack(queue, [second]);
    expect(queue).to.deep.equal([second, third]);
    expect([first, second, third].map(({ state }) => state)).to.deep.equal(['deciding', 'queued', 'queued']);
  });

  it('waits when the works before it fill an append, and is never split', () => {
    const queue = [workIn('queued', 1_000), workIn('queued', 100), workIn('queued', 28), workIn('queued')];
    expect(takeWorks(queue).map(({ decides }) => decides.length)).to.deep.equal([1_000]);
    expect(takeWorks(queue).map(({ decides }) => decides.length)).to.deep.equal([100, 28]);
    expect(takeWorks(queue).map(({ decides }) => decides.length)).to.deep.equal([1]);
  });
});
