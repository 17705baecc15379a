/** The hash chain over the log, its verification, and places in its past. */
import { projecting, startConsumer } from '@coffer/consumers';
import { defineContext, type Platform } from '@coffer/host';
import { type AppDirectory, streamFilter } from '@coffer/portal';
import { chainOfLog } from './chainedEntries.ts';
import { CHAIN_CONSUMER, CHAIN_PAGE_INTERVAL_MS, chainProjection } from './chainProjection.ts';
import { auditErrors } from './errors.ts';
import { createLogScrub } from './logScrub.ts';
import { auditMigrations } from './migrations.ts';
import { createPastPlaceOf } from './pastPlace.ts';
import { createPointsInTime } from './pointInTime.ts';
import { auditEndpoints } from './routes.ts';
import { streamRules } from './streamRules.ts';

export interface AuditNeeds extends Platform {
  readonly directory: AppDirectory;
}

export const auditContext = defineContext({
  name: 'audit',
  errors: auditErrors,
  migrations: [auditMigrations],
  unskippable: [CHAIN_CONSUMER.name],
  create({ pool, patientPool, store, clock, snapshots, whole, directory }: AuditNeeds) {
    const rules = whole.streams.map((stream) => stream(streamRules));
    return {
      provides: {
        pastPlaceOf: createPastPlaceOf({ store, clock, pointsInTime: createPointsInTime(pool, store) }),
        chainOfLog,
        logScrub: createLogScrub({ db: patientPool, store, rules, snapshots }),
      },
      endpoints: auditEndpoints({
        db: patientPool,
        store,
        rules,
        snapshots,
        streamFilter: (wanted) => streamFilter(directory, wanted),
      }),
      workers: [
        {
          role: 'projector',
          start(shared) {
            const consumer = startConsumer({
              ...shared,
              ...CHAIN_CONSUMER,
              work: projecting([chainProjection()]),
              minPageIntervalMs: CHAIN_PAGE_INTERVAL_MS,
            });
            return { consumers: [consumer], stop: consumer.stop };
          },
        },
      ],
    };
  },
});
