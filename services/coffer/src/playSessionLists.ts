/** The list of play sessions, from the read models to the answers of the ledger and the portal. */
import type { Pool } from '@coffer/database';
import { type Environment, Rejection } from '@coffer/kernel';
import { InvalidCursorError, listPlaySessions, type PlaySessionRow } from '@coffer/read-models';

export interface PlaySessionListQuery {
  readonly userId?: string | undefined;
  readonly status?: 'open' | 'settled' | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export type PlaySessionLists = ReturnType<typeof playSessionLists>;

export function playSessionLists(pool: Pool) {
  return async (
    { appId, environment }: { readonly appId: string; readonly environment: Environment },
    query: PlaySessionListQuery,
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
