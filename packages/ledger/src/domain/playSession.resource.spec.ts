import { expect } from 'chai';
import {
  betPlaced,
  opened,
  rolledBackLate,
  settledOf100,
  winCredited,
} from '../testing/playSessionBuilders.ts';
import { balanceBody, detailsBody } from './playSession.answers.ts';
import type { PlaySessionEvent } from './playSession.events.ts';
import { playSession } from './playSession.ts';

function sessionAfter(...history: readonly PlaySessionEvent[]) {
  const session = history.reduce(playSession.evolve, playSession.initialState);
  if (session.status === 'unknown') throw new Error('a history begins with its opening');
  return session;
}

const open = sessionAfter(opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', 90n, 150n));
const settled = sessionAfter(
  opened(100n),
  betPlaced('b', 40n, 60n),
  settledOf100({ totalBet: 40n, totalWin: 0n, payout: 60n, net: -40n }),
  rolledBackLate('r', 'b', 40n, 60n),
);

describe('play session: bodies', () => {
  it('show the balance', () =>
    expect(JSON.stringify(balanceBody(open))).to.equal(
      '{"sessionId":"ses_1","userId":"usr_1","currency":"SOL","balance":"150","status":"open"}',
    ));

  it('show the payout as the balance after the settlement, even after a late rollback', () =>
    expect(JSON.stringify(balanceBody(settled))).to.equal(
      '{"sessionId":"ses_1","userId":"usr_1","currency":"SOL","balance":"60","status":"settled"}',
    ));

  it('show an open session with its totals and no settlement', () =>
    expect(JSON.stringify(detailsBody(open))).to.equal(
      '{"sessionId":"ses_1","userId":"usr_1","gameCode":"dice","currency":"SOL","lockAmount":"100",' +
        '"balance":"150","status":"open","openedAt":"2026-01-31T12:00:00.000Z","totalBet":"40",' +
        '"totalWin":"90","payout":null,"net":null,"settledAt":null}',
    ));

  it('show a settled session with the figures of its settlement', () =>
    expect(JSON.stringify(detailsBody(settled))).to.equal(
      '{"sessionId":"ses_1","userId":"usr_1","gameCode":"dice","currency":"SOL","lockAmount":"100",' +
        '"balance":"60","status":"settled","openedAt":"2026-01-31T12:00:00.000Z","totalBet":"40",' +
        '"totalWin":"0","payout":"60","net":"-40","settledAt":"2026-01-31T13:00:00.000Z"}',
    ));
});
