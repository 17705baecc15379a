/** Reconciles every app's books on a schedule, and reports the results by log and metrics. */
import type { Logger, Registry } from '@coffer/http';
import type { Clock, Environment } from '@coffer/kernel';
import {
  type BooksPlace,
  type ChainReconciler,
  type ChainReport,
  CoverageIncompleteError,
  type Mode,
  type Reconciler,
  type Report,
} from '@coffer/reconcile';
import { ChainUnreachableError } from '@coffer/solana';
import { reconcileMetrics } from './reconcileMetrics.ts';
import { onSchedule } from './schedule.ts';

export interface ReconcilerRoleOptions {
  readonly reconciler: Pick<Reconciler, 'reconcile'>;
  /** Called after each run, if there is a chain. */
  readonly chainReconciler: Pick<ChainReconciler, 'reconcile'>;
  readonly hasChain: (environment: Environment) => boolean;
  /** Everything there is to reconcile at this moment. */
  readonly places: () => Promise<readonly BooksPlace[]>;
  /** Cron expressions, in UTC. */
  readonly schedule: string;
  /** Undefined: only on request. */
  readonly fullSchedule: string | undefined;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly logger: Logger;
}

export interface ReconcilerRole {
  /** Reconciles everything once, as the schedule does. */
  readonly runOnce: (mode: Mode) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A run over a large log takes minutes; one that hangs must not block the schedule forever. */
const RUN_WITHIN_MS = 60 * 60 * 1000;

/** How many discrepancies of a run are logged individually. */
const MOST_LOGGED = 100;

export function startReconcilerRole(options: ReconcilerRoleOptions): ReconcilerRole {
  const { reconciler, chainReconciler, hasChain, places, schedule, fullSchedule, clock, registry, logger } =
    options;
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
      // All books share one fold of the log: it is derived again only once.
      nextMode = 'incremental';
      if (!stopped && hasChain(place.environment)) await reconcileChain(place, mode);
    }
  }

  async function reconcileOne(place: BooksPlace, mode: Mode): Promise<void> {
    const begunMs = performance.now();
    try {
      const request = { ...place, mode, withinMs: RUN_WITHIN_MS, isUnhurried: true };
      const report = await reconciler.reconcile(request);
      metrics.reported(report, { seconds: (performance.now() - begunMs) / 1000, at: clock() });
      tell(report);
    } catch (error) {
      if (!(error instanceof CoverageIncompleteError)) throw error;
      if (stopped) return;
      metrics.incomplete(place, error.gap);
      logger.warn({ ...place, reason: error.gap }, `nothing could be reconciled: ${error.message}`);
    }
  }

  async function reconcileChain(place: BooksPlace, mode: Mode): Promise<void> {
    try {
      const report = await chainReconciler.reconcile({ ...place, mode });
      metrics.reportedChain(report, clock());
      if (report.notCovered.length > 0) metrics.incompleteChain(place, 'history_not_kept');
      tellChain(report);
    } catch (error) {
      const reason = chainGapOf(error);
      if (reason === undefined) throw error;
      if (stopped) return;
      metrics.incompleteChain(place, reason);
      logger.warn({ ...place, reason, err: error }, 'the books could not be compared with the chain');
    }
  }

  function tellChain(report: ChainReport): void {
    const { appId, environment, currencies, unreadable, notCovered, discrepancies } = report;
    const facts = { appId, environment };
    if (notCovered.length > 0) {
      logger.warn(
        { ...facts, reason: 'history_not_kept', count: notCovered.length, first: notCovered[0]?.subject },
        'nodes no longer have all that the books are to be compared with',
      );
    }
    for (const { code: currency, shortfall, onChain, liabilities, inFlight } of currencies) {
      if (shortfall === 0n) continue;
      const figures = { shortfall, onChain, liabilities, inFlight };
      const texts = Object.fromEntries(
        Object.entries(figures).map(([name, figure]) => [name, figure.toString()]),
      );
      logger.warn(
        { ...facts, currency, ...texts },
        `the treasury holds ${shortfall} less ${currency} than is owed: docs/operating/shortfall.md`,
      );
    }
    for (const signature of unreadable) {
      logger.warn(
        { ...facts, signature },
        'a transaction names the treasury in a form that is not known here',
      );
    }
    for (const discrepancy of discrepancies.slice(0, MOST_LOGGED)) {
      logger.error({ ...facts, ...discrepancy }, `reconcile: ${discrepancy.check}: ${discrepancy.subject}`);
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

/** Undefined if the error is not about coverage. */
function chainGapOf(error: unknown): CoverageIncompleteError['gap'] | 'chain_unreachable' | undefined {
  if (error instanceof ChainUnreachableError) return 'chain_unreachable';
  return error instanceof CoverageIncompleteError ? error.gap : undefined;
}
