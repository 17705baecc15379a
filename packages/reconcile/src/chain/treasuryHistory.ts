/**
 * What final transactions did to a treasury, whoever signed them: read from the histories of its addresses, the
 * newest first, back to where the last run began, and kept.
 */
import type { Queryable } from '@coffer/database';
import {
  type Address,
  type Chain,
  type ExecutedTransaction,
  type Signature,
  TransactionUnreadableError,
} from '@coffer/solana';
import type { BooksPlace } from '../report.ts';
import { treasuryChanges } from './comparisons.ts';

/** Signatures of a page of a history. */
const PAGE = 500;
/** So many transactions are asked for at once. */
const PARALLEL = 8;

export interface TreasuryHistory extends BooksPlace {
  readonly treasury: Address;
  /** The treasury and its token accounts. */
  readonly addresses: readonly Address[];
  readonly mints: readonly string[];
}

export interface HistoryOptions {
  readonly signal: AbortSignal;
  /** Told of transactions looked at. */
  readonly onLooked: (count: number) => void;
}

/** Takes over what is new and final. */
export async function readTreasuryHistory(
  db: Queryable,
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  history: TreasuryHistory,
  options: HistoryOptions,
): Promise<void> {
  for (const address of history.addresses) await readHistoryOf(db, chain, history, address, options);
}

async function readHistoryOf(
  db: Queryable,
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  history: TreasuryHistory,
  address: Address,
  { signal, onLooked }: HistoryOptions,
): Promise<void> {
  const { appId, environment } = history;
  const until = await readUpTo(db, history, address);
  // The newest one before which all are final: the next run goes back to it.
  let reached: Signature | undefined;
  let before: Signature | undefined;
  for (;;) {
    signal.throwIfAborted();
    const page = await chain.transactionsOf(address, {
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
      ...(until === undefined ? {} : { until }),
    });
    for (let at = 0; at < page.length; at += PARALLEL) {
      signal.throwIfAborted();
      const some = page.slice(at, at + PARALLEL);
      const looked = await Promise.all(
        some.map(async ({ signature }) => ({ signature, executed: await executedOf(chain, signature) })),
      );
      for (const { signature, executed } of looked) {
        if (executed === 'undecided') reached = undefined;
        else reached ??= signature;
      }
      await keepChanges(db, history, looked);
      onLooked(looked.length);
    }
    before = page.at(-1)?.signature;
    if (page.length < PAGE) break;
  }
  if (reached === undefined) return;
  await db.query(
    `insert into records.reconcile_chain_histories (app_id, environment, address, signature)
     values ($1, $2, $3, $4)
     on conflict (app_id, environment, address) do update set signature = excluded.signature`,
    [appId, environment, address, reached],
  );
}

async function readUpTo(
  db: Queryable,
  { appId, environment }: BooksPlace,
  address: Address,
): Promise<Signature | undefined> {
  const { rows } = await db.query<{ signature: string }>(
    `select signature from records.reconcile_chain_histories
      where app_id = $1 and environment = $2 and address = $3`,
    [appId, environment, address],
  );
  return rows[0]?.signature;
}

type Executed = ExecutedTransaction | 'undecided' | 'unreadable';

async function executedOf(chain: Pick<Chain, 'transaction'>, signature: Signature): Promise<Executed> {
  try {
    return (await chain.transaction(signature)) ?? 'undecided';
  } catch (error) {
    if (error instanceof TransactionUnreadableError) return 'unreadable';
    throw error;
  }
}

async function keepChanges(
  db: Queryable,
  { appId, environment, treasury, mints }: TreasuryHistory,
  looked: readonly { readonly signature: Signature; readonly executed: Executed }[],
): Promise<void> {
  const rows = looked.flatMap(({ signature, executed }) => {
    if (executed === 'undecided') return [];
    const changes = executed === 'unreadable' ? [UNREADABLE] : treasuryChanges(executed, treasury, mints);
    return changes.map(({ mint, change }) => {
      return { app_id: appId, environment, signature, mint, change: change?.toString() ?? null };
    });
  });
  if (rows.length === 0) return;
  await db.query(
    `insert into records.reconcile_chain_transfers
     select * from json_populate_recordset(null::records.reconcile_chain_transfers, $1)
     on conflict do nothing`,
    [JSON.stringify(rows)],
  );
}

const UNREADABLE = { mint: '', change: null } as const;
