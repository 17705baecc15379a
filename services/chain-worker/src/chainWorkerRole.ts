/** Carries every move to its end, those of an environment in one process at a time, and provides metrics. */
import {
  type Consumer,
  type ConsumerOptions,
  type MonotonicClock,
  monotonicClock,
  reacting,
  startConsumer,
} from '@coffer/consumers';
import type { Logger, Registry } from '@coffer/http';
import {
  type Clock,
  type Environment,
  environment as environments,
  noFailPoint,
  systemClock,
} from '@coffer/kernel';
import {
  carriesMoves,
  createMoveDriver,
  DEFAULT_POLICY,
  MOVE_REACTOR,
  type MoveDriverOptions,
  type MovePolicy,
} from '@coffer/moves';
import { type FeePayerPlace, watchChains } from './chainWatch.ts';
import { moveMetrics } from './moveMetrics.ts';
import { createSigningPause } from './signingPause.ts';
import { createTroubleLog } from './troubleLog.ts';

/** The names of their leases and checkpoints, in `records`: each environment has its own, so that neither delays the other. */
export const CHAIN_WORKERS: Readonly<Record<Environment, string>> = {
  test: 'chainWorkerTest',
  live: 'chainWorkerLive',
};

export interface ChainWorkerRoleOptions
  extends Pick<ConsumerOptions, 'pool' | 'store' | 'isSkipped' | 'onAlarm' | 'onTrouble'>,
    Pick<MoveDriverOptions, 'chainOf' | 'signer' | 'feePayerOf' | 'walletAt' | 'rentSponsor' | 'handler'>,
    Partial<Pick<MoveDriverOptions, 'failPoint'>> {
  /** The wallets whose balances are shown. */
  readonly feePayers: () => Promise<readonly FeePayerPlace[]>;
  /** A fee payer with less is reported. */
  readonly feePayerLowLamports: bigint;
  /** Deviations from the default. */
  readonly policy?: Partial<MovePolicy>;
  readonly clock?: MonotonicClock;
  readonly wallClock?: Clock;
  readonly registry: Registry;
  readonly logger: Logger;
}

export interface ChainWorkerRole {
  /** For the metrics of all consumers. */
  readonly consumers: readonly Consumer[];
  /** Moves stay as they are; the next process resumes from their streams. */
  readonly stop: () => Promise<void>;
}

export function startChainWorkerRole(options: ChainWorkerRoleOptions): ChainWorkerRole {
  const { pool, store, onAlarm, onTrouble, chainOf, signer, feePayerOf, handler, feePayers } = options;
  const { walletAt, rentSponsor, feePayerLowLamports, isSkipped } = options;
  const { registry, logger, policy, failPoint = noFailPoint } = options;
  const { clock = monotonicClock, wallClock = systemClock } = options;
  const metrics = moveMetrics(registry, wallClock);
  const logTrouble = createTroubleLog(logger, clock.nowMs);
  const driver = createMoveDriver({
    chainOf,
    signer,
    feePayerOf,
    walletAt,
    rentSponsor,
    requireClearance: createSigningPause(pool),
    handler,
    clock,
    wallClock,
    policy: { ...DEFAULT_POLICY, ...policy },
    failPoint,
    hooks: {
      ...metrics.hooks,
      onTrouble(trouble) {
        metrics.onTrouble(trouble.environment);
        logTrouble(trouble);
      },
      onNoChain: (environment) =>
        logger.warn({ environment }, 'no chain is configured for this environment: its moves wait'),
    },
  });
  const watch = watchChains({
    chainOf,
    feePayers,
    lowLamports: feePayerLowLamports,
    clock,
    metrics,
    onLow: (payer, isLow) => {
      if (isLow) logger.warn(payer, 'a fee payer runs low: send it SOL, or the moves of its app will wait');
      else logger.info(payer, 'a fee payer holds enough again');
    },
    onTrouble: (error) => logger.warn({ err: error }, 'a chain does not answer'),
  });
  const startFor = (environment: Environment) =>
    startConsumer({
      name: CHAIN_WORKERS[environment],
      schema: 'records',
      pool,
      store,
      isSkipped,
      onAlarm,
      onTrouble,
      work: reacting([carriesMoves(driver, environment)], MOVE_REACTOR),
    });
  const consumerOf: Readonly<Record<Environment, Consumer>> = {
    test: startFor('test'),
    live: startFor('live'),
  };
  const consumers = environments.options.map((environment) => consumerOf[environment]);
  metrics.showInFlight((environment) => consumerOf[environment].status().pending);

  return {
    consumers,
    async stop() {
      await Promise.all([...consumers.map((consumer) => consumer.stop()), watch.stop()]);
    },
  };
}
