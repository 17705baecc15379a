import { WholeStateNeeded } from '@coffer/kernel';
import { expect } from 'chai';
import {
  betPlaced,
  opened,
  remembered,
  rolledBack,
  rolledBackLate,
  settledOf100,
  winCredited,
} from '../testing/playSessionBuilders.ts';
import { decodePlaySession, encodePlaySession, outlineOf, sessionIn } from './playSession.snapshot.ts';
import type { KnownSession, PlaySession } from './playSession.state.ts';
import { playSession } from './playSession.ts';
import { encodeWrites } from './sessionWrites.ts';

const history = [
  opened(100n),
  betPlaced('b', 40n, 60n, 'round-1'),
  betPlaced('c', 10n, 50n),
  betPlaced('d', 10n, 40n),
  winCredited('w', 'b', 2n ** 70n, 40n + 2n ** 70n, 'round-1'),
  rolledBack('r', 'c', 10n, 50n + 2n ** 70n),
  remembered('m', 'x', 50n + 2n ** 70n),
  settledOf100({ totalBet: 50n, totalWin: 2n ** 70n, payout: 50n + 2n ** 70n, net: 2n ** 70n - 50n }, 's'),
  rolledBackLate('l', 'd', 10n, 50n + 2n ** 70n),
];

const plain = (session: PlaySession) =>
  session.status === 'unknown'
    ? session
    : {
        ...session,
        writes: encodeWrites(session.writes),
      };

const sessionAfter = (length: number): PlaySession =>
  history.slice(0, length).reduce(playSession.evolve, playSession.initialState);

describe('play session: outline', () => {
  const back = (session: PlaySession): PlaySession =>
    sessionIn(outlineOf(session) ?? expect.fail('There is an outline.'));

  it('has all but the writes, of which it knows how many there are', () => {
    const session = sessionAfter(4);
    const { writes, ...rest } = session as KnownSession;
    expect(back(session)).to.deep.include(rest);
    expect((back(session) as KnownSession).writes.size).to.equal(writes.size);
    expect(playSession.outlines?.isWhole(session)).to.equal(true);
    expect(playSession.outlines?.isWhole(back(session))).to.equal(false);
  });

  it('has the last four writes in full where bets are won, so that another win can be credited', () => {
    const win = (betTransactionUuid: string) => ({
      type: 'CreditWin' as const,
      transactionUuid: 'new',
      betTransactionUuid,
      amount: 1n,
    });
    const session = [
      opened(100n),
      betPlaced('b', 10n, 90n),
      betPlaced('c', 10n, 80n),
      betPlaced('d', 10n, 70n),
      winCredited('w', 'd', 5n, 75n),
      betPlaced('e', 10n, 65n),
    ].reduce(playSession.evolve, playSession.initialState);
    expect(playSession.decide(back(session), win('c')).events).to.deep.equal(
      playSession.decide(session, win('c')).events,
    );
    expect(() => playSession.decide(back(session), win('b'))).to.throw(WholeStateNeeded);
  });

  it('is made of open sessions only', () => {
    const settled = settledOf100({ totalBet: 40n, totalWin: 0n, payout: 60n, net: -40n }, 's');
    const ended = playSession.evolve(sessionAfter(2), settled);
    for (const session of [playSession.initialState, ended]) expect(outlineOf(session)).to.equal(undefined);
  });
});

describe('play session: snapshot', () => {
  for (let length = 0; length <= history.length; length++) {
    it(`after ${length} events comes back as it went in`, () => {
      const session = sessionAfter(length);
      const encoded = structuredClone(encodePlaySession(session));
      const decoded = decodePlaySession(encoded);
      // As a store does that uses the memory again.
      encoded.bytes?.fill(0xff);
      expect(plain(decoded)).to.deep.equal(plain(session));
    });
  }

  it('refuses what is not a snapshot of a play session', () =>
    expect(() => decodePlaySession({ facts: { status: 'open', revision: 0 } })).to.throw());
});
