import { expect } from 'chai';
import fc from 'fast-check';
import { NOTHING_RECEIVED, orderOf, type ReceivedEvents } from './eventOrder.ts';

type Row = readonly [sequence: number, previousSequence: number | null, order: string, upTo: number | null];

const told = (rows: readonly Row[]) => {
  let received: ReceivedEvents = NOTHING_RECEIVED;
  return rows.map(([sequence, previousSequence]): Row => {
    const { order, ...next } = orderOf({ sequence, previousSequence }, received);
    received = JSON.parse(JSON.stringify(next.received));
    return [sequence, previousSequence, order, received.upTo];
  });
};

describe('the order of events', () => {
  const histories: Readonly<Record<string, readonly Row[]>> = {
    'says in order of one after the other': [
      [3, null, 'in_order', 3],
      [4, 3, 'in_order', 4],
      // Filtered: 5 and 6 were for others.
      [7, 4, 'in_order', 7],
    ],
    'says duplicate of what has come, also after a gap': [
      [1, null, 'in_order', 1],
      [1, null, 'duplicate', 1],
      [5, 3, 'gap', 1],
      [5, 3, 'duplicate', 1],
    ],
    'says gap until what is missing has come': [
      [1, null, 'in_order', 1],
      [4, 3, 'gap', 1],
      [5, 4, 'gap', 1],
      [3, 2, 'gap', 1],
      [2, 1, 'in_order', 5],
      [6, 5, 'in_order', 6],
    ],
    'says gap of a first event that is not the first': [
      [9, 8, 'gap', null],
      [8, null, 'in_order', 9],
    ],
    'goes on with a subscription that was made anew, or reads less': [
      [6, null, 'in_order', 6],
      [9, null, 'in_order', 9],
      [12, 5, 'in_order', 12],
    ],
    'says earlier of what is sent again from before it began, once': [
      [11, null, 'in_order', 11],
      [12, 11, 'in_order', 12],
      [4, null, 'earlier', 12],
      [3, null, 'earlier', 12],
      [4, null, 'duplicate', 12],
      [3, null, 'duplicate', 12],
      [11, null, 'duplicate', 12],
      [10, null, 'earlier', 12],
      [13, 12, 'in_order', 13],
    ],
    'says so also of what happened between two subscriptions': [
      [5, null, 'in_order', 5],
      [6, 5, 'in_order', 6],
      [9, null, 'in_order', 9],
      [6, 5, 'duplicate', 9],
      [7, null, 'earlier', 9],
      [2, null, 'earlier', 9],
      [7, null, 'duplicate', 9],
    ],
    'goes on with what is sent again before anything else has come': [
      [3, null, 'in_order', 3],
      [4, null, 'in_order', 4],
      [11, null, 'in_order', 11],
      [5, null, 'earlier', 11],
      [4, null, 'duplicate', 11],
    ],
    'leaves test events out': [
      [0, null, 'test', null],
      [1, null, 'in_order', 1],
      [0, null, 'test', 1],
    ],
  };
  for (const [what, rows] of Object.entries(histories)) {
    it(what, () => expect(told(rows)).to.deep.equal(rows));
  }

  it('goes on from a number that the receiver has kept', () => {
    const kept = { ...NOTHING_RECEIVED, upTo: 7 };
    expect(orderOf({ sequence: 8, previousSequence: 7 }, kept).order).to.equal('in_order');
    expect(orderOf({ sequence: 3, previousSequence: 2 }, kept).order).to.equal('duplicate');
  });

  it('goes on after what can no longer be had, with what has come of it', () => {
    let { received } = orderOf({ sequence: 4, previousSequence: 3 }, { ...NOTHING_RECEIVED, upTo: 2 });
    received = { ...received, upTo: 6 };
    const next = orderOf({ sequence: 7, previousSequence: 6 }, received);
    expect(next).to.deep.equal({ order: 'in_order', received: { ...NOTHING_RECEIVED, upTo: 7 } });
  });

  it('keeps what touches as one', () => {
    let received = orderOf({ sequence: 9, previousSequence: null }).received;
    for (const sequence of [2, 4, 6, 3, 5])
      ({ received } = orderOf({ sequence, previousSequence: null }, received));
    expect(received.earlier).to.deep.equal([{ after: 1, upTo: 6 }]);
  });

  it('however events come, each is new once, and in the end there is no gap', () => {
    const sequences = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 30 });
    const deliveries = fc.tuple(sequences, fc.nat(1_000)).chain(([some, began]) => {
      const inOrder = some.toSorted((one, other) => one - other);
      // Those from before the subscription, which are sent on request, and its first follow none.
      const events = inOrder.map((sequence, index) => {
        const before = inOrder[index - 1] ?? 0;
        return { sequence, previousSequence: before > began ? before : null };
      });
      return fc.tuple(
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.array(fc.constantFrom(...events)),
      );
    });
    fc.assert(
      fc.property(deliveries, ([once, again]) => {
        let received = NOTHING_RECEIVED;
        const news = new Set<number>();
        for (const event of [...once, ...again]) {
          const seen = orderOf(event, received);
          expect(seen.order === 'duplicate').to.equal(news.has(event.sequence));
          news.add(event.sequence);
          received = seen.received;
        }
        expect(received.upTo).to.equal(Math.max(...once.map(({ sequence }) => sequence)));
        expect(received.ahead).to.deep.equal([]);
      }),
    );
  });
});
