/** Apps with their keys, currencies and settings, and the operator's tools for the log and its consumers. */
import { defineContext, type Platform, someStream } from '@coffer/host';
import { environment as environments } from '@coffer/kernel';
import { allConsumers } from '@coffer/read-models';
import { createAllowedOrigins } from './allowedOrigins.ts';
import { createAppDirectory } from './appDirectory.ts';
import { listApps } from './apps.ts';
import { skip } from './domain/skip.ts';
import type { Mints } from './endpoints/options.ts';
import { portalEndpoints } from './endpoints/portalEndpoints.ts';
import { portalErrors } from './errors.ts';
import { createKeyring } from './keyring.ts';
import { portalMigrations } from './migrations.ts';
import { createPortalTokens, isPortalToken } from './portalTokens.ts';
import { createReadModelTasks } from './readModelTasks.ts';
import { createSkips } from './skips.ts';

/** Provided by the installation. */
export interface PortalGiven {
  /** On a trial installation: pages served from this machine may call every app. */
  readonly acceptsLoopback: boolean;
  readonly mints: Mints;
}

export const portalContext = defineContext({
  name: 'portal',
  errors: portalErrors,
  migrations: [portalMigrations],
  streams: [someStream(skip)],
  create({
    pool,
    patientPool,
    store,
    handler,
    clock,
    secretBox,
    secretsKey,
    logger,
    whole,
    acceptsLoopback,
    mints,
  }: Platform & PortalGiven) {
    const directory = createAppDirectory(pool, { secretBox });
    const keyring = createKeyring(pool, {
      clock,
      onWriteFailure: (error) => logger.warn({ err: error }, 'the time a key was last used was not kept'),
    });
    const portalTokens = createPortalTokens({ secretsKey, clock });
    const skips = createSkips({
      handler,
      store,
      clock,
      consumers: () => allConsumers(pool),
      owners: async () => [
        ...new Set((await listApps(pool)).flatMap(({ appId, scopeId }) => [appId, scopeId])),
      ],
      neverSkip: whole.unskippable,
    });
    const readModels = createReadModelTasks({
      pool: patientPool,
      store,
      isSkipped: skips.isSkipped,
      projections: whole.projections,
      onTrouble: (error) =>
        logger.warn({ err: error }, 'a rebuild of the read models is left to be cleared up'),
    });
    return {
      provides: {
        directory,
        skips,
        /** Every app in both environments. */
        places: async () =>
          (await listApps(pool)).flatMap(({ appId }) =>
            environments.options.map((environment) => ({ appId, environment })),
          ),
      },
      serves: {
        resolveKey: (token) =>
          isPortalToken(token) ? portalTokens.resolve(token) : keyring.resolveKey(token),
        operatorAt: async (appId) => ({
          kind: 'portal',
          // Nobody's: `portalAppOf` then does not find the app.
          appId: (await directory.app(appId)) ? appId : '',
          role: 'admin',
        }),
        allowedOrigins: createAllowedOrigins(pool, { directory, acceptsLoopback }),
        isSkipped: skips.isSkipped,
      },
      endpoints: portalEndpoints({
        pool,
        clock,
        secretBox,
        directory,
        eventStore: store,
        readModels,
        skips,
        mints,
        portalTokens,
      }),
      workers: [
        { start: () => ({ stop: () => keyring.close() }) },
        { start: () => ({ interrupt: readModels.interrupt, stop: readModels.stop }) },
      ],
    };
  },
});
