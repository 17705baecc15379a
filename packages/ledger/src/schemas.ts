/** Request and answer shapes of the ledger group. Source: contract, Ledger. */
import {
  amount,
  figureText as amountText,
  boundedText,
  callerId,
  currencyCode,
  idText,
  pageCursor,
  pageSize,
  signedFigureText as signedText,
} from '@coffer/kernel';
import { z } from 'zod';

const sessionId = idText('ses').meta({ description: 'The play session, as the open answered it.' });
const userId = idText('usr').meta({ description: 'The player.' });
const gameCode = callerId.meta({ description: 'Your name of the game.', example: 'dice' });
const transactionUuid = callerId.meta({
  description: 'Your id of this write. The same again answers the same; with other content it is refused.',
  example: '7b0c5f1e-3a52-4d0e-9a57-2f6f1f0c9d11',
});
const betTransactionUuid = callerId.meta({
  description: 'The transactionUuid of the bet.',
  example: '1f6a9c0d-8e14-4b7b-b1c3-5d2e7f8a9b10',
});
const roundId = callerId.meta({ description: 'Your round, kept with the write.', example: 'round-1' });
const stake = amount.meta({
  description: 'Base units, as a decimal string; "0" is allowed.',
  example: '100000',
});
const timestamp = z.iso.datetime({ precision: 3 }).meta({ description: 'ISO 8601 UTC with milliseconds.' });
const currency = currencyCode.meta({ description: "The app's currency code." });

// Requests

export const openSessionBody = z.strictObject({
  userId,
  gameCode,
  currency,
  lockAmount: stake,
  transactionUuid: transactionUuid.optional(),
});

const bet = { transactionUuid, amount: stake, roundId: roundId.optional() };
const win = { transactionUuid, betTransactionUuid, amount: stake, roundId: roundId.optional() };
const rollback = { transactionUuid, betTransactionUuid };

const namesAnotherWrite = (write: { transactionUuid: string; betTransactionUuid: string }) =>
  write.transactionUuid !== write.betTransactionUuid;
const SAME_UUID = {
  path: ['betTransactionUuid'],
  message: 'must name another write than transactionUuid does',
};

export const betBody = z.strictObject({ sessionId, ...bet });
export const winBody = z.strictObject({ sessionId, ...win }).refine(namesAnotherWrite, SAME_UUID);
export const rollbackBody = z.strictObject({ sessionId, ...rollback }).refine(namesAnotherWrite, SAME_UUID);
export const sessionBody = z.strictObject({ sessionId });
export const settleBody = z.strictObject({ sessionId, transactionUuid: transactionUuid.optional() });

const operation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('bet'), ...bet }),
  z.strictObject({ op: z.literal('win'), ...win }).refine(namesAnotherWrite, SAME_UUID),
  z.strictObject({ op: z.literal('rollback'), ...rollback }).refine(namesAnotherWrite, SAME_UUID),
]);
export const batchBody = z.strictObject({ sessionId, operations: z.array(operation).min(1).max(1_000) });

export type BatchOperation = z.output<typeof operation>;

export const transactionsQuery = z.strictObject({
  limit: pageSize,
  cursor: pageCursor.optional(),
});
export const sessionsQuery = z.strictObject({
  userId: boundedText(64).optional(),
  status: z.enum(['open', 'settled']).optional(),
  limit: pageSize,
  cursor: pageCursor.optional(),
});

// Answers

export const openedSession = z.object({
  sessionId,
  userId,
  gameCode: z.string(),
  currency,
  lockAmount: amountText,
  balance: amountText,
  status: z.literal('open'),
  openedAt: timestamp,
});
export const placedBet = z.object({
  sessionId,
  transactionUuid: z.string(),
  amount: amountText,
  balance: amountText,
  status: z.literal('accepted'),
});
export const creditedWin = z.object({
  sessionId,
  transactionUuid: z.string(),
  betTransactionUuid: z.string(),
  amount: amountText,
  balance: amountText,
  status: z.literal('accepted'),
});
export const rolledBackBet = z.object({
  sessionId,
  transactionUuid: z.string(),
  betTransactionUuid: z.string(),
  amount: amountText,
  balance: amountText,
  status: z.enum(['rolled_back', 'remembered', 'already_rolled_back']),
});
export const sessionBalance = z.object({
  sessionId,
  userId,
  currency,
  balance: amountText,
  status: z.enum(['open', 'settled']),
});
export const settledSession = z.object({
  sessionId,
  userId,
  currency,
  lockAmount: amountText,
  totalBet: amountText,
  totalWin: amountText,
  payout: amountText,
  net: signedText,
  status: z.literal('settled'),
  settledAt: timestamp,
});
export const batchResults = z.object({
  results: z.array(z.object({ status: z.int(), body: z.record(z.string(), z.unknown()) })),
});
export const sessionDetails = z.object({
  sessionId,
  userId,
  gameCode: z.string(),
  currency,
  lockAmount: amountText,
  balance: amountText,
  status: z.enum(['open', 'settled']),
  openedAt: timestamp,
  totalBet: amountText,
  totalWin: amountText,
  payout: amountText.nullable(),
  net: signedText.nullable(),
  settledAt: timestamp.nullable(),
});
export const sessionPage = z.object({ items: z.array(sessionDetails), nextCursor: z.string().nullable() });
export const transactionPage = z.object({
  items: z.array(
    z.object({
      transactionUuid: z.string(),
      kind: z.enum(['bet', 'win', 'rollback']),
      amount: amountText,
      betTransactionUuid: z.string().nullable(),
      roundId: z.string().nullable(),
      status: z.enum(['accepted', 'rolled_back', 'remembered']),
      balance: amountText,
      at: timestamp,
    }),
  ),
  nextCursor: z.string().nullable(),
});
