/** The list of play sessions, newest first, from the read models. Source: contract, Ledger, GET /ledger/sessions. */
import type { Pool } from '@coffer/database';
import { type AppPlace, Rejection } from '@coffer/kernel';
import { InvalidCursorError, listPlaySessions, type PlaySessionRow } from '@coffer/read-models';
import type { z } from 'zod';
import type { sessionsQuery } from './schemas.ts';

export type ListSessions = ReturnType<typeof createListSessions>;

/** Throws `request/invalid` on a cursor of another list. */
export function createListSessions(pool: Pool) {
  return async (
    { appId, environment }: Pick<AppPlace, 'appId' | 'environment'>,
    query: z.output<typeof sessionsQuery>,
  ) => {
    try {
      const page = await listPlaySessions(pool, { ...query, appId, environment });
      return { items: page.items.map(body), nextCursor: page.nextCursor };
    } catch (error) {
      if (!(error instanceof InvalidCursorError)) throw error;
      throw new Rejection('request/invalid', { issues: [{ path: 'cursor', message: error.message }] });
    }
  };
}

function body(row: PlaySessionRow) {
  return {
    sessionId: row.sessionId,
    userId: row.userId,
    gameCode: row.gameCode,
    currency: row.currency,
    lockAmount: row.lockAmount.toString(),
    balance: row.balance.toString(),
    status: row.status,
    openedAt: row.openedAt,
    totalBet: row.totalBet.toString(),
    totalWin: row.totalWin.toString(),
    payout: row.payout?.toString() ?? null,
    net: row.net?.toString() ?? null,
    settledAt: row.settledAt,
  };
}
