/** The service's snapshots of streams, and its reports of snapshots that it did not write. */
import { isMainThread } from 'node:worker_threads';
import type { Pool } from '@coffer/database';
import { createPostgresSnapshotStore, forgetOldSnapshots } from '@coffer/event-store/postgres';
import type { Logger } from '@coffer/http';
import { sweepEveryMinute } from './sweep.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** How many streams are reported by name; the metric counts all. */
const MOST_NAMED = 1_000;

/** Undefined if the installation's secret is not known here. */
export function keptSnapshots({
  snapshotSecret,
  logger,
  pool,
  patientPool,
}: {
  readonly snapshotSecret: Uint8Array | undefined;
  readonly logger: Logger;
  readonly pool: Pool;
  readonly patientPool: Pool;
}) {
  if (!snapshotSecret) {
    if (isMainThread)
      logger.warn(
        'COFFER_SECRETS_KEY is not given, and with a database elsewhere other nodes may have another one: no snapshots of streams are kept or used here, so that long ones are slow to be met again. Set it to the same value on every node; the one that this node has made is in secrets.json',
      );
    return undefined;
  }
  const named = new Set<string>();
  let forged = 0;
  const store = createPostgresSnapshotStore(pool, {
    secret: snapshotSecret,
    onForged({ stream }) {
      forged += 1;
      if (named.has(stream) || named.size >= MOST_NAMED) return;
      named.add(stream);
      logger.warn(
        { stream },
        'a snapshot was not written by this service, or under another COFFER_SECRETS_KEY, and is not used: somebody may have changed cache.snapshots',
      );
    },
  });
  let sweptAt = -Infinity;
  const sweep = async () => {
    if (performance.now() - sweptAt < DAY_MS) return;
    sweptAt = performance.now();
    await forgetOldSnapshots(patientPool);
  };
  return {
    store,
    forged: () => forged,
    /** Returns a function that stops it. */
    sweepDaily: () =>
      sweepEveryMinute(sweep, (err) => logger.warn({ err }, 'old snapshots were not removed')),
  };
}
