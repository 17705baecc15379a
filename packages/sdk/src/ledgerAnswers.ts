/** Reads the answers of the ledger group. Every reader throws `sdk/unexpected_answer`. */
import type { Fields } from './answers.ts';
import type * as ledger from './ledgerTypes.ts';

const STATUSES = ['open', 'settled'] as const;

export const readOpened = (answer: Fields): Omit<ledger.OpenedSession, 'transactionUuid'> => ({
  sessionId: answer.text('sessionId'),
  userId: answer.text('userId'),
  gameCode: answer.text('gameCode'),
  currency: answer.text('currency'),
  lockAmount: answer.figure('lockAmount'),
  balance: answer.figure('balance'),
  status: answer.oneOf('status', ['open']),
  openedAt: answer.text('openedAt'),
});

export const readBet = (answer: Fields): ledger.PlacedBet => ({
  sessionId: answer.text('sessionId'),
  transactionUuid: answer.text('transactionUuid'),
  amount: answer.figure('amount'),
  balance: answer.figure('balance'),
  status: answer.oneOf('status', ['accepted']),
});

export const readWin = (answer: Fields): ledger.CreditedWin => ({
  ...readBet(answer),
  betTransactionUuid: answer.text('betTransactionUuid'),
});

export const readRollback = (answer: Fields): ledger.RolledBackBet => ({
  sessionId: answer.text('sessionId'),
  transactionUuid: answer.text('transactionUuid'),
  betTransactionUuid: answer.text('betTransactionUuid'),
  amount: answer.figure('amount'),
  balance: answer.figure('balance'),
  status: answer.oneOf('status', ['rolled_back', 'remembered', 'already_rolled_back']),
});

export const readBalance = (answer: Fields): ledger.SessionBalance => ({
  sessionId: answer.text('sessionId'),
  userId: answer.text('userId'),
  currency: answer.text('currency'),
  balance: answer.figure('balance'),
  status: answer.oneOf('status', STATUSES),
});

export const readSettled = (answer: Fields): ledger.SettledSession => ({
  sessionId: answer.text('sessionId'),
  userId: answer.text('userId'),
  currency: answer.text('currency'),
  lockAmount: answer.figure('lockAmount'),
  totalBet: answer.figure('totalBet'),
  totalWin: answer.figure('totalWin'),
  payout: answer.figure('payout'),
  net: answer.signedFigure('net'),
  status: answer.oneOf('status', ['settled']),
  settledAt: answer.text('settledAt'),
});

export const readDetails = (answer: Fields): ledger.SessionDetails => ({
  sessionId: answer.text('sessionId'),
  userId: answer.text('userId'),
  gameCode: answer.text('gameCode'),
  currency: answer.text('currency'),
  lockAmount: answer.figure('lockAmount'),
  balance: answer.figure('balance'),
  status: answer.oneOf('status', STATUSES),
  openedAt: answer.text('openedAt'),
  totalBet: answer.figure('totalBet'),
  totalWin: answer.figure('totalWin'),
  payout: answer.nullable('payout', answer.figure),
  net: answer.nullable('net', answer.signedFigure),
  settledAt: answer.nullable('settledAt', answer.text),
});

export const readTransaction = (answer: Fields): ledger.Transaction => ({
  transactionUuid: answer.text('transactionUuid'),
  kind: answer.oneOf('kind', ['bet', 'win', 'rollback']),
  amount: answer.figure('amount'),
  betTransactionUuid: answer.nullable('betTransactionUuid', answer.text),
  roundId: answer.nullable('roundId', answer.text),
  status: answer.oneOf('status', ['accepted', 'rolled_back', 'remembered']),
  balance: answer.figure('balance'),
  at: answer.text('at'),
});

export const readPage =
  <Item>(readItem: (item: Fields) => Item) =>
  (answer: Fields): ledger.Page<Item> => ({
    items: answer.list('items', readItem),
    nextCursor: answer.nullable('nextCursor', answer.text),
  });

const readCheck = (check: Fields): ledger.ReconcileCheck => ({
  name: check.text('name'),
  ok: check.boolean('ok'),
  examined: check.number('examined'),
});

export const readReport = (answer: Fields): ledger.ReconcileReport => ({
  ok: true,
  environment: answer.oneOf('environment', ['test', 'live']),
  position: answer.text('position'),
  checkedAt: answer.text('checkedAt'),
  mode: answer.oneOf('mode', ['full', 'incremental']),
  checks: answer.list('checks', readCheck),
  inFlight: answer.list('inFlight', (item) => ({
    reaction: item.text('reaction'),
    subject: item.text('subject'),
  })),
  warnings: answer.list('warnings', (item) => ({
    code: item.text('code'),
    subject: item.text('subject'),
    sessions: item.texts('sessions'),
  })),
  totals: answer.list('totals', (item) => ({
    currency: item.text('currency'),
    available: item.signedFigure('available'),
    held: item.signedFigure('held'),
    pools: item.signedFigure('pools'),
    house: item.signedFigure('house'),
    referrals: item.signedFigure('referrals'),
    external: item.signedFigure('external'),
    adjustments: item.signedFigure('adjustments'),
  })),
});

/** Of the details of `ledger/integrity_failed`. */
export const readDiscrepancies = (details: Fields): ledger.ReconcileReport => ({
  ok: false,
  position: details.text('position'),
  checks: details.list('checks', readCheck),
  discrepancies: details.list('discrepancies', (item) => ({
    check: item.text('check'),
    subject: item.text('subject'),
    expected: item.raw.expected ?? null,
    actual: item.raw.actual ?? null,
  })),
});
