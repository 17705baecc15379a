/** The moves that the books have as over, each looked for on the chain until that bears it out. */
import type { Pool } from '@coffer/database';
import { judge, searchOnChain } from '@coffer/moves';
import { liveReadSchema } from '@coffer/read-models';
import type { Address, Chain } from '@coffer/solana';
import type { BooksPlace, Discrepancy } from '../report.ts';
import { type EndedMove, endedMoveDiscrepancy, type MoveOnChain } from './comparisons.ts';

const PAGE = 400;
/** So many moves are looked for at once. */
const PARALLEL = 8;

/** All that is compared of a move: once any of it changes, the move is looked for again. */
const FACTS = `concat_ws(' ', m.status, m.signature, m.mint, m.amount, m.from_address, m.to_address)`;

export interface EndedMovesResult {
  readonly confirmed: number;
  readonly failed: number;
  readonly discrepancies: readonly Discrepancy[];
}

interface StoredEndedMove extends EndedMove {
  readonly ordinal: bigint;
  readonly facts: string;
}

/** Those up to `lastMove` that the chain has not borne out before. */
export async function checkEndedMoves(
  pool: Pool,
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  place: BooksPlace,
  feePayer: Address | undefined,
  {
    lastMove,
    signal,
    onLooked,
  }: {
    readonly lastMove: bigint;
    readonly signal: AbortSignal;
    readonly onLooked: (count: number) => void;
  },
): Promise<EndedMovesResult> {
  const counts = { confirmed: 0, failed: 0 };
  const discrepancies: Discrepancy[] = [];
  let after = 0n;
  for (;;) {
    const page = await unprovenMoves(pool, place, after, lastMove);
    for (let at = 0; at < page.length; at += PARALLEL) {
      signal.throwIfAborted();
      const looked = await Promise.all(
        page.slice(at, at + PARALLEL).map(async (move) => {
          const found = await foundOnChain(chain, move, feePayer);
          return { move, found, discrepancy: endedMoveDiscrepancy(move, found) };
        }),
      );
      for (const { move, discrepancy } of looked) {
        counts[move.status] += 1;
        if (discrepancy) discrepancies.push(discrepancy);
      }
      // What is not decided yet proves nothing: it is looked for again.
      const borneOut = looked.filter(({ found, discrepancy }) => !discrepancy && found !== 'undecided');
      await keepProven(
        pool,
        place,
        borneOut.map(({ move }) => move),
      );
      onLooked(looked.length);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return { ...counts, discrepancies };
    after = last.ordinal;
  }
}

async function foundOnChain(
  chain: Pick<Chain, 'transactionsOf' | 'transaction'>,
  { moveId, status, signature, mint, amount, fromAddress, toAddress }: EndedMove,
  feePayer = '',
): Promise<MoveOnChain> {
  const terms = { moveId, mint, amount, toAddress, from: { address: fromAddress } };
  if (status === 'confirmed') {
    return signature === null ? undefined : judge(chain, signature, terms, feePayer);
  }
  const found = await searchOnChain(chain, terms, feePayer);
  return found?.outcome === 'undecided' ? 'undecided' : found && { ...found, outcome: found.outcome };
}

async function unprovenMoves(
  pool: Pool,
  { appId, environment }: BooksPlace,
  after: bigint,
  lastMove: bigint,
): Promise<readonly StoredEndedMove[]> {
  const { rows } = await pool.query<{
    move_id: string;
    ordinal: string;
    status: 'confirmed' | 'failed';
    signature: string | null;
    mint: string;
    amount: string;
    from_address: string;
    to_address: string;
    facts: string;
  }>(
    `select m.move_id, m.ordinal, m.status, m.signature, m.mint, m.amount, m.from_address, m.to_address,
            ${FACTS} as facts
       from ${await liveReadSchema(pool)}.moves m
       left join records.reconcile_chain_moves proven
         on proven.move_id = m.move_id and proven.facts = ${FACTS}
      where m.app_id = $1 and m.environment = $2 and m.status in ('confirmed', 'failed')
        and m.ordinal > $3 and m.ordinal <= $4 and proven.move_id is null
      order by m.ordinal limit ${PAGE}`,
    [appId, environment, after.toString(), lastMove.toString()],
  );
  return rows.map((row) => ({
    moveId: row.move_id,
    ordinal: BigInt(row.ordinal),
    status: row.status,
    signature: row.signature,
    mint: row.mint,
    amount: BigInt(row.amount),
    fromAddress: row.from_address,
    toAddress: row.to_address,
    facts: row.facts,
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
