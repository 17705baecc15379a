/** The chain worker of this process: what it needs of the installation. */
import { type ChainWorkerRole, startChainWorkerRole } from '@coffer/chain-worker';
import type { ConsumerOptions } from '@coffer/consumers';
import type { CommandHandler } from '@coffer/event-store';
import type { Logger, Registry } from '@coffer/http';
import { type Clock, type Environment, type FailPoint, isoTimeOf, systemClock } from '@coffer/kernel';
import type { PayingWallet, RentSponsor } from '@coffer/moves';
import { findOwnerOfKey, type OperatorWallets, type Signer } from '@coffer/wallets';
import type { Chains } from './chains.ts';
import type { Config } from './config.ts';

/** How long the provisioning of a fee payer may take; it is tried again. */
const PROVISION_WITHIN_MS = 10_000;

export function startServiceChainWorker({
  config,
  chains,
  operatorWallets,
  places,
  clock = systemClock,
  ...shared
}: Pick<ConsumerOptions, 'pool' | 'store' | 'isSkipped' | 'onAlarm' | 'onTrouble'> & {
  readonly config: Pick<Config, 'chain'>;
  readonly chains: Chains;
  readonly operatorWallets: OperatorWallets;
  readonly rentSponsor: RentSponsor;
  readonly signer: Signer;
  readonly handler: CommandHandler;
  readonly failPoint: FailPoint;
  readonly registry: Registry;
  readonly logger: Logger;
  /** The time of day. */
  readonly clock?: Clock;
  /** Every app in both environments. */
  readonly places: () => Promise<readonly { readonly appId: string; readonly environment: Environment }[]>;
}): ChainWorkerRole {
  return startChainWorkerRole({
    ...shared,
    wallClock: clock,
    chainOf: chains.find,
    policy: { ...config.chain.policy },
    feePayerLowLamports: config.chain.feePayerLowLamports,
    async walletAt(environment, address) {
      const owned = await findOwnerOfKey(shared.pool, environment, address);
      return owned && { ...owned, address };
    },
    async feePayerOf(appId, environment) {
      const payer = await feePayerOf(appId, environment);
      await chains.fundFeePayer(environment, payer.address);
      return payer;
    },
    async feePayers() {
      const onChain = (await places()).filter(({ environment }) => chains.find(environment));
      const looked = await Promise.all(
        onChain.map(async ({ appId, environment }) => {
          const deadlineMs = performance.now() + PROVISION_WITHIN_MS;
          const found = await operatorWallets.find({ environment, appId, role: 'feePayer' }, { deadlineMs });
          return found && { appId, environment, address: found.address };
        }),
      );
      return looked.filter((one) => one !== undefined);
    },
  });

  /** Made with the first move, or when an operator looks it up to fund it. */
  function feePayerOf(appId: string, environment: Environment): Promise<PayingWallet> {
    const metadata = {
      correlationId: 'chain-worker',
      actor: 'service',
      occurredAt: isoTimeOf(clock),
    };
    const deadlineMs = performance.now() + PROVISION_WITHIN_MS;
    return operatorWallets.provision({ environment, appId, role: 'feePayer' }, { metadata, deadlineMs });
  }
}
