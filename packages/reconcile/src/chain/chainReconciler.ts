/**
 * Compares the books with the chain while moves continue. The order of the reads decides whether an alarm is
 * false:
 *
 * 1. The histories of the treasury's addresses: what final transactions took or brought.
 * 2. The books, with all that was in the log by then: what is owed. A deposit is owed only after it is final
 *    on the chain.
 * 3. The treasury's funds, in finalized blocks: they include every deposit that is owed by 2.
 * 4. The head of the log, and the read models once they have reached it. Whatever had left the treasury by 1
 *    or 3 was signed before, and what is signed is in the log before its first byte is sent: so its move is
 *    now in the rows.
 * 5. In one snapshot: cash-outs that are signed or confirmed but not booked, and those booked as paid since
 *    2. They include everything that could have left by 3 and is owed by 2: they are in flight. Also each
 *    transfer of 1 against its move.
 * 6. The ends of moves, each looked up on the chain. A move ends after its transaction is final.
 *
 * So moves never make funds look short. Until they are booked, they may hide a shortfall of as much as is in
 * flight. A node may lag behind the one that our driver asked: whatever is wrong is checked once more a
 * moment later.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import { type EventStore, LogRewrittenError } from '@coffer/event-store';
import type { Clock, Environment } from '@coffer/kernel';
import type { Address, Chain } from '@coffer/solana';
import { reachedBy } from '../reached.ts';
import {
  type BooksPlace,
  type Check,
  CoverageIncompleteError,
  type Discrepancy,
  type Mode,
} from '../report.ts';
import { underLock } from '../underLock.ts';
import { booksAfter, booksBefore, newestMove } from './chainBooks.ts';
import type { ChainReport } from './chainReport.ts';
import {
  type ChainCheck,
  type CurrencyOfChain,
  currenciesOnChain,
  transferVerdict,
  type UnmatchedTransfer,
} from './comparisons.ts';
import { checkEndedMoves } from './endedMoves.ts';
import { readHistories } from './treasuryAddresses.ts';

export interface ChainReconcilerDependencies {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'comparePositions' | 'head'>;
  readonly clock: Clock;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
  /** In finalized blocks, the funds that cash-outs are paid from. */
  readonly fundsOf: (chain: Chain, owner: Address, mint: string) => Promise<bigint>;
  /** The app's currencies that are on the chain of the environment. */
  readonly currenciesOf: (place: BooksPlace) => Promise<readonly CurrencyOfChain[]>;
  /** The wallets of the app; undefined if there are none yet. */
  readonly walletsOf: (place: BooksPlace) => Promise<{
    readonly treasury: Address | undefined;
    readonly feePayer: Address | undefined;
  }>;
  /** Called when a first look finds something wrong: the cause may be a lagging node. */
  readonly onDoubt: (report: ChainReport) => void;
  /** How long to wait before checking a problem once more. Default 3,000 ms. */
  readonly againAfterMs?: number;
  readonly limits?: { readonly readModelsWithinMs?: number };
}

interface ChainReconcileRequest extends BooksPlace {
  /** `full`: ignores what was seen of the chain before. */
  readonly mode: Mode;
  /** Called with the transactions and moves looked at so far. */
  readonly onProgress?: (progress: { readonly stage: string; readonly done: number }) => void;
}

export interface ChainReconciler {
  /**
   * Throws `chain/not_configured`, `CoverageIncompleteError`, and `ChainUnreachableError`: then nothing is
   * known, which does not mean that anything is wrong.
   */
  readonly reconcile: (request: ChainReconcileRequest) => Promise<ChainReport>;
  /**
   * Looks for what has happened since the last look, while nodes still have it: whatever they confirm is
   * kept, and never asked for again. Does not report what is wrong. Throws as `reconcile` does.
   */
  readonly bearOut: (place: BooksPlace & { readonly endedWithinHours: number }) => Promise<void>;
  /** Ends the runs that are under way. */
  readonly close: () => Promise<void>;
}

const AGAIN_AFTER_MS = 3_000;
/** Listing more of one kind adds nothing. */
const MOST_TOLD = 100;

export function createChainReconciler(dependencies: ChainReconcilerDependencies): ChainReconciler {
  const { pool, chainOf } = dependencies;
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();

  return {
    reconcile: (request) => alone(request, (chain) => runOn(dependencies, chain, request, closing.signal)),
    bearOut: (place) => alone(place, (chain) => bearOut(dependencies, chain, place, closing.signal)),
    async close() {
      closing.abort(new CoverageIncompleteError('still_running', 'The service is stopping.'));
      await Promise.allSettled(running);
    },
  };

  async function alone<Result>(place: BooksPlace, work: (chain: Chain) => Promise<Result>): Promise<Result> {
    const chain = chainOf(place.environment);
    const run = underLock(pool, lockOf(place), closing.signal, () => work(chain));
    running.add(run);
    try {
      return await run;
    } catch (error) {
      if (!(error instanceof LogRewrittenError)) throw error;
      throw new CoverageIncompleteError('log_rewritten', error.message, { cause: error });
    } finally {
      running.delete(run);
    }
  }
}

