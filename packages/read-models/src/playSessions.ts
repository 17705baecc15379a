/** The list of play sessions. Source: contract, Ledger, GET /ledger/sessions. */
import type { Queryable } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import { listRows } from './listRows.ts';
import type { Page, PageRequest } from './pages.ts';
import { column, type RowOf, type RowTable, rowTable } from './rowTable.ts';

type PlaySessionStatus = 'open' | 'settled';

/** Amounts in base units; times in ISO 8601 UTC with milliseconds. */
const columns = {
  sessionId: column.text(),
  revision: column.integer,
  appId: column.text(),
  environment: column.text<Environment>(),
  userId: column.text(),
  gameCode: column.text(),
  currency: column.text(),
  currencyId: column.integer,
  lockAmount: column.amount,
  /** In play while open, the payout once settled. */
  balance: column.amount,
  /** Accepted bets less those rolled back before the settlement. */
  totalBet: column.amount,
  totalWin: column.amount,
  /** `payout`, `net` and `settledAt` are null while the session is open. */
  payout: column.optional(column.amount),
  net: column.optional(column.amount),
  /** Stakes returned after the settlement, which do not change its figures. */
  lateRolledBack: column.amount,
  status: column.text<PlaySessionStatus>(),
  openedAt: column.instant,
  settledAt: column.optional(column.instant),
};

export type PlaySessionRow = RowOf<typeof columns>;
export const playSessionTable: RowTable<PlaySessionRow> = rowTable('play_sessions', 'sessionId', columns);

export interface PlaySessionQuery extends PageRequest {
  readonly appId: string;
  readonly environment: Environment;
  readonly userId?: string | undefined;
  readonly status?: PlaySessionStatus | undefined;
}

/**
 * Newest first. Pages do not shift while sessions are opened; a session that leaves the filter meanwhile (by its status)
 * no longer appears. Throws `request/invalid` for a cursor of another list.
 */
export function listPlaySessions(db: Queryable, query: PlaySessionQuery): Promise<Page<PlaySessionRow>> {
  const { appId, environment, userId, status } = query;
  const filter = { app_id: appId, environment, user_id: userId, status };
  return listRows(db, playSessionTable, 'newestFirst', filter, query);
}
