/**
 * Confirms the ends of moves against the chain soon after they happen: nodes keep a transaction for days, or
 * only for minutes, and a later comparison of the books with the chain then need not ask them for it.
 */
import type { Pool } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import { liveReadSchema } from '@coffer/read-models';
import type { BooksPlace } from '../report.ts';

export interface BearingOutOptions {
  readonly pool: Pool;
  readonly bearOut: (place: BooksPlace & { readonly endedWithinHours: number }) => Promise<void>;
  readonly hasChain: (environment: Environment) => boolean;
  /** Default 15,000 ms. */
  readonly everyMs?: number;
  /** A look failed; the next one covers the same moves. */
  readonly onTrouble: (error: unknown, place: BooksPlace | undefined) => void;
}

const EVERY_MS = 15_000;
/** What has not been confirmed in this time will not be by asking repeatedly: a reconciliation reports it. */
const LOOKED_FOR_HOURS = 1;
/** It is not known how long nothing was running. */
const AT_FIRST_HOURS = 24 * 7;

export function startBearingOut(options: BearingOutOptions): { readonly stop: () => Promise<void> } {
  const { pool, bearOut, hasChain, everyMs = EVERY_MS, onTrouble } = options;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let looking = look(AT_FIRST_HOURS);
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
    },
  };

  async function look(hours: number): Promise<void> {
    try {
      for (const place of await placesWithEnds(pool, hours)) {
        if (isStopped) return;
        if (!hasChain(place.environment)) continue;
        await bearOut({ ...place, endedWithinHours: hours }).catch((error) => onTrouble(error, place));
      }
    } catch (error) {
      onTrouble(error, undefined);
    }
    if (isStopped) return;
    timer = setTimeout(() => {
      looking = look(LOOKED_FOR_HOURS);
    }, everyMs);
  }
}

/** Places where moves have ended in the last hours and are not confirmed yet. */
async function placesWithEnds(pool: Pool, hours: number): Promise<readonly BooksPlace[]> {
  const { rows } = await pool.query<{ app_id: string; environment: Environment }>(
    `select distinct m.app_id, m.environment
       from ${await liveReadSchema(pool)}.moves m
       left join records.reconcile_chain_moves proven on proven.move_id = m.move_id
      where m.status in ('confirmed', 'failed') and proven.move_id is null
        and m.updated_at > now() - make_interval(hours => $1)`,
    [hours],
  );
  return rows.map(({ app_id: appId, environment }) => ({ appId, environment }));
}
