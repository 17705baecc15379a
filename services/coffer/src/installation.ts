/** What this installation gives its contexts, from its configuration and its secrets. */
import { join } from 'node:path';
import { fileTransport, type MailTransport, smtpTransport } from '@coffer/auth';
import type { KafkaGiven } from '@coffer/kafka';
import type { Environment } from '@coffer/kernel';
import type { MovePolicy } from '@coffer/moves';
import type { Mints } from '@coffer/portal';
import type { ReconcileNeeds } from '@coffer/reconcile';
import type { OpenChains } from '@coffer/solana';
import type { MasterKey, MasterKeys } from '@coffer/wallets';
import type { WebhooksGiven } from '@coffer/webhooks';
import type { Config } from './config.ts';

export interface InstallationOptions {
  readonly config: Config;
  readonly identityKey: Uint8Array;
  /** The keys that this process may use; none if it needs none. */
  readonly masterKeys: MasterKeys;
  /** If money moves on a chain. */
  readonly chains: OpenChains;
  /** Given if the installation keeps its own keys. */
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
  /** For specs. Default: the pace of `@coffer/reconcile`. */
  readonly chainReconciling?: ReconcileNeeds['chainReconciling'];
}

export interface Installation {
  /** A trial installation on its user's own machine: pages served from this machine may call. */
  readonly acceptsLoopback: boolean;
  readonly identityKey: Uint8Array;
  readonly masterKeys: MasterKeys;
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
  readonly chains: OpenChains;
  readonly mints: Mints;
  readonly fundFeePayer: OpenChains['fundFeePayer'];
  readonly movePolicy: Partial<MovePolicy>;
  readonly feePayerLowLamports: bigint;
  readonly mail: MailTransport | undefined;
  readonly webhookReach: WebhooksGiven['webhookReach'];
  readonly webhookRetentionDays: number | undefined;
  readonly webhooksToKafka: boolean;
  readonly kafka: KafkaGiven['kafka'];
  readonly reconcileSchedule: string;
  readonly fullReconcileSchedule: string | undefined;
  readonly scrubPassMs: number;
  readonly chainReconciling: ReconcileNeeds['chainReconciling'];
}

export function installationOf(options: InstallationOptions): Installation {
  const { config, chains, identityKey, masterKeys, makeNextMasterKey } = options;
  const { reconcileSchedule, fullReconcileSchedule, scrubPassMs } = config;
  return {
    acceptsLoopback: config.databaseUrl === undefined,
    identityKey,
    masterKeys,
    makeNextMasterKey,
    chains,
    mints: { ensure: chains.ensureMint, checkOn: chains.mintCheck, errors: ['chain/unreachable'] },
    fundFeePayer: chains.fundFeePayer,
    movePolicy: config.chain.policy,
    feePayerLowLamports: config.chain.feePayerLowLamports,
    mail: mailTransport(config),
    webhookReach: config.webhooksAllowInsecure
      ? 'insecure'
      : config.databaseUrl === undefined
        ? 'loopback'
        : 'public',
    webhookRetentionDays: config.webhookRetentionDays,
    webhooksToKafka: config.kafka !== undefined,
    kafka: config.kafka,
    reconcileSchedule,
    fullReconcileSchedule,
    scrubPassMs,
    chainReconciling: options.chainReconciling ?? {},
  };
}

/** Undefined if codes would only be written to a machine that sends no mail to players. */
export function mailTransport({
  smtpUrl,
  mailFrom: from,
  dataFolder,
  databaseUrl,
}: Pick<Config, 'smtpUrl' | 'mailFrom' | 'dataFolder' | 'databaseUrl'>): MailTransport | undefined {
  if (smtpUrl !== undefined) return smtpTransport({ url: smtpUrl, from });
  return databaseUrl === undefined ? fileTransport({ folder: join(dataFolder, 'mail'), from }) : undefined;
}
