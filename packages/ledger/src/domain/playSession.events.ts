/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure, signedFigure } from '@coffer/kernel';
import { z } from 'zod';

/** Each write holds the session balance just after it: with it a repeat is answered as the first was. */
export const playSessionEvents = eventCodec({
  SessionOpened: {
    data: z.object({
      sessionId: z.string(),
      userId: z.string(),
      gameCode: z.string(),
      currency: z.string(),
      currencyId: z.int(),
      lockAmount: figure,
      transactionUuid: z.string().optional(),
      openedAt: z.string(),
    }),
  },
  BetPlaced: {
    data: z.object({
      transactionUuid: z.string(),
      amount: figure,
      roundId: z.string().optional(),
      balance: figure,
    }),
  },
  WinCredited: {
    data: z.object({
      transactionUuid: z.string(),
      betTransactionUuid: z.string(),
      amount: figure,
      roundId: z.string().optional(),
      balance: figure,
    }),
  },
  BetRolledBack: {
    data: z.object({
      transactionUuid: z.string(),
      betTransactionUuid: z.string(),
      amount: figure,
      balance: figure,
      /** After the settlement: the house pays the stake into this account, the balance stays the payout. */
      late: z.object({ userId: z.string(), currencyId: z.int() }).optional(),
    }),
  },
  RollbackRemembered: {
    data: z.object({ transactionUuid: z.string(), betTransactionUuid: z.string(), balance: figure }),
  },
  SessionSettled: {
    data: z.object({
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
  },
});

export type PlaySessionEvent = EventIn<typeof playSessionEvents>;
