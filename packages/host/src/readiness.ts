/** Whether a process can serve, and what is missing, for `GET /readyz`, which anybody may call. */
import type { Consumer, ConsumerStatus } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { type EventStore, type LogPlace, StoreUnreachableError } from '@coffer/event-store';
import type { Readiness, StoppedReader } from '@coffer/http';
import { allConsumers, areOfThisLog, caughtUpSince, type SchemaConsumer } from '@coffer/read-models';
import { storeFailureOf } from './storeFailures.ts';

export interface ReadinessOptions {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly headAtStart: LogPlace | undefined;
  /** The roles of this process. */
  readonly consumers: readonly Pick<Consumer, 'status'>[];
  readonly isApi: boolean;
  /** False until the start is complete: what a first user reads may not be written yet. */
  readonly isStarted: boolean;
}

/**
 * Every process names a consumer that has stopped for good, whichever process ran it. A process that serves requests
 * stays ready: it decides and answers as before, and if it left the load balancer, all of them would, over one event.
 * A process that only reads the log and has stopped doing so is not ready: this turns no caller away, and alerts its
 * supervisor.
 */
export async function readinessOf({
  pool,
  store,
  headAtStart,
  consumers,
  isApi,
  isStarted,
}: ReadinessOptions): Promise<Readiness> {
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
  if (!isStarted) reasons.add('The start is not done.');
  for (const { isSo, otherwise } of checks) {
    try {
      if (!(await isSo())) reasons.add(otherwise);
    } catch (error) {
      reasons.add(absenceIn(error));
    }
  }
  let stopped: readonly StoppedReader[] = [];
  try {
    stopped = (await allConsumers(pool)).flatMap(stoppedReader);
  } catch (error) {
    reasons.add(absenceIn(error));
  }
  if (!isApi && consumers.some((consumer) => hasStopped(consumer.status()))) {
    reasons.add('What this process is for has stopped for good. Somebody must look.');
  }
  return { ready: reasons.size === 0, reasons: [...reasons], stopped };
}

export const hasStopped = ({ state, reason }: ConsumerStatus): boolean =>
  state === 'stopped' && reason !== undefined;

/** Without stream and reason, which name users and quote events: operators see them in `coffer consumers list`. */
function stoppedReader({ name: consumer, owner, stopped }: SchemaConsumer): readonly StoppedReader[] {
  if (!stopped || owner !== undefined) return [];
  const { code, event } = stopped;
  const named = event ? { id: event.id, type: event.type } : null;
  return [{ consumer, code, position: event?.position ?? null, event: named }];
}

/** Without addresses, which are in the log. Throws on a mistake of ours. */
function absenceIn(error: unknown): string {
  if (error instanceof StoreUnreachableError) return 'The log cannot be reached.';
  if (storeFailureOf(error)?.code === 'service/unavailable') return 'The database cannot be reached.';
  throw error;
}
