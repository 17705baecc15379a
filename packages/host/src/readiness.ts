/** Whether a process can serve, and what is missing, for `GET /readyz`, which anybody may ask. */
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
  /** Those of this process. */
  readonly consumers: readonly Pick<Consumer, 'status'>[];
  readonly isApi: boolean;
  /** False while the start itself is not done: what a first user is to read may not be written yet. */
  readonly isStarted: boolean;
}

/**
 * A consumer that has stopped for good is named by every process, whichever ran it. One that serves requests stays ready:
 * it decides and answers as before, and were it to leave the load balancer all of them would, for one event. One that
 * does nothing but read the log and has stopped doing so is not ready: nobody is turned away, and its supervisor learns.
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

/** Without stream and reason, which name users and quote events: operators are told by `coffer consumers list`. */
function stoppedReader({ name: consumer, owner, stopped }: SchemaConsumer): readonly StoppedReader[] {
  if (!stopped || owner !== undefined) return [];
  const { code, event } = stopped;
  const named = event ? { id: event.id, type: event.type } : null;
  return [{ consumer, code, position: event?.position ?? null, event: named }];
}

/** Without addresses: those are in the log. Throws what is a mistake of ours. */
function absenceIn(error: unknown): string {
  if (error instanceof StoreUnreachableError) return 'The log cannot be reached.';
  if (storeFailureOf(error)?.code === 'service/unavailable') return 'The database cannot be reached.';
  throw error;
}
