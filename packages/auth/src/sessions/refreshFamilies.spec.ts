import { expect } from 'chai';
import { decideRefresh, expiryOf, type Session } from './refreshFamilies.ts';
import { PLACE, START } from './testing.ts';

const at = (ms: number) => new Date(START.getTime() + ms);
const DAY_MS = 86_400_000;

/** A family whose generations 0, 1, … were first used at these times. */
const family = (...usedAtMs: readonly number[]): Session => ({
  sessionId: 'sid_1',
  place: PLACE,
  userId: 'usr_1',
  authMethod: 'siws',
  signedInAt: START,
  generation: usedAtMs.length,
  firstUses: usedAtMs.map((ms) => ({ at: at(ms), count: 1 })),
  endedBecause: undefined,
});
/** The same, of which the first so many times are forgotten. */
const forgotten = (session: Session, count: number): Session => ({
  ...session,
  firstUses: session.firstUses.slice(count),
});

describe('a refresh with a genuine token', () => {
  it('that is the newest gives the next one', () => {
    expect(decideRefresh(family(), 0, at(0))).to.deep.equal({ kind: 'rotate' });
    expect(decideRefresh(family(1, 2), 2, at(DAY_MS))).to.deep.equal({ kind: 'rotate' });
  });

  it('whose successor nobody has used gives that successor again, however late', () => {
    expect(decideRefresh(family(0), 0, at(6 * DAY_MS))).to.deep.equal({ kind: 'again', generation: 1 });
    expect(decideRefresh(forgotten(family(0, 5), 2), 1, at(6 * DAY_MS))).to.deep.equal({
      kind: 'again',
      generation: 2,
    });
  });

  it('whose successor was used gives it for 30 s more, and then ends the family', () => {
    const session = family(0, 10_000);
    for (const ms of [10_000, 40_000]) {
      expect(decideRefresh(session, 0, at(ms)), `${ms}`).to.deep.equal({ kind: 'again', generation: 1 });
    }
    expect(decideRefresh(session, 0, at(40_001))).to.deep.equal({ kind: 'reuse' });
  });

  it('of several rotations ago is judged by when its own successor was used', () => {
    const session = family(0, 10_000, 20_000, 30_000);
    expect(decideRefresh(session, 0, at(40_001))).to.deep.equal({ kind: 'reuse' });
    expect(decideRefresh(session, 1, at(40_001))).to.deep.equal({ kind: 'again', generation: 2 });
    expect(decideRefresh(session, 2, at(60_000))).to.deep.equal({ kind: 'again', generation: 3 });
    expect(decideRefresh(session, 2, at(60_001))).to.deep.equal({ kind: 'reuse' });
  });

  it('of many rotations in one second is judged by the last use in it', () => {
    const session: Session = {
      ...family(),
      generation: 901,
      firstUses: [
        { at: at(0), count: 1 },
        { at: at(10_900), count: 700 },
        { at: at(11_100), count: 200 },
      ],
    };
    for (const [generation, ms] of [
      [0, 40_900],
      [699, 40_900],
      [700, 41_100],
      [899, 41_100],
    ] as const) {
      const again = { kind: 'again', generation: generation + 1 };
      expect(decideRefresh(session, generation, at(ms)), `${generation}`).to.deep.equal(again);
      expect(decideRefresh(session, generation, at(ms + 1)), `${generation}`).to.deep.equal({
        kind: 'reuse',
      });
      expect(expiryOf(session, generation + 1)).to.equal(
        Math.floor(
          at((generation < 1 ? 0 : generation < 701 ? 10_900 : 11_100) + 7 * DAY_MS).getTime() / 1000,
        ),
      );
    }
  });

  it('of which nothing is remembered any more ends the family', () => {
    expect(decideRefresh(forgotten(family(0, 1, 2, 3), 2), 0, at(4))).to.deep.equal({ kind: 'reuse' });
  });

  it('is refused without further effect by a family that has ended, or has not come so far', () => {
    for (const endedBecause of ['logout', 'reuse', 'user'] as const) {
      expect(decideRefresh({ ...family(), endedBecause }, 0, at(0))).to.deep.equal({ kind: 'refuse' });
    }
    expect(decideRefresh(family(), 1, at(0))).to.deep.equal({ kind: 'refuse' });
  });
});

describe('a refresh token ends', () => {
  const secondsAt = (ms: number) => Math.floor(at(ms).getTime() / 1000);

  it('7 days after it came to be: with the sign-in, or with the first use of the one before', () => {
    expect(expiryOf(family(), 0)).to.equal(secondsAt(7 * DAY_MS));
    expect(expiryOf(family(1 * DAY_MS, 3 * DAY_MS), 1)).to.equal(secondsAt(8 * DAY_MS));
    expect(expiryOf(family(1 * DAY_MS, 3 * DAY_MS), 2)).to.equal(secondsAt(10 * DAY_MS));
  });

  it('with its family, 30 days after the sign-in', () => {
    expect(expiryOf(family(22 * DAY_MS), 1)).to.equal(secondsAt(29 * DAY_MS));
    expect(expiryOf(family(24 * DAY_MS), 1)).to.equal(secondsAt(30 * DAY_MS));
  });
});
