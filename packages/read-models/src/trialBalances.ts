/** The books of an app and an environment, now or at an earlier place: the seven accounts by currency. */
import type { Queryable } from '@coffer/database';
import type { Environment } from '@coffer/kernel';

export const BOOK_ACCOUNTS = [
  'available',
  'held',
  'pools',
  'house',
  'referrals',
  'external',
  'adjustments',
] as const;

type BookAccount = (typeof BOOK_ACCOUNTS)[number];

/** Base units, signed as in the books: the seven sum to zero. */
export type TrialBalance = { readonly currencyId: number } & { readonly [Account in BookAccount]: bigint };

export interface TrialBalanceQuery {
  readonly appId: string;
  readonly environment: Environment;
  /** The state after this event of the log. Default: after the last one taken. */
  readonly upToOrdinal?: number | undefined;
}

/** Only currencies with any postings, by id. */
export async function trialBalances(
  db: Queryable,
  schema: string,
  { appId, environment, upToOrdinal }: TrialBalanceQuery,
): Promise<readonly TrialBalance[]> {
  const { rows } =
    upToOrdinal === undefined
      ? await db.query<BookRow>(
          `select currency_id, account, balance from ${schema}.trial_balances
            where app_id = $1 and environment = $2 order by currency_id`,
          [appId, environment],
        )
      : await db.query<BookRow>(
          `select currency_id, account, sum(amount) as balance from ${schema}.postings
            where app_id = $1 and environment = $2 and log_ordinal <= $3
            group by currency_id, account order by currency_id`,
          [appId, environment, upToOrdinal],
        );
  return [...Map.groupBy(rows, ({ currency_id }) => currency_id)].map(([currencyId, ofCurrency]) =>
    trialBalanceOf(currencyId, ofCurrency),
  );
}

interface BookRow {
  readonly currency_id: number;
  readonly account: string;
  readonly balance: string;
}

function trialBalanceOf(currencyId: number, rows: readonly BookRow[]): TrialBalance {
  const balanceOf = (name: BookAccount) => BigInt(rows.find(({ account }) => account === name)?.balance ?? 0);
  return {
    currencyId,
    available: balanceOf('available'),
    held: balanceOf('held'),
    pools: balanceOf('pools'),
    house: balanceOf('house'),
    referrals: balanceOf('referrals'),
    external: balanceOf('external'),
    adjustments: balanceOf('adjustments'),
  };
}
