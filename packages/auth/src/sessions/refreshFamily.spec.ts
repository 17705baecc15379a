import { expect } from 'chai';
import { PLACE } from '../testing/authRecords.ts';
import { START } from '../testing/sessionsWorld.ts';
import { assertRotated, expiryOf, type Session, tokenStateOf } from './refreshFamily.ts';

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
/** The same, with this many of the first times forgotten. */
const forgotten = (session: Session, count: number): Session => ({
  ...session,
  firstUses: session.firstUses.slice(count),
});

describe('a refresh with a genuine token', () => {
  it('that is the newest gives the next one', () => {
    expect(tokenStateOf(family(), 0, at(0))).to.equal('newest');
    expect(tokenStateOf(family(1, 2), 2, at(DAY_MS))).to.equal('newest');
  });

  it('whose successor nobody has used gives that successor again, however late', () => {
    expect(tokenStateOf(family(0), 0, at(6 * DAY_MS))).to.equal('repeatable');
    expect(tokenStateOf(forgotten(family(0, 5), 2), 1, at(6 * DAY_MS))).to.equal('repeatable');
  });

  it('whose successor was used gives it for 30 s more, and then ends the family', () => {
    const session = family(0, 10_000);
    for (const ms of [10_000, 40_000]) {
      expect(tokenStateOf(session, 0, at(ms)), `${ms}`).to.equal('repeatable');
    }
    expect(tokenStateOf(session, 0, at(40_001))).to.equal('spent');
  });

  it('of several rotations ago is judged by when its own successor was used', () => {
    const session = family(0, 10_000, 20_000, 30_000);
    expect(tokenStateOf(session, 0, at(40_001))).to.equal('spent');
    expect(tokenStateOf(session, 1, at(40_001))).to.equal('repeatable');
    expect(tokenStateOf(session, 2, at(60_000))).to.equal('repeatable');
    expect(tokenStateOf(session, 2, at(60_001))).to.equal('spent');
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
      expect(tokenStateOf(session, generation, at(ms)), `${generation}`).to.equal('repeatable');
      expect(tokenStateOf(session, generation, at(ms + 1)), `${generation}`).to.equal('spent');
      expect(expiryOf(session, generation + 1)).to.equal(
        Math.floor(
          at((generation < 1 ? 0 : generation < 701 ? 10_900 : 11_100) + 7 * DAY_MS).getTime() / 1000,
        ),
      );
    }
  });

  it('of which nothing is remembered any more ends the family', () => {
    expect(tokenStateOf(forgotten(family(0, 1, 2, 3), 2), 0, at(4))).to.equal('spent');
  });

  it('is refused without further effect by a family that has ended, or has not come so far', () => {
    for (const endedBecause of ['logout', 'reuse', 'user'] as const) {
      expect(tokenStateOf({ ...family(), endedBecause }, 0, at(0))).to.equal('void');
    }
    expect(tokenStateOf(family(), 1, at(0))).to.equal('void');
  });
});

describe('a family of refresh tokens', () => {
  it('goes from one generation to the next, and nowhere from its end', () => {
    assertRotated(family(1), 0);
    expect(() => assertRotated(family(1, 2), 0)).to.throw('was rotated past its next generation');
    expect(() => assertRotated({ ...family(1), endedBecause: 'logout' }, 0)).to.throw(
      'was rotated after its end',
    );
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
