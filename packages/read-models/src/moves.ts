/** Moves on the chain: those under way, of an app or of a wallet, and their share in the books. */
import { type Queryable, rowsOf, sql } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import { column, type RowOf, type RowTable, rowTable } from './rowTable.ts';
import { liveReadSchema } from './schema.ts';

type MoveRowStatus = 'pending' | 'submitted' | 'confirmed' | 'failed';

/** Amounts in base units; times in ISO 8601 UTC with milliseconds. */
const columns = {
  moveId: column.text(),
  revision: column.integer,
  appId: column.text(),
  environment: column.text<Environment>(),
  /** The owner of the stream: the app for the treasury's moves, the scope for moves of users' wallets. */
  ownerId: column.text(),
  operation: column.text<'deposit' | 'cashOut' | 'withdraw' | 'sweep'>(),
  /** `ref` or `idempotencyKey`. */
  key: column.text(),
  userId: column.text(),
  currencyId: column.optional(column.integer),
  mint: column.text(),
  amount: column.amount,
  /** The wallet that pays. */
  walletId: column.text(),
  fromAddress: column.text(),
  toAddress: column.text(),
  /** `submitted` while a signed transaction may land. */
  status: column.text<MoveRowStatus>(),
  attempts: column.integer,
  /** The latest attempt's. */
  signature: column.optional(column.text()),
  slot: column.optional(column.amount),
  errorCode: column.optional(column.text()),
  requestedAt: column.instant,
  updatedAt: column.instant,
};

export type MoveRow = RowOf<typeof columns>;
export const moveTable: RowTable<MoveRow> = rowTable('moves', 'moveId', columns);

export interface CurrencyPlace {
  readonly appId: string;
  readonly environment: Environment;
  readonly currencyId: number;
}

/** The unfinished moves of a currency, oldest first. */
export async function movesUnderWay(
  db: Queryable,
  { appId, environment, currencyId }: CurrencyPlace,
  limit: number,
): Promise<readonly MoveRow[]> {
  return rowsWhere(db, { app_id: appId, environment, currency_id: currencyId }, limit);
}

/** The unfinished moves that the wallet pays for, oldest first. */
export async function movesUnderWayOfWallet(
  db: Queryable,
  walletId: string,
  limit: number,
): Promise<readonly MoveRow[]> {
  return rowsWhere(db, { wallet_id: walletId }, limit);
}

async function rowsWhere(
  db: Queryable,
  columns: Readonly<Record<string, string | number>>,
  limit: number,
): Promise<readonly MoveRow[]> {
  const query = sql('moves')
    .withSchema(await liveReadSchema(db))
    .where(columns)
    // As the partial indexes are defined; a parameter would not match them.
    .whereRaw("status in ('pending', 'submitted')")
    .orderBy('ordinal')
    .limit(limit);
  const rows = await rowsOf(db, query);
  return rows.map((stored) => moveTable.decode(stored).row);
}

export interface CurrencyBooks {
  /** What is owed to players and earners: available, held, pools and referrals. */
  readonly liabilities: bigint;
  /**
   * Of this, cash-outs whose transaction is signed: it may have left the treasury already, and stays owed until it is
   * confirmed and booked.
   */
  readonly inFlight: bigint;
}

/** Both at the same moment: one statement sees one snapshot. */
export async function currencyBooks(
  db: Queryable,
  { appId, environment, currencyId }: CurrencyPlace,
): Promise<CurrencyBooks> {
  const schema = await liveReadSchema(db);
  const { rows } = await db.query<{ liabilities: string; in_flight: string }>(
    `select (select coalesce(sum(balance), 0) from ${schema}.trial_balances
              where app_id = $1 and environment = $2 and currency_id = $3
                and account in ('available', 'held', 'pools', 'referrals')) as liabilities,
            (select coalesce(sum(h.amount), 0)
               from ${schema}.holds h
               join ${schema}.moves m
                 on m.app_id = h.app_id and m.environment = h.environment
                and m.key = substr(h.hold_id, length('cashout:') + 1) and m.operation = 'cashOut'
                and m.user_id = h.user_id and m.currency_id = h.currency_id
              where h.app_id = $1 and h.environment = $2 and h.currency_id = $3
                and h.purpose = 'cashout' and h.payout is null
                and m.status in ('submitted', 'confirmed')) as in_flight`,
    [appId, environment, currencyId],
  );
  return { liabilities: BigInt(rows[0]?.liabilities ?? 0), inFlight: BigInt(rows[0]?.in_flight ?? 0) };
}
