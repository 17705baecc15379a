/**
 * What final transactions did to a treasury, whoever signed them: read from the histories of its addresses,
 * newest first, back to where the last run began, and stored.
 */
import type { Queryable } from '@coffer/database';
import {
  type Address,
  type Chain,
  type ExecutedTransaction,
  type KeptHistory,
  type Signature,
  TransactionUnreadableError,
} from '@coffer/solana';
import type { BooksPlace, Mode } from '../report.ts';
import type { NotCovered } from './chainReport.ts';
import { treasuryChanges } from './comparisons.ts';

/** Signatures in a page of a history. */
const PAGE = 500;
/** How many transactions are asked for at once. */
const PARALLEL = 8;

export interface TreasuryHistory extends BooksPlace {
  readonly treasury: Address;
  /** The treasury and its token accounts, each with what it holds. */
  readonly addresses: readonly { readonly address: Address; readonly mint: string }[];
  readonly mints: readonly string[];
  /** The history that nodes keep, read beforehand. */
  readonly kept: KeptHistory;
  /** By mint: the slot of the first transaction that moves know of. Before it there was nothing to read. */
  readonly firstSlots: ReadonlyMap<string, bigint>;
  /** `full`: ignores what was read before. */
  readonly mode: Mode;
}

export interface HistoryOptions {
  readonly signal: AbortSignal;
  /** Called with the number of transactions looked at. */
  readonly onLooked: (count: number) => void;
}

/**
 * Stores what is new and final. Returns the addresses for which nodes no longer have the whole history: the
 * place reached is not stored for these, so that a node with the whole history can fill the gap.
 */
export async function readTreasuryHistory(
  db: Queryable,
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  history: TreasuryHistory,
  options: HistoryOptions,
): Promise<readonly NotCovered[]> {
  const notCovered: NotCovered[] = [];
  for (const { address, mint } of history.addresses) {
    const hole = await readHistoryOf(db, chain, history, { address, mint }, options);
    if (hole) notCovered.push(hole);
  }
  return notCovered;
}

async function readHistoryOf(
  db: Queryable,
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  history: TreasuryHistory,
  { address, mint }: { readonly address: Address; readonly mint: string },
  { signal, onLooked }: HistoryOptions,
): Promise<NotCovered | undefined> {
  const { appId, environment, kept, mode, firstSlots } = history;
  const read = mode === 'full' ? undefined : await readUpTo(db, history, address);
  const until = read?.signature;
  const seenTo = read ? read.coveredTo : firstSlots.get(mint);
  // There may have been something between what was seen and what is kept.
  let hasHole = seenTo !== undefined && seenTo !== null && seenTo + 1n < kept.from;
  let coveredTo = kept.to;
  // The newest one before which all are final: the next run reads back to it.
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
        some.map(async ({ signature, slot }) => {
          return { signature, slot, executed: await executedOf(chain, signature) };
        }),
      );
      for (const { signature, slot, executed } of looked) {
        if (executed !== 'undecided') {
          reached ??= signature;
          continue;
        }
        reached = undefined;
        // Final, but kept by no node.
        if (slot <= kept.to) hasHole = true;
        else if (slot <= coveredTo) coveredTo = slot - 1n;
      }
      await keepChanges(db, history, looked);
      onLooked(looked.length);
    }
    before = page.at(-1)?.signature;
    if (page.length < PAGE) break;
  }
  if (hasHole) return { subject: address, signature: null, slot: seenTo ?? null };
  // Even with nothing new, the address has been seen up to a later slot.
  const upTo = reached ?? until;
  if (upTo === undefined) return undefined;
  await db.query(
    `insert into records.reconcile_chain_histories (app_id, environment, address, signature, covered_to)
     values ($1, $2, $3, $4, $5)
     on conflict (app_id, environment, address)
     do update set signature = excluded.signature, covered_to = excluded.covered_to`,
    [appId, environment, address, upTo, coveredTo.toString()],
  );
  return undefined;
}

async function readUpTo(
  db: Queryable,
  { appId, environment }: BooksPlace,
  address: Address,
): Promise<{ readonly signature: Signature; readonly coveredTo: bigint | null } | undefined> {
  const { rows } = await db.query<{ signature: string; covered_to: string | null }>(
    `select signature, covered_to from records.reconcile_chain_histories
      where app_id = $1 and environment = $2 and address = $3`,
    [appId, environment, address],
  );
  const [row] = rows;
  if (!row) return undefined;
  return { signature: row.signature, coveredTo: row.covered_to === null ? null : BigInt(row.covered_to) };
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
     on conflict (app_id, environment, signature, mint) do update set change = excluded.change`,
    [JSON.stringify(rows)],
  );
}

const UNREADABLE = { mint: '', change: null } as const;
