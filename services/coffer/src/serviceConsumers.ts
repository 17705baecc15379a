/** What reads the log in this process, by its roles. */
import { CHAIN_CONSUMER, CHAIN_PAGE_INTERVAL_MS, chainProjection } from '@coffer/audit';
import {
  type Consumer,
  type ConsumerOptions,
  projecting,
  type Reaction,
  reacting,
  type SkipLookup,
  startConsumer,
} from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { CommandHandler, EventStore } from '@coffer/event-store';
import { type ReadModelProjections, startLiveReadModels } from '@coffer/read-models';
import type { ServiceOptions } from './service.ts';

/** What every consumer of a service shares. */
export type SharedOptions = Pick<ConsumerOptions, 'pool' | 'store' | 'isSkipped' | 'onAlarm' | 'onTrouble'>;

export function sharedConsumerOptions(
  { logger }: Pick<ServiceOptions, 'logger'>,
  pool: Pool,
  store: EventStore,
  {
    handler,
    isSkipped,
  }: { readonly handler: Pick<CommandHandler, 'forget'>; readonly isSkipped: SkipLookup },
): SharedOptions {
  return {
    pool,
    store,
    isSkipped,
    onAlarm: ({ consumer, code, reason, event, error }) => {
      // What was cached of a log that is gone must not answer for the one that is there.
      if (code === 'store/log_rewritten') handler.forget();
      logger.error({ consumer, code, event, err: error }, `${consumer} has stopped: ${reason}`);
    },
    onTrouble: ({ consumer, error }) =>
      logger.warn({ consumer, err: error }, `${consumer} is in trouble and will try again`),
  };
}

export async function startConsumers(
  { config, roles }: Pick<ServiceOptions, 'config' | 'roles'>,
  shared: SharedOptions,
  {
    reactions,
    projections,
  }: {
    /** By the name of the process. */
    readonly reactions: Readonly<Record<string, readonly Reaction[]>>;
    readonly projections: ReadModelProjections;
  },
): Promise<readonly Consumer[]> {
  const consumers: Consumer[] = [];
  if (roles.includes('projector')) {
    consumers.push(
      await startLiveReadModels({ ...shared, projections }),
      startConsumer({
        ...shared,
        ...CHAIN_CONSUMER,
        work: projecting([chainProjection()]),
        minPageIntervalMs: CHAIN_PAGE_INTERVAL_MS,
      }),
    );
  }
  if (roles.includes('process-manager')) {
    for (const [name, ofProcess] of Object.entries(reactions)) {
      const work = reacting(ofProcess, { graceMs: config.reactionGraceMs });
      consumers.push(startConsumer({ ...shared, schema: 'records', name, work }));
    }
  }
  return consumers;
}
