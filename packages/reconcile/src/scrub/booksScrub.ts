/**
 * The books, derived again from the first event, in a fold of their own so that ordinary runs never wait for
 * it.
 */
import type { EventStore } from '@coffer/event-store';
import { lockOf, type ReconcileDependencies, reconcile } from '../reconcile.ts';
import type { BooksPlace, Report } from '../report.ts';
import { underLock } from '../underLock.ts';
import { holdVerified, SCRUBBED_SCHEMA } from '../verified.ts';

export interface BooksScrub {
  /**
   * Takes about this many more events. `anew` discards what was derived before. Throws `PoisonEventError`,
   * `LogRewrittenError`.
   */
  readonly derive: (options: {
    readonly anew: boolean;
    readonly events: number;
    readonly signal: AbortSignal;
  }) => Promise<{ readonly ordinal: number; readonly taken: number; readonly isAtEnd: boolean }>;
  /** First brings the derived books to the place of the live rows. Throws `CoverageIncompleteError`. */
  readonly compare: (place: BooksPlace, signal: AbortSignal) => Promise<Report>;
  readonly drop: () => Promise<void>;
}

export function createBooksScrub(
  options: ReconcileDependencies & { readonly store: EventStore },
): BooksScrub {
  const dependencies = { ...options, schema: SCRUBBED_SCHEMA };
  const { pool, store } = dependencies;
  return {
    derive: ({ anew, events, signal }) =>
      underLock(pool, lockOf(dependencies), signal, async () => {
        const held = await holdVerified(dependencies, { anew });
        const from = held.checkpoint();
        let taken = 0;
        let to = from;
        for await (const page of store.readAll({ ...(from && { from: from.position }), limit: events })) {
          const last = page.at(-1);
          taken += page.length;
          if (last) to = { position: last.position, eventId: last.id, ordinal: (from?.ordinal ?? 0) + taken };
        }
        if (taken > 0) await held.advance(to, { signal });
        return { ordinal: to?.ordinal ?? 0, taken, isAtEnd: taken < events };
      }),
    compare: (place, signal) => reconcile(dependencies, { ...place, mode: 'incremental', signal }),
    drop: async () => {
      await pool.query(`drop schema if exists ${SCRUBBED_SCHEMA} cascade`);
    },
  };
}
