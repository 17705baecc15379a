/** The readers of the log in this process, according to its roles. */
import { type Consumer, reacting, startConsumer } from '@coffer/consumers';
import { startLiveReadModels } from '@coffer/read-models';
import type { Platform, SharedConsumerOptions } from './context.ts';
import type { Composition } from './contexts.ts';
import type { Role } from './roles.ts';

export function sharedConsumerOptions(
  {
    pool,
    store,
    logger,
    onLogRewritten,
  }: Pick<Platform, 'pool' | 'store' | 'logger'> & { readonly onLogRewritten: () => void },
  { foundations }: Pick<Composition, 'foundations'>,
): SharedConsumerOptions {
  return {
    pool,
    store,
    isSkipped: foundations.isSkipped,
    onAlarm: ({ consumer, code, reason, event, error }) => {
      if (code === 'store/log_rewritten') onLogRewritten();
      logger.error({ consumer, code, event, err: error }, `${consumer} has stopped: ${reason}`);
    },
    onTrouble: ({ consumer, error }) =>
      logger.warn({ consumer, err: error }, `${consumer} is in trouble and will try again`),
  };
}

export async function startConsumers(
  { projections, processes }: Pick<Composition, 'projections' | 'processes'>,
  shared: SharedConsumerOptions,
  { roles, reactionGraceMs: graceMs }: { readonly roles: readonly Role[]; readonly reactionGraceMs: number },
): Promise<readonly Consumer[]> {
  const readModels = roles.includes('projector')
    ? [await startLiveReadModels({ ...shared, projections })]
    : [];
  if (!roles.includes('process-manager')) return readModels;
  const reacts = Object.entries(processes).map(([name, reactions]) =>
    startConsumer({ ...shared, schema: 'records', name, work: reacting(reactions, { graceMs }) }),
  );
  return [...readModels, ...reacts];
}
