/**
 * Play sessions and their writes as callers see them: what is sent, answered and listed. Money is bigint here, and text
 * in requests and bodies. A body never changes: a repeat years later is answered with the very same bytes.
 * Source: contract, Ledger.
 */
import {
  amount,
  boundedText,
  callerId,
  currencyCode,
  encoderOf,
  figure,
  idText,
  pageCursor,
  pageSize,
  signedFigure,
  timestamp,
} from '@coffer/kernel';
import { z } from 'zod';

const sessionId = idText('ses').meta({ description: 'The play session, as the open answered it.' });
const userId = idText('usr').meta({ description: 'The player.' });
const gameCode = callerId.meta({ description: 'Your name for the game.', example: 'dice' });
const transactionUuid = callerId.meta({
  description:
    'Your id for this write. A repeat gets the same answer; other content under the same id is refused.',
  example: '7b0c5f1e-3a52-4d0e-9a57-2f6f1f0c9d11',
});
const betTransactionUuid = callerId.meta({
  description: 'The transactionUuid of the bet.',
  example: '1f6a9c0d-8e14-4b7b-b1c3-5d2e7f8a9b10',
});
const roundId = callerId.meta({ description: 'Your round, recorded with the write.', example: 'round-1' });
const stake = amount.meta({
  description: 'Base units, as a decimal string; "0" is allowed.',
  example: '100000',
});
const currency = currencyCode.meta({ description: "The app's currency code." });
const status = z.enum(['open', 'settled']);

// Requests

type Content<Fields extends z.ZodRawShape> = Readonly<z.output<z.ZodObject<Fields>>>;

/** The fields that must be the same in a repeat, in the order in which a difference is named. */
const comparedOf = <Field extends string>(fields: Readonly<Record<Field, unknown>>) =>
  // The keys of an object literal are those of its type.
  (Object.keys(fields) as Field[]).filter((field) => field !== 'transactionUuid') as Exclude<
    Field,
    'transactionUuid'
  >[];

const open = { userId, gameCode, currency, lockAmount: stake };
export const openSessionBody = z.strictObject({ ...open, transactionUuid: transactionUuid.optional() });
export type OpenRequest = Readonly<z.output<typeof openSessionBody>>;
export const openCompared = [...comparedOf(open), 'transactionUuid'] as const;

const bet = { transactionUuid, amount: stake, roundId: roundId.optional() };
export type BetContent = Content<typeof bet>;
export const betCompared = comparedOf(bet);

const win = { transactionUuid, betTransactionUuid, amount: stake, roundId: roundId.optional() };
export type WinContent = Content<typeof win>;
export const winCompared = comparedOf(win);

const rollback = { transactionUuid, betTransactionUuid };
export type RollbackContent = Content<typeof rollback>;
export const rollbackCompared = comparedOf(rollback);

const namesAnotherWrite = (write: RollbackContent) => write.transactionUuid !== write.betTransactionUuid;
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
  status: status.optional(),
  limit: pageSize,
  cursor: pageCursor.optional(),
});

// Answers

const terms = { sessionId, userId, gameCode: z.string(), currency, lockAmount: figure, balance: figure };
export const openedSession = z.object({
  ...terms,
  status: z.literal('open'),
  openedAt: timestamp,
});
export const placedBet = z.object({
  sessionId,
  transactionUuid: z.string(),
  amount: figure,
  balance: figure,
  status: z.literal('accepted'),
});
const uuid = z.string();
const afterBet = {
  sessionId,
  transactionUuid: uuid,
  betTransactionUuid: uuid,
  amount: figure,
  balance: figure,
};
export const creditedWin = z.object({ ...afterBet, status: z.literal('accepted') });
export const rolledBackBet = z.object({
  ...afterBet,
  status: z.enum(['rolled_back', 'remembered', 'already_rolled_back']),
});
export const sessionBalance = z.object({ sessionId, userId, currency, balance: figure, status });
export const settledSession = z.object({
  sessionId,
  userId,
  currency,
  lockAmount: figure,
  totalBet: figure,
  totalWin: figure,
  payout: figure,
  net: signedFigure,
  status: z.literal('settled'),
  settledAt: timestamp,
});
export const batchResults = z.object({
  results: z.array(z.object({ status: z.int(), body: z.record(z.string(), z.unknown()) })),
});
export const sessionDetails = z.object({
  ...terms,
  status,
  openedAt: timestamp,
  totalBet: figure,
  totalWin: figure,
  payout: figure.nullable(),
  net: signedFigure.nullable(),
  settledAt: timestamp.nullable(),
});
const transaction = z.object({
  transactionUuid: z.string(),
  kind: z.enum(['bet', 'win', 'rollback']),
  amount: figure,
  betTransactionUuid: z.string().nullable(),
  roundId: z.string().nullable(),
  status: z.enum(['accepted', 'rolled_back', 'remembered']),
  balance: figure,
  at: timestamp,
});
export type Transaction = Readonly<z.output<typeof transaction>>;

const nextCursor = z.string().nullable();
export const sessionPage = z.object({ items: z.array(sessionDetails), nextCursor });
export const transactionPage = z.object({ items: z.array(transaction), nextCursor });

// Bodies

export const sessionPageBody = encoderOf(sessionPage);
export const transactionPageBody = encoderOf(transactionPage);
