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
import { decodePlaySession, encodePlaySession } from './playSession.snapshot.ts';
import type { PlaySession } from './playSession.state.ts';
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

describe('play session: snapshot', () => {
  for (let length = 0; length <= history.length; length++) {
    it(`after ${length} events comes back as it went in`, () => {
      const session = history.slice(0, length).reduce(playSession.evolve, playSession.initialState);
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
