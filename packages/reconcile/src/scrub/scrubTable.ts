/** `records.scrub`: whose turn it is, and how far the scrub has got. Only the database's clock counts. */
import type { Pool } from '@coffer/database';
import type { ScrubState } from './scrubState.ts';

/** Raised when an earlier state can no longer be read: its pass then starts again. */
const FORMAT = 1;

/** How long until another runner takes the turn of one that has died. */
export const LEASE_MS = 60_000;

export interface Turn {
  readonly number: string;
  /** Undefined before the first turn, or after another release. */
  readonly state: ScrubState | undefined;
}

interface Row {
  readonly turn: string;
  readonly state: string | null;
  readonly format: number;
}

const stateIn = ({ state, format }: Row): ScrubState | undefined =>
  // This release wrote it, or one that writes the same format.
  state !== null && format === FORMAT ? (JSON.parse(state) as ScrubState) : undefined;

/**
 * Undefined if no turn is due, or another runner has it. A turn that lasts longer than any is of a time when the
 * database's clock was ahead, and is not waited for.
 */
export async function takeTurn(pool: Pool, owner: string): Promise<Turn | undefined> {
  const { rows } = await pool.query<Row>(
    `update records.scrub
        set turn = turn + 1, owner = $1, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
      where (due_at is null or due_at <= clock_timestamp())
        and (leased_until is null or leased_until < clock_timestamp()
             or leased_until > clock_timestamp() + $2 * interval '2 milliseconds')
      returning turn, state, format`,
    [owner, LEASE_MS],
  );
  return rows[0] && { number: rows[0].turn, state: stateIn(rows[0]) };
}

/** False if another runner has taken over. */
export async function renewTurn(pool: Pool, { number }: Turn): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update records.scrub set leased_until = clock_timestamp() + $2 * interval '1 millisecond' where turn = $1`,
    [number, LEASE_MS],
  );
  return rowCount === 1;
}

/**
 * Ends the turn; the next is due after the given time. False, with nothing written, if another runner has
 * taken over.
 */
export async function endTurn(
  pool: Pool,
  { number }: Turn,
  state: ScrubState | undefined,
  waitMs: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update records.scrub
        set state = coalesce($2, state), format = case when $2 is null then format else $3 end,
            due_at = clock_timestamp() + $4 * interval '1 millisecond', owner = null, leased_until = null
      where turn = $1`,
    [number, state ? JSON.stringify(state) : null, FORMAT, Math.ceil(waitMs)],
  );
  return rowCount === 1;
}

/** How far the scrub is, whoever runs it, and how long until the next possible turn. */
export async function readScrub(
  pool: Pool,
): Promise<{ readonly state: ScrubState | undefined; readonly waitMs: number }> {
  const { rows } = await pool.query<Row & { readonly wait_ms: number }>(
    `select turn, state, format,
            greatest(0, extract(epoch from greatest(due_at, leased_until) - clock_timestamp()) * 1000)::float8 as wait_ms
       from records.scrub`,
  );
  return { state: rows[0] && stateIn(rows[0]), waitMs: rows[0]?.wait_ms ?? 0 };
}

/** For a log that was restored or carried elsewhere: the pass starts again. Its findings stay visible. */
export async function forgetScrubPass(db: Pick<Pool, 'query'>): Promise<void> {
  await db.query(
    `update records.scrub set turn = turn + 1, owner = null, leased_until = null, due_at = null,
            state = (state::jsonb || '{"pass": null}')::text`,
  );
}