/** Reads the transfers since the last look, and the ends of moves that are in the rows. */
async function bearOut(
  dependencies: ChainReconcilerDependencies,
  chain: Chain,
  { appId, environment, endedWithinHours }: BooksPlace & { readonly endedWithinHours: number },
  signal: AbortSignal,
): Promise<void> {
  const { pool } = dependencies;
  const place = { appId, environment };
  const mode = 'incremental';
  const mints = [...new Set((await dependencies.currenciesOf(place)).map(({ mint }) => mint))];
  const { treasury, feePayer } = await dependencies.walletsOf(place);
  const kept = await chain.history();
  const options = { signal, onLooked() {} };
  if (treasury) await readHistories(pool, chain, { ...place, treasury, mints, kept, mode }, options);
  const lastMove = await newestMove(pool, place);
  const of = { mode, history: kept, lastMove, endedWithinHours, ...options } as const;
  await checkEndedMoves(pool, chain, place, feePayer, of);
}

/**
 * A separate lock for each place, so that a slow one keeps no other waiting. Six bytes: a number holds them
 * exactly.
 */
const lockOf = ({ appId, environment }: BooksPlace): number =>
  createHash('sha256').update(`reconcile chain ${environment} ${appId}`).digest().readUIntBE(0, 6);

async function runOn(
  dependencies: ChainReconcilerDependencies,
  chain: Chain,
  request: ChainReconcileRequest,
  signal: AbortSignal,
): Promise<ChainReport> {
  const { againAfterMs = AGAIN_AFTER_MS } = dependencies;
  const report = await look(dependencies, chain, request, signal);
  if (report.ok && report.notCovered.length === 0) return report;
  if (!report.ok) dependencies.onDoubt(report);
  await delay(againAfterMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  return look(dependencies, chain, request, signal);
}

async function look(
  dependencies: ChainReconcilerDependencies,
  chain: Chain,
  { appId, environment, mode, onProgress }: ChainReconcileRequest,
  signal: AbortSignal,
): Promise<ChainReport> {
  const { pool, store, clock, fundsOf } = dependencies;
  const place = { appId, environment };
  const currencies = await dependencies.currenciesOf(place);
  const mints = [...new Set(currencies.map(({ mint }) => mint))];
  const { treasury, feePayer } = await dependencies.walletsOf(place);
  const told = (stage: string) => {
    let done = 0;
    return (count: number) => {
      done += count;
      onProgress?.({ stage, done });
    };
  };

  const kept = await chain.history();
  const holes = treasury
    ? await readHistories(
        pool,
        chain,
        { ...place, treasury, mints, kept, mode },
        {
          signal,
          onLooked: told('reading the history of the treasury'),
        },
      )
    : [];

  await reachedBy(dependencies, await store.head(), signal);
  const before = await booksBefore(pool, place);
  const funds = new Map<string, bigint>();
  if (treasury !== undefined) {
    for (const mint of mints) funds.set(mint, await fundsOf(chain, treasury, mint));
  }

  await reachedBy(dependencies, await store.head(), signal);
  const after = await booksAfter(pool, place, before, treasury ?? null);
  const ended = await checkEndedMoves(pool, chain, place, feePayer, {
    mode,
    history: kept,
    lastMove: after.lastMove,
    signal,
    onLooked: told('looking for moves on the chain'),
  });

  const figures = currenciesOnChain(
    currencies.map((currency) => ({
      currency,
      figures: {
        onChain: funds.get(currency.mint) ?? 0n,
        liabilities: before.liabilities.get(currency.id) ?? 0n,
        inFlight: after.inFlight.get(currency.id) ?? 0n,
      },
    })),
  );
  const { unattributed, unknown } = sorted(after.unmatched);
  const discrepancies = [...ended.discrepancies, ...unknown];
  const checkOf = (name: ChainCheck, examined: number): Check => {
    return { name, ok: !discrepancies.some(({ check }) => check === name), examined };
  };
  const checks = [
    checkOf('chain/confirmed_moves', ended.confirmed),
    checkOf('chain/failed_moves', ended.failed),
    checkOf('chain/unknown_transfer', after.transfers),
  ];
  return {
    ...place,
    ok: discrepancies.length === 0 && figures.every(({ shortfall }) => shortfall === 0n),
    checkedAt: clock().toISOString(),
    mode,
    treasury: treasury ?? null,
    currencies: figures,
    checks,
    unattributed: unattributed.slice(0, MOST_TOLD),
    unreadable: after.unreadable.slice(0, MOST_TOLD),
    notCovered: [...holes, ...ended.notCovered].slice(0, MOST_TOLD),
    discrepancies: checks.flatMap(({ name }) =>
      discrepancies.filter(({ check }) => check === name).slice(0, MOST_TOLD),
    ),
  };
}

function sorted(transfers: readonly UnmatchedTransfer[]) {
  const unattributed: ChainReport['unattributed'][number][] = [];
  const unknown: Discrepancy[] = [];
  for (const transfer of transfers) {
    const found = transferVerdict(transfer);
    const { signature, mint } = transfer;
    if (found.verdict === 'unattributed') unattributed.push({ signature, mint, amount: found.amount });
    if (found.verdict === 'unknown') unknown.push(found.discrepancy);
  }
  unattributed.sort((one, other) => Number(other.amount > one.amount) - Number(other.amount < one.amount));
  return { unattributed, unknown };
}
