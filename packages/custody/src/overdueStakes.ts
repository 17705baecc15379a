/**
 * Stakes that nobody confirmed in time go back. Rows say in which pools to look, and each pool decides anew, so a stake
 * that is being confirmed is either confirmed or released. Source: contract, Custody (orphans).
 */
import { type Pool as Database, withAdvisoryLock } from '@coffer/database';
import type { EventStore, Requester } from '@coffer/event-store';
import { sweepEveryMinute } from '@coffer/host';
import type { Logger } from '@coffer/http';
import { type Clock, isoTimeOf } from '@coffer/kernel';
import { poolsWithOverdueStakes, rowsAsNow } from '@coffer/read-models';
import { manyAtATime } from './credits.ts';
import type { ReleasedStake } from './domain/pool.answers.ts';
import type { PoolPlace } from './poolStreams.ts';
import type { Pools } from './pools.ts';

export interface OverdueDependencies {
  readonly db: Database;
  readonly store: Pick<EventStore, 'head' | 'comparePositions'>;
  readonly clock: Clock;
  readonly pools: Pick<Pools, 'release'>;
}

/** A stake that was given back, with its pool. */
export interface ReleasedFromPool extends ReleasedStake {
  readonly poolId: string;
}

export type OverdueStakes = ReturnType<typeof createOverdueStakes>;

/** In one request or sweep; the rest is for the next one. */
const MOST_POOLS = 1_000;
/** Before the end of a request nothing more is begun. */
const ANSWER_WITHIN_MS = 1_000;
const SWEEP_WITHIN_MS = 50_000;

/** An arbitrary constant: one process at a time sweeps. */
const SWEEP_LOCK = 7_263_012;

export function createOverdueStakes({ db, store, clock, pools }: OverdueDependencies) {
  return { releaseIn, sweep };

  /** Those of an app and environment, as far as the request's time allows. */
  async function releaseIn(
    place: PoolPlace,
    olderThanSeconds: number,
    context: Requester,
  ): Promise<readonly ReleasedFromPool[]> {
    await rowsAsNow(db, store, context);
    return release(place, olderThanSeconds, context);
  }

  /** Those of all apps, unless another process is sweeping. */
  async function sweep(signal: AbortSignal): Promise<void> {
    await withAdvisoryLock(db, SWEEP_LOCK, async (lost) => {
      const deadlineMs = performance.now() + SWEEP_WITHIN_MS;
      const context = { requestId: 'sweep', actor: 'service', deadlineMs };
      await release(undefined, 0, context, AbortSignal.any([signal, lost]));
    });
  }

  async function release(
    place: PoolPlace | undefined,
    olderThanSeconds: number,
    context: Requester,
    signal?: AbortSignal,
  ): Promise<readonly ReleasedFromPool[]> {
    const found = await poolsWithOverdueStakes(db, { at: isoTimeOf(clock), limit: MOST_POOLS, place });
    const released: ReleasedFromPool[] = [];
    await manyAtATime(found, async ({ poolId, ...owner }) => {
      if (signal?.aborted || performance.now() > context.deadlineMs - ANSWER_WITHIN_MS) return;
      const stakes = await pools.release(owner, poolId, olderThanSeconds, context);
      released.push(...stakes.map((stake) => ({ poolId, ...stake })));
    });
    return released;
  }
}

/** Returns a function that stops it. */
export function sweepOverdueStakes({ sweep }: Pick<OverdueStakes, 'sweep'>, logger: Logger) {
  const stopping = new AbortController();
  const stop = sweepEveryMinute(
    () => sweep(stopping.signal),
    (error) => logger.warn({ err: error }, 'overdue stakes were not all released'),
  );
  return () => {
    stopping.abort();
    return stop();
  };
}
