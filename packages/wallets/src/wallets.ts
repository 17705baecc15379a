/**
 * Wallets as the other contexts see them. Each user has one active wallet in a scope and environment.
 * Source: contract, Wallets; architecture, Streams (the sealed key is durable before `WalletProvisioned`).
 */
import assert from 'node:assert/strict';
import type { CommandContext, CommandHandler, Deadline, StreamEvent } from '@coffer/event-store';
import {
  encodeBase58,
  type FailPoint,
  isId,
  noFailPoint,
  parseStreamName,
  type UserPlace,
} from '@coffer/kernel';
import { walletEvents } from './domain/wallet.events.ts';
import type { ProvisionedWallet, Successor, WalletState } from './domain/wallet.state.ts';
import { wallet } from './domain/wallet.ts';
import { type WalletPlace, walletIdOf, walletStreamName } from './domain/walletIds.ts';
import { retireKey } from './sealedKeys.ts';
import type { WalletView } from './wallet.resource.ts';
import { keyOf, type WalletKeyDependencies } from './walletKeys.ts';

/** Whose wallet was provisioned, if the event says so; undefined for every other event. */
function walletOwnerIn(event: StreamEvent): UserPlace | undefined {
  if (event.type !== 'WalletProvisioned') return undefined;
  const parts = parseStreamName(event.stream);
  const provisioned = walletEvents.decode(event);
  assert(
    parts?.category === wallet.category && provisioned.type === 'WalletProvisioned',
    `${event.stream} is not a wallet`,
  );
  const { environment, owner: scopeId } = parts;
  return { environment, scopeId, userId: provisioned.data.userId };
}

/** A wallet in a user's session. Source: specification, Wallet summary. */
type WalletSummary = Pick<WalletView, 'id' | 'address' | 'environment' | 'custody' | 'status'>;

export const walletSummary = ({
  id,
  address,
  environment,
  custody,
  status,
}: WalletSummary): WalletSummary => ({ id, address, environment, custody, status });

export interface Wallets {
  /**
   * The owner's active wallet, made if there is none. Idempotent, safe in parallel and after a crash at any step: its
   * id is derived from the owner, and its key is the one row of that id. Throws `wallets/keys_unavailable`.
   */
  readonly provision: (owner: UserPlace, context: CommandContext) => Promise<WalletView>;
  /** All wallets of the owner, oldest first and the active one last; read from a confirmed current state. */
  readonly walletsOf: (owner: UserPlace, context: Deadline) => Promise<readonly WalletView[]>;
  /** The same, read from their streams. */
  readonly generationsOf: (owner: UserPlace, context: Deadline) => Promise<readonly ProvisionedWallet[]>;
  /** The wallet that will follow this one of the owner, with its key durable. */
  readonly successorOf: (owner: UserPlace, generation: number) => Promise<Successor>;
}

export function createWallets(
  dependencies: WalletKeyDependencies & {
    readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
    readonly failPoint?: FailPoint;
  },
): Wallets {
  const { handler, pool, failPoint = noFailPoint } = dependencies;

  /** The owner's wallets up to the first missing one: the next generation only follows an ended wallet. */
  async function generationsOf(owner: UserPlace, context: Deadline): Promise<readonly ProvisionedWallet[]> {
    assert(isId('usr', owner.userId) && isId('scp', owner.scopeId), 'a wallet is of a user in a scope');
    const found: ProvisionedWallet[] = [];
    for (;;) {
      const place = placeOf(owner, found.length + 1);
      const state: WalletState = await handler.load(wallet, walletStreamName(place), context);
      if (!state) return found;
      found.push(state.wallet);
      if (state.wallet.status === 'active') return found;
    }
  }

  return {
    async provision(owner, context) {
      const existing = await generationsOf(owner, context);
      const last = existing.at(-1);
      if (last?.status === 'active') return viewOf(owner, last);

      // The service gives up the key that its user has taken before there is another wallet.
      if (last?.status === 'exported') {
        await retireKey(pool, last.walletId, new Date(last.exportedAt));
        failPoint('export.retired');
      }
      const generation = existing.length + 1;
      const place = placeOf(owner, generation);
      const { publicKey, createdAt } = await keyOf(dependencies, place);
      // Taken entirely from the row, so that anybody else who continues from the row writes the same.
      const { answer } = await handler.execute(
        wallet,
        walletStreamName(place),
        {
          type: 'ProvisionWallet',
          walletId: place.walletId,
          userId: owner.userId,
          address: encodeBase58(publicKey),
          generation,
          at: createdAt,
        },
        context,
      );
      return viewOf(owner, answer);
    },
    async walletsOf(owner, context) {
      return (await generationsOf(owner, context)).map((one) => viewOf(owner, one));
    },
    generationsOf,
    async successorOf(owner, generation) {
      const place = placeOf(owner, generation + 1);
      const { publicKey } = await keyOf(dependencies, place);
      return { newWalletId: place.walletId, newAddress: encodeBase58(publicKey) };
    },
  };
}

export const placeOf = (owner: UserPlace, generation: number): WalletPlace => ({
  ownerId: owner.scopeId,
  environment: owner.environment,
  walletId: walletIdOf(owner, generation),
});

export const viewOf = ({ environment }: UserPlace, provisioned: ProvisionedWallet): WalletView => ({
  id: provisioned.walletId,
  userId: provisioned.userId,
  address: provisioned.address,
  environment,
  custody: 'operator',
  status: provisioned.status,
  createdAt: provisioned.provisionedAt,
});

/** What a sign-in needs from wallets. */
export const identityWalletsOf = ({ walletsOf, provision }: Pick<Wallets, 'walletsOf' | 'provision'>) => ({
  walletsOf: async (...asked: Parameters<Wallets['walletsOf']>) =>
    (await walletsOf(...asked)).map(walletSummary),
  provisionWallet: async (...asked: Parameters<Wallets['provision']>) =>
    walletSummary(await provision(...asked)),
  walletOwnerIn,
});
