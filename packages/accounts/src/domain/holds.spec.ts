import { expect } from 'chai';
import fc from 'fast-check';
import { stakeHoldId } from './accountIds.ts';
import {
  bytesOfHolds,
  decodeHolds,
  encodeHolds,
  type Hold,
  type Holds,
  holdUnder,
  noHolds,
  withClosed,
  withHold,
} from './holds.ts';

const idOf = (number: number) => stakeHoldId('pool', `bet-${number}`);
const MOST = 2n ** 64n - 1n;

describe('holds of an account', () => {
  it('are found by their id, with their payout once they are closed', () => {
    const one = withHold(noHolds, idOf(1), { amount: MOST, heldAtRevision: 7 });
    expect(holdUnder(one, idOf(1))).to.deep.equal({ amount: MOST, heldAtRevision: 7, payout: undefined });
    expect(holdUnder(withClosed(one, idOf(1), 0n), idOf(1))?.payout).to.equal(0n);
    expect(holdUnder(one, idOf(2))).to.equal(undefined);
    expect(holdUnder(noHolds, idOf(1))).to.equal(undefined);
  });

  it('are paid out more than 64 bits can say', () => {
    const closed = withClosed(
      withHold(noHolds, idOf(1), { amount: 1n, heldAtRevision: 0 }),
      idOf(1),
      MOST * 40n,
    );
    expect(holdUnder(closed, idOf(1))?.payout).to.equal(MOST * 40n);
    expect(holdUnder(decodeHolds(encodeHolds(closed)), idOf(1))?.payout).to.equal(MOST * 40n);
  });

  it('are opened once and closed once', () => {
    const one = withHold(noHolds, idOf(1), { amount: 1n, heldAtRevision: 0 });
    const closed = withClosed(one, idOf(1), 1n);
    expect(() => withHold(one, idOf(1), { amount: 1n, heldAtRevision: 1 })).to.throw('opened once');
    expect(() => withHold(closed, idOf(1), { amount: 1n, heldAtRevision: 2 })).to.throw('opened once');
    expect(() => withClosed(closed, idOf(1), 1n)).to.throw('closed once');
    expect(() => withClosed(one, idOf(2), 1n)).to.throw('closed once');
  });

  it('take some 50 bytes each', () => {
    let holds = noHolds;
    for (let number = 0; number < 2_000; number++) {
      holds = withHold(holds, idOf(number), { amount: 1n, heldAtRevision: number });
    }
    expect(bytesOfHolds(holds) / 2_000).to.be.below(56);
    expect(bytesOfHolds(noHolds)).to.equal(0);
  });

  it('are refused if their bytes do not fit together', () => {
    const encoded = encodeHolds(withHold(noHolds, idOf(1), { amount: 1n, heldAtRevision: 0 }));
    expect(() => decodeHolds({ ...encoded, bytes: encoded.bytes.subarray(1) })).to.throw('complete');
  });

  it('of a version never change, whatever is done to others, and survive a snapshot', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            from: fc.nat(),
            closes: fc.boolean(),
            hold: fc.nat(),
            payout: fc.bigInt(0n, MOST * 3n),
          }),
          { maxLength: 60 },
        ),
        (steps) => {
          const versions: { holds: Holds; known: readonly Hold[] }[] = [{ holds: noHolds, known: [] }];
          for (const { from, closes, hold, payout } of steps) {
            // Mostly the newest version, sometimes any.
            const base = versions[from % 3 === 0 ? from % versions.length : versions.length - 1];
            if (!base) continue;
            const { holds, known } = base;
            const place = known.length === 0 ? -1 : hold % known.length;
            if (!closes) {
              const opened = { amount: payout % MOST, heldAtRevision: from % 1_000 };
              versions.push({
                holds: withHold(holds, idOf(known.length), opened),
                known: [...known, { ...opened, payout: undefined }],
              });
            } else if (place >= 0 && known[place]?.payout === undefined) {
              versions.push({
                holds: withClosed(holds, idOf(place), payout),
                known: known.map((one, at) => (at === place ? { ...one, payout } : one)),
              });
            }
          }
          for (const { holds, known } of versions) {
            const decoded = decodeHolds(structuredClone(encodeHolds(holds)));
            for (const version of [holds, decoded]) {
              expect(known.map((_, place) => holdUnder(version, idOf(place)))).to.deep.equal(known);
              expect(holdUnder(version, idOf(known.length))).to.equal(undefined);
            }
          }
        },
      ),
    ));
});
