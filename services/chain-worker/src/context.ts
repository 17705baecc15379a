/** The rent that apps pay for others, and the role that carries moves to their end. */
import { defineContext, type Platform } from '@coffer/host';
import { type Environment, isoTimeOf } from '@coffer/kernel';
import type { MovePolicy, PayingWallet, RentSponsor } from '@coffer/moves';
import type { AppDirectory } from '@coffer/portal';
import type { Chains } from '@coffer/solana';
import type { OperatorWallets, Signer, WalletAt } from '@coffer/wallets';
import { startChainWorkerRole } from './chainWorkerRole.ts';
import { createRentSponsor } from './rentSponsor.ts';
import { chainWorkerMigrations } from './signingPause.ts';

/** How long provisioning a fee payer may take; it is retried. */
const PROVISION_WITHIN_MS = 10_000;

export interface RentNeeds extends Platform {
  readonly directory: AppDirectory;
}

export const rentContext = defineContext({
  name: 'rent',
  migrations: [chainWorkerMigrations],
  create({ pool, directory }: RentNeeds) {
    const rentSponsor = createRentSponsor({
      pool,
      capsOf: async ({ appId, environment }) => ({
        perUser: await directory.setting(appId, environment, 'rentSponsorPerUserPerDay'),
        perApp: await directory.setting(appId, environment, 'rentSponsorPerAppPerDay'),
      }),
    });
    return { provides: { rentSponsor } };
  },
});

export interface ChainWorkerNeeds extends Platform {
  readonly chains: Chains;
  /** On the embedded chain, fee payers are funded automatically; elsewhere the operator funds them. */
  readonly fundFeePayer: (environment: Environment, address: string) => Promise<void>;
  /** Deviations from the default. */
  readonly movePolicy: Partial<MovePolicy>;
  /** A fee payer with less is reported. */
  readonly feePayerLowLamports: bigint;
  readonly operatorWallets: OperatorWallets;
  readonly walletAt: WalletAt;
  readonly signer: Signer;
  readonly rentSponsor: RentSponsor;
  /** Every app in both environments. */
  readonly places: () => Promise<readonly { readonly appId: string; readonly environment: Environment }[]>;
}

export const chainWorkerContext = defineContext({
  name: 'chain-worker',
  create(needs: ChainWorkerNeeds) {
    const { clock, chains, operatorWallets, places, fundFeePayer, ...rest } = needs;
    return {
      workers: [
        {
          role: 'chain-worker',
          start(shared) {
            const { consumers, stop } = startChainWorkerRole({
              ...rest,
              ...shared,
              wallClock: clock,
              chainOf: chains.find,
              policy: needs.movePolicy,
              feePayers,
              async feePayerOf(appId, environment) {
                const payer = await feePayerOf(appId, environment);
                await fundFeePayer(environment, payer.address);
                return payer;
              },
            });
            return { consumers, stop };
          },
        },
      ],
    };

    async function feePayers() {
      const onChain = (await places()).filter(({ environment }) => chains.find(environment));
      const looked = await Promise.all(
        onChain.map(async ({ appId, environment }) => {
          const deadlineMs = performance.now() + PROVISION_WITHIN_MS;
          const found = await operatorWallets.find({ environment, appId, role: 'feePayer' }, { deadlineMs });
          return found && { appId, environment, address: found.address };
        }),
      );
      return looked.filter((one) => one !== undefined);
    }

    /** Made with the first move, or when an operator looks it up in order to fund it. */
    function feePayerOf(appId: string, environment: Environment): Promise<PayingWallet> {
      const metadata = { correlationId: 'chain-worker', actor: 'service', occurredAt: isoTimeOf(clock) };
      const deadlineMs = performance.now() + PROVISION_WITHIN_MS;
      return operatorWallets.provision({ environment, appId, role: 'feePayer' }, { metadata, deadlineMs });
    }
  },
});
