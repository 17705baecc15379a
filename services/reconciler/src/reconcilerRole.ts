/** Reconciles every app's books on a schedule, and tells by log and metrics what came of it. */
import type { Logger, Registry } from '@coffer/http';
import type { Clock } from '@coffer/kernel';
import {
  type BooksPlace,
  CoverageIncompleteError,
  type Mode,
  type Reconciler,
  type Report,
} from '@coffer/reconcile';
import { reconcileMetrics } from './reconcileMetrics.ts';
import { onSchedule } from './schedule.ts';

export interface ReconcilerRoleOptions {
  readonly reconciler: Pick<Reconciler, 'reconcile'>;
  /** All that there is to reconcile, at this moment. */
  readonly places: () => Promise<readonly BooksPlace[]>;
  /** Cron expressions, in UTC. */
  readonly schedule: string;
  /** Undefined: only when someone asks for it. */
  readonly fullSchedule: string | undefined;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly logger: Logger;
}

export interface ReconcilerRole {
  /** Reconciles everything once: what the schedule does. */
  readonly runOnce: (mode: Mode) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A run over a large log takes minutes; one that hangs must not keep the schedule waiting for ever. */
const RUN_WITHIN_MS = 60 * 60 * 1000;

/** So many discrepancies of a run are logged one by one. */
const MOST_LOGGED = 100;

export function startReconcilerRole(options: ReconcilerRoleOptions): ReconcilerRole {
  const { reconciler, places, schedule, fullSchedule, clock, registry, logger } = options;
  const metrics = reconcileMetrics(registry);
  let running: Promise<void> = Promise.resolve();
  let stopped = false;

  const onError = (error: unknown) => logger.error({ err: error }, 'the scheduled reconciliation failed');
  const onTime = (mode: Mode) => () => {
    running = running.then(() => runOnce(mode)).catch(onError);
    return running;
  };
  const stops = [onSchedule(schedule, onTime('incremental'), onError)];
  if (fullSchedule !== undefined) stops.push(onSchedule(fullSchedule, onTime('full'), onError));

  return {
    runOnce,
    async stop() {
      stopped = true;
      for (const stop of stops) stop();
      await running;
    },
  };

  async function runOnce(mode: Mode): Promise<void> {
    let nextMode = mode;
    for (const place of await places()) {
      if (stopped) return;
      await reconcileOne(place, nextMode);
      // All books share one fold of the log: it is derived anew once.
      nextMode = 'incremental';
    }
  }

  async function reconcileOne(place: BooksPlace, mode: Mode): Promise<void> {
    const begunMs = performance.now();
    try {
      const report = await reconciler.reconcile({ ...place, mode, withinMs: RUN_WITHIN_MS });
      metrics.reported(report, { seconds: (performance.now() - begunMs) / 1000, at: clock() });
      tell(report);
    } catch (error) {
      if (!(error instanceof CoverageIncompleteError)) throw error;
      if (stopped) return;
      metrics.incomplete(place, error.gap);
      logger.warn({ ...place, reason: error.gap }, `nothing could be reconciled: ${error.message}`);
    }
  }

  function tell({ appId, environment, position, ok, discrepancies }: Report): void {
    if (ok) return;
    const facts = { appId, environment, position };
    for (const discrepancy of discrepancies.slice(0, MOST_LOGGED)) {
      logger.error({ ...facts, ...discrepancy }, `reconcile: ${discrepancy.check}: ${discrepancy.subject}`);
    }
    logger.error({ ...facts, discrepancies: discrepancies.length }, 'the books do not reconcile');
  }
}
