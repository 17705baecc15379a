/**
 * An app's own wallets in each environment: the treasury, which holds the players' money, and the payer of network fees
 * and rent, so that these never come out of the treasury.
 */
import assert from 'node:assert/strict';
import type { CommandContext, CommandHandler, Deadline } from '@coffer/event-store';
import { encodeBase58, isId } from '@coffer/kernel';
import type { WalletPlace } from '../domain/walletIds.ts';
import { keyOf, type WalletKeyDependencies } from '../walletKeys.ts';
import {
  type OperatorWalletOwner,
  type OperatorWalletState,
  operatorWallet,
  operatorWalletIdOf,
  operatorWalletStreamName,
} from './domain/operatorWallet.ts';

interface OperatorWallet {
  readonly walletId: string;
  /** The app: the signer looks up the key under it. */
  readonly ownerId: string;
  /** Base58. */
  readonly address: string;
}

export interface OperatorWallets {
  /**
   * The app's wallet for the role, made if there is none. Like users' wallets, idempotent and safe in parallel and
   * after a crash at any step. Throws `wallets/keys_unavailable`.
   */
  readonly provision: (owner: OperatorWalletOwner, context: CommandContext) => Promise<OperatorWallet>;
  /** Undefined if there is none; makes nothing. */
  readonly find: (owner: OperatorWalletOwner, context: Deadline) => Promise<OperatorWallet | undefined>;
}

export function createOperatorWallets(
  dependencies: WalletKeyDependencies & { readonly handler: Pick<CommandHandler, 'execute' | 'load'> },
): OperatorWallets {
  const { handler } = dependencies;
  // An address never changes, and there are two for each app and environment.
  const known = new Map<string, OperatorWallet>();

  return {
    async provision(owner, context) {
      const { environment, appId: ownerId } = owner;
      assert(isId('app', ownerId), 'an operator wallet is of an app');
      const walletId = operatorWalletIdOf(owner);
      const remembered = known.get(walletId);
      if (remembered) return remembered;

      const address = await provisioned(owner, { ownerId, environment, walletId }, context);
      const wallet = { walletId, ownerId, address };
      known.set(walletId, wallet);
      return wallet;
    },

    async find(owner, context) {
      const walletId = operatorWalletIdOf(owner);
      const remembered = known.get(walletId);
      if (remembered) return remembered;

      const state: OperatorWalletState = await handler.load(
        operatorWallet,
        operatorWalletStreamName(owner),
        context,
      );
      if (!state) return undefined;
      const wallet = { walletId, ownerId: owner.appId, address: state.address };
      known.set(walletId, wallet);
      return wallet;
    },
  };

  async function provisioned(
    owner: OperatorWalletOwner,
    place: WalletPlace,
    context: CommandContext,
  ): Promise<string> {
    const stream = operatorWalletStreamName(owner);
    const state: OperatorWalletState = await handler.load(operatorWallet, stream, context);
    if (state) return state.address;
    const { publicKey, createdAt } = await keyOf(dependencies, place);
    // Taken entirely from the row, so that anybody else who continues from the row writes the same.
    const { answer } = await handler.execute(
      operatorWallet,
      stream,
      {
        type: 'ProvisionOperatorWallet',
        walletId: place.walletId,
        appId: owner.appId,
        role: owner.role,
        address: encodeBase58(publicKey),
        at: createdAt,
      },
      context,
    );
    return answer.address;
  }
}
