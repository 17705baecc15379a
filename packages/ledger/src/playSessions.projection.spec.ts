import { foldRow, type PlaySessionRow } from '@coffer/read-models';
import { recordedHistory } from '@coffer/testing';
import { expect } from 'chai';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import { playSessionsProjection } from './playSessions.projection.ts';

const SESSION = `ses_${'0'.repeat(26)}`;
const APP = `app_${'0'.repeat(26)}`;
const STREAM = `playSession-live.${APP}.${SESSION}`;

describe('the projection of play sessions', () => {
  it('shows a session from its opening', () => {
    expect(rowAfter(opened(100n))).to.deep.equal(openRow);
  });

  it('counts bets and wins, and gives back what is rolled back', () => {
    const row = rowAfter(
      opened(100n),
      bet('b1', 40n, 60n),
      bet('b2', 10n, 50n),
      win('b1', 25n, 75n),
      rollback('b2', 10n, 85n),
    );
    expect(row).to.deep.equal({ ...openRow, revision: 4, balance: 85n, totalBet: 40n, totalWin: 25n });
  });

  it('takes the figures of the settlement', () => {
    const row = rowAfter(
      opened(100n),
      bet('b1', 40n, 60n),
      settled({ totalBet: 40n, totalWin: 0n, payout: 60n, net: -40n }),
    );
    expect(row).to.deep.equal({ ...settledRow, revision: 2 });
  });

  it('keeps them when a bet is rolled back late, and counts what the house pays', () => {
    const late = { userId: 'usr_1', currencyId: 2 };
    const row = rowAfter(
      opened(100n),
      bet('b1', 40n, 60n),
      settled({ totalBet: 40n, totalWin: 0n, payout: 60n, net: -40n }),
      rollback('b1', 40n, 60n, late),
    );
    expect(row).to.deep.equal({ ...settledRow, revision: 3, lateRolledBack: 40n });
  });

  it('records a remembered rollback without moving anything', () => {
    const remembered: PlaySessionEvent = {
      type: 'RollbackRemembered',
      data: { transactionUuid: 'r', betTransactionUuid: 'b', balance: 100n },
    };
    expect(rowAfter(opened(100n), remembered)).to.deep.equal({ ...openRow, revision: 1 });
  });

  it('changes nothing when a page is applied again', () => {
    const history = recorded(opened(100n), bet('b1', 40n, 60n), bet('b2', 10n, 50n));
    const row = foldRow(playSessionsProjection, undefined, history);
    expect(foldRow(playSessionsProjection, row, history.slice(1))).to.equal(row);
    expect(foldRow(playSessionsProjection, row, history)).to.equal(row);
  });

  it('refuses a settlement whose sums differ from those it has seen', () => {
    expect(() =>
      rowAfter(opened(100n), settled({ totalBet: 1n, totalWin: 0n, payout: 99n, net: -1n })),
    ).to.throw();
  });

  it('refuses a history with a gap', () => {
    const [first, , third] = recorded(opened(100n), bet('b1', 40n, 60n), bet('b2', 10n, 50n));
    const holed = [first, third].filter((event) => event !== undefined);
    expect(() => foldRow(playSessionsProjection, undefined, holed)).to.throw('Revision 2');
  });

  it('ignores other streams', () => {
    const [event] = recorded(opened(100n));
    expect(event && playSessionsProjection.keyOf(event)).to.equal(SESSION);
    expect(event && playSessionsProjection.keyOf({ ...event, stream: `account-live.${APP}.usr.1` })).to.equal(
      undefined,
    );
  });
});

const openRow: PlaySessionRow = {
  sessionId: SESSION,
  revision: 0,
  appId: APP,
  environment: 'live',
  userId: 'usr_1',
  gameCode: 'dice',
  currency: 'CHIP',
  currencyId: 2,
  lockAmount: 100n,
  balance: 100n,
  totalBet: 0n,
  totalWin: 0n,
  payout: null,
  net: null,
  lateRolledBack: 0n,
  status: 'open',
  openedAt: '2026-01-01T00:00:00.000Z',
  settledAt: null,
};

const settledRow: PlaySessionRow = {
  ...openRow,
  balance: 60n,
  totalBet: 40n,
  payout: 60n,
  net: -40n,
  status: 'settled',
  settledAt: '2026-01-01T01:00:00.000Z',
};

const opened = (lockAmount: bigint): PlaySessionEvent => ({
  type: 'SessionOpened',
  data: {
    sessionId: SESSION,
    userId: 'usr_1',
    gameCode: 'dice',
    currency: 'CHIP',
    currencyId: 2,
    lockAmount,
    transactionUuid: 'open-1',
    openedAt: openRow.openedAt,
  },
});
const bet = (transactionUuid: string, amount: bigint, balance: bigint): PlaySessionEvent => ({
  type: 'BetPlaced',
  data: { transactionUuid, amount, balance },
});
const win = (betTransactionUuid: string, amount: bigint, balance: bigint): PlaySessionEvent => ({
  type: 'WinCredited',
  data: { transactionUuid: `win of ${betTransactionUuid}`, betTransactionUuid, amount, balance },
});
const rollback = (
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
  late?: { readonly userId: string; readonly currencyId: number },
): PlaySessionEvent => ({
  type: 'BetRolledBack',
  data: { transactionUuid: `rollback of ${betTransactionUuid}`, betTransactionUuid, amount, balance, late },
});
const settled = (figures: {
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint;
  readonly net: bigint;
}): PlaySessionEvent => ({
  type: 'SessionSettled',
  data: {
    userId: 'usr_1',
    currency: 'CHIP',
    currencyId: 2,
    lockAmount: 100n,
    settledAt: '2026-01-01T01:00:00.000Z',
    ...figures,
  },
});

const recorded = (...events: readonly PlaySessionEvent[]) =>
  recordedHistory(playSessionEvents, STREAM, events);

function rowAfter(...events: readonly PlaySessionEvent[]): PlaySessionRow | undefined {
  return foldRow(playSessionsProjection, undefined, recorded(...events));
}
