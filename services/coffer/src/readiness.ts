/** Whether a process can serve, and what is missing, for `GET /readyz`, which anybody may ask. */
import type { Pool } from '@coffer/database';
import { type EventStore, type LogPlace, StoreUnreachableError } from '@coffer/event-store';
import type { Readiness } from '@coffer/http';
import { areOfThisLog, caughtUpSince } from '@coffer/read-models';
import { errorOf } from './errorOf.ts';

export async function readinessOf(
  pool: Pool,
  store: EventStore,
  headAtStart: LogPlace | undefined,
): Promise<Readiness> {
  const checks = [
    {
      isSo: () => caughtUpSince(pool, store, headAtStart),
      otherwise: 'The read models have not caught up since the start.',
    },
    {
      isSo: () => areOfThisLog(pool, store),
      otherwise: 'The read models are of another log: it was put back to an older state.',
    },
  ];
  const reasons = new Set<string>();
  for (const { isSo, otherwise } of checks) {
    try {
      if (!(await isSo())) reasons.add(otherwise);
    } catch (error) {
      reasons.add(absenceIn(error));
    }
  }
  return { ready: reasons.size === 0, reasons: [...reasons] };
}

/** Without addresses: those are in the log. Throws what is a mistake of ours. */
function absenceIn(error: unknown): string {
  if (error instanceof StoreUnreachableError) return 'The log cannot be reached.';
  if (errorOf(error)?.code === 'service/unavailable') return 'The database cannot be reached.';
  throw error;
}
