/** Looks up each move that has ended in the books on the chain, until the chain confirms it. */
import type { Pool } from '@coffer/database';
import { judge, searchOnChain } from '@coffer/moves';
import { liveReadSchema } from '@coffer/read-models';
import type { Address, Chain, KeptHistory } from '@coffer/solana';
import type { BooksPlace, Discrepancy, Mode } from '../report.ts';
import type { NotCovered } from './chainReport.ts';
import { type EndedMove, endedMoveDiscrepancy, type MoveOnChain } from './comparisons.ts';

const PAGE = 400;
/** How many moves are looked up at once. */
const PARALLEL = 8;

/** Everything compared for a move: once any of it changes, the move is looked up again. */
const FACTS = `concat_ws(' ', m.status, m.signature, m.mint, m.amount, m.from_address, m.to_address)`;

export interface EndedMovesResult {
  readonly confirmed: number;
  readonly failed: number;
  readonly discrepancies: readonly Discrepancy[];
  readonly notCovered: readonly NotCovered[];
}

interface StoredEndedMove extends EndedMove {
  readonly ordinal: bigint;
  readonly facts: string;
}

type AskedChain = Pick<Chain, 'transactionsOf' | 'transaction' | 'absence'>;

/** The moves up to `lastMove` that the chain has not confirmed before; in a full run all of them. */
export async function checkEndedMoves(
  pool: Pool,
  chain: AskedChain,
  place: BooksPlace,
  feePayer: Address | undefined,
  {
    mode,
    history,
    lastMove,
    endedWithinHours,
    signal,
    onLooked,
  }: {
    readonly mode: Mode;
    readonly history: KeptHistory;
    readonly lastMove: bigint;
    /** Only moves that ended within this time; all of them if absent. */
    readonly endedWithinHours?: number;
    readonly signal: AbortSignal;
    readonly onLooked: (count: number) => void;
  },
): Promise<EndedMovesResult> {
  const counts = { confirmed: 0, failed: 0 };
  const discrepancies: Discrepancy[] = [];
  const notCovered: NotCovered[] = [];
  let after = 0n;
  for (;;) {
    const page = await movesToLookFor(pool, place, {
      mode,
      after,
      lastMove,
      endedWithinHours: endedWithinHours ?? null,
    });
    for (let at = 0; at < page.length; at += PARALLEL) {
      signal.throwIfAborted();
      const looked = await Promise.all(
        page.slice(at, at + PARALLEL).map(async (move) => {
          const found = await foundOnChain(chain, history, move, feePayer);
          return { move, found, discrepancy: endedMoveDiscrepancy(move, found) };
        }),
      );
      for (const { move, found, discrepancy } of looked) {
        counts[move.status] += 1;
        if (discrepancy) discrepancies.push(discrepancy);
        const { moveId: subject, signature, slot } = move;
        if (found === 'untold') notCovered.push({ subject, signature, slot });
      }
      // What nobody can tell proves nothing: it is looked up again.
      const borneOut = looked.filter(({ found, discrepancy }) => !discrepancy && found !== 'untold');
      await keepProven(
        pool,
        place,
        borneOut.map(({ move }) => move),
      );
      onLooked(looked.length);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return { ...counts, discrepancies, notCovered };
    after = last.ordinal;
  }
}

async function foundOnChain(
  chain: AskedChain,
  history: KeptHistory,
  { moveId, status, signature, slot, mint, amount, fromAddress, toAddress, requestedAt }: EndedMove,
  feePayer = '',
): Promise<MoveOnChain> {
  const terms = { moveId, mint, amount, toAddress, from: { address: fromAddress } };
  if (status === 'confirmed') {
    if (signature === null) return undefined;
    const verdict = await judge(chain, signature, terms, feePayer);
    if (verdict !== 'undecided') return verdict;
    return (await chain.absence(signature, slot ?? 0n)) === 'unknown' ? undefined : 'untold';
  }
  const { found } = await searchOnChain(chain, terms, feePayer);
  if (found?.outcome === 'undecided') return 'untold';
  if (found) return { ...found, outcome: found.outcome };
  // Only a history that begins before the move was requested can prove that there is none.
  const reachesBack = history.from === 0n || (history.fromAt !== null && history.fromAt <= requestedAt);
  return reachesBack ? undefined : 'untold';
}

async function movesToLookFor(
  pool: Pool,
  { appId, environment }: BooksPlace,
  {
    mode,
    after,
    lastMove,
    endedWithinHours,
  }: {
    readonly mode: Mode;
    readonly after: bigint;
    readonly lastMove: bigint;
    readonly endedWithinHours: number | null;
  },
): Promise<readonly StoredEndedMove[]> {
  type Row = Omit<StoredEndedMove, 'ordinal' | 'amount' | 'slot'> & Record<'ordinal' | 'amount', string>;
  const { rows } = await pool.query<Row & { readonly slot: string | null }>(
    `select m.move_id as "moveId", m.ordinal, m.status, m.signature, m.mint, m.amount,
            m.from_address as "fromAddress", m.to_address as "toAddress", m.slot,
            m.requested_at as "requestedAt", ${FACTS} as facts
       from ${await liveReadSchema(pool)}.moves m
       left join records.reconcile_chain_moves proven
         on proven.move_id = m.move_id and proven.facts = ${FACTS}
      where m.app_id = $1 and m.environment = $2 and m.status in ('confirmed', 'failed')
        and m.ordinal > $3 and m.ordinal <= $4 and (proven.move_id is null or $5)
        and ($6::integer is null or m.updated_at > now() - make_interval(hours => $6))
      order by m.ordinal limit ${PAGE}`,
    [appId, environment, after.toString(), lastMove.toString(), mode === 'full', endedWithinHours],
  );
  return rows.map(({ ordinal, amount, slot, ...row }) => ({
    ...row,
    ordinal: BigInt(ordinal),
    amount: BigInt(amount),
    slot: slot === null ? null : BigInt(slot),
  }));
}

async function keepProven(
  pool: Pool,
  { appId, environment }: BooksPlace,
  moves: readonly StoredEndedMove[],
): Promise<void> {
  if (moves.length === 0) return;
  const rows = moves.map(({ moveId, facts }) => ({
    move_id: moveId,
    app_id: appId,
    environment,
    facts,
  }));
  await pool.query(
    `insert into records.reconcile_chain_moves
     select * from json_populate_recordset(null::records.reconcile_chain_moves, $1)
     on conflict (move_id) do update set facts = excluded.facts`,
    [JSON.stringify(rows)],
  );
}
