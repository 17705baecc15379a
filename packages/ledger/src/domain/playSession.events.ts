/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure, signedFigure } from '@coffer/kernel';
import { z } from 'zod';
import type { BetContent, WinContent } from './playSession.resource.ts';

/** Does not compile if a field of the request is missing: everything a write says is kept with it. */
type Keeps<Content> = Readonly<Record<keyof Content | 'balance', z.ZodType>>;

/** Each write holds the session balance just after it, from which a repeat gets the first answer. */
export const stored = {
  SessionOpened: z.object({
    sessionId: z.string(),
    userId: z.string(),
    gameCode: z.string(),
    currency: z.string(),
    currencyId: z.int(),
    lockAmount: figure,
    transactionUuid: z.string().optional(),
    openedAt: z.string(),
  }),
  BetPlaced: z.object({
    transactionUuid: z.string(),
    amount: figure,
    roundId: z.string().optional(),
    balance: figure,
  } satisfies Keeps<BetContent>),
  WinCredited: z.object({
    transactionUuid: z.string(),
    betTransactionUuid: z.string(),
    amount: figure,
    roundId: z.string().optional(),
    balance: figure,
  } satisfies Keeps<WinContent>),
  BetRolledBack: z.object({
    transactionUuid: z.string(),
    betTransactionUuid: z.string(),
    amount: figure,
    balance: figure,
    /** After the settlement: the house pays the stake into this account, and the balance remains the payout. */
    late: z.object({ userId: z.string(), currencyId: z.int() }).optional(),
  }),
  RollbackRemembered: z.object({
    transactionUuid: z.string(),
    betTransactionUuid: z.string(),
    balance: figure,
  }),
  SessionSettled: z.object({
    transactionUuid: z.string().optional(),
    userId: z.string(),
    currency: z.string(),
    currencyId: z.int(),
    lockAmount: figure,
    /** Accepted bets less those rolled back. */
    totalBet: figure,
    totalWin: figure,
    payout: figure,
    /** The player's result: payout less lockAmount. */
    net: signedFigure,
    settledAt: z.string(),
  }),
};

export const playSessionEvents = eventCodec({
  SessionOpened: { data: stored.SessionOpened },
  BetPlaced: { data: stored.BetPlaced },
  WinCredited: { data: stored.WinCredited },
  BetRolledBack: { data: stored.BetRolledBack },
  RollbackRemembered: { data: stored.RollbackRemembered },
  SessionSettled: { data: stored.SessionSettled },
});

export type PlaySessionEvent = EventIn<typeof playSessionEvents>;
export type PlaySessionFact<Type extends PlaySessionEvent['type']> = Extract<
  PlaySessionEvent,
  { type: Type }
>['data'];
