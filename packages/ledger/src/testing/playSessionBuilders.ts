/** Builders for the specs of play sessions: `opened(100n)`, `betPlaced('b', 40n, 60n)`, `rollBack('r', 'b')`. */
import type { PlaySessionAnswer } from '../domain/playSession.answers.ts';
import type { PlaySessionEvent } from '../domain/playSession.events.ts';
import type { PlaySessionCommand } from '../domain/playSession.ts';

export const owner = { userId: 'usr_1', currencyId: 1 };
export const terms = (lockAmount: bigint) => ({
  sessionId: 'ses_1',
  ...owner,
  gameCode: 'dice',
  currency: 'SOL',
  lockAmount,
  transactionUuid: 'open-1',
  openedAt: '2026-01-31T12:00:00.000Z',
});
const settledAt = '2026-01-31T13:00:00.000Z';

// Commands

const round = (roundId: string | undefined) => (roundId === undefined ? {} : { roundId });
export const open = (change: Partial<ReturnType<typeof terms>> = {}): PlaySessionCommand => ({
  type: 'OpenSession',
  ...terms(100n),
  ...change,
});
export const placeBet = (transactionUuid: string, amount: bigint, roundId?: string): PlaySessionCommand => ({
  type: 'PlaceBet',
  transactionUuid,
  amount,
  ...round(roundId),
});
export const creditWin = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  roundId?: string,
): PlaySessionCommand => ({
  type: 'CreditWin',
  transactionUuid,
  betTransactionUuid,
  amount,
  ...round(roundId),
});
export const rollBack = (transactionUuid: string, betTransactionUuid: string): PlaySessionCommand => ({
  type: 'RollBackBet',
  transactionUuid,
  betTransactionUuid,
});
export const settle = (transactionUuid?: string): PlaySessionCommand => ({
  type: 'SettleSession',
  transactionUuid,
  at: settledAt,
});

// Facts

export const opened = (lockAmount: bigint): PlaySessionEvent => ({
  type: 'SessionOpened',
  data: terms(lockAmount),
});
export const betPlaced = (
  transactionUuid: string,
  amount: bigint,
  balance: bigint,
  roundId?: string,
): PlaySessionEvent => ({ type: 'BetPlaced', data: { transactionUuid, amount, ...round(roundId), balance } });
export const winCredited = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
  roundId?: string,
): PlaySessionEvent => ({
  type: 'WinCredited',
  data: { transactionUuid, betTransactionUuid, amount, ...round(roundId), balance },
});
export const rolledBack = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
): PlaySessionEvent => ({
  type: 'BetRolledBack',
  data: { transactionUuid, betTransactionUuid, amount, balance },
});
export const rolledBackLate = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
): PlaySessionEvent => ({
  type: 'BetRolledBack',
  data: { transactionUuid, betTransactionUuid, amount, balance, late: owner },
});
export const remembered = (
  transactionUuid: string,
  betTransactionUuid: string,
  balance: bigint,
): PlaySessionEvent => ({
  type: 'RollbackRemembered',
  data: { transactionUuid, betTransactionUuid, balance },
});

export interface Figures {
  readonly totalBet: bigint;
  readonly totalWin: bigint;
  readonly payout: bigint;
  readonly net: bigint;
}
export const settledOf100 = (figures: Figures, transactionUuid?: string): PlaySessionEvent => ({
  type: 'SessionSettled',
  data: {
    ...(transactionUuid === undefined ? {} : { transactionUuid }),
    ...owner,
    currency: 'SOL',
    lockAmount: 100n,
    ...figures,
    settledAt,
  },
});
export const unplayed: Figures = { totalBet: 0n, totalWin: 0n, payout: 100n, net: 0n };
export const lost40: Figures = { totalBet: 40n, totalWin: 0n, payout: 60n, net: -40n };

// Answers

const sessionId = 'ses_1';
export const accepted = (transactionUuid: string, amount: bigint, balance: bigint): PlaySessionAnswer => ({
  outcome: 'betAccepted',
  sessionId,
  transactionUuid,
  amount,
  balance,
  status: 'accepted',
});
export const won = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
): PlaySessionAnswer => ({
  outcome: 'winAccepted',
  sessionId,
  transactionUuid,
  betTransactionUuid,
  amount,
  balance,
  status: 'accepted',
});
export const reversed = (
  transactionUuid: string,
  betTransactionUuid: string,
  amount: bigint,
  balance: bigint,
  lateAtRevision?: number,
): PlaySessionAnswer => ({
  outcome: 'rollback',
  sessionId,
  transactionUuid,
  betTransactionUuid,
  amount,
  balance,
  status: 'rolled_back',
  late: lateAtRevision === undefined ? undefined : { ...owner, revision: lateAtRevision },
});
export const unmoved = (
  status: 'remembered' | 'already_rolled_back',
  transactionUuid: string,
  betTransactionUuid: string,
  balance: bigint,
): PlaySessionAnswer => ({
  outcome: 'rollback',
  sessionId,
  transactionUuid,
  betTransactionUuid,
  amount: 0n,
  balance,
  status,
  late: undefined,
});
export const settlement = (figures: Figures, revision: number): PlaySessionAnswer => ({
  outcome: 'settled',
  sessionId,
  ...owner,
  currency: 'SOL',
  lockAmount: 100n,
  ...figures,
  status: 'settled',
  settledAt,
  revision,
});
export const openedWith100: PlaySessionAnswer = {
  outcome: 'opened',
  sessionId,
  ...owner,
  gameCode: 'dice',
  currency: 'SOL',
  lockAmount: 100n,
  balance: 100n,
  status: 'open',
  openedAt: '2026-01-31T12:00:00.000Z',
};
