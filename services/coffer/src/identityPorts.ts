/** The identities, wired: wallets are given to them here. */
import {
  createErasure,
  createIdentities,
  createIdentityHash,
  createPersonalData,
  type Erasure,
  finishesClaims,
  finishesErasures,
  type Identities,
  type IdentityWallets,
} from '@coffer/auth';
import type { Reaction } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { CommandHandler, EventStore } from '@coffer/event-store';
import type { FailPoint, SecretBox } from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { type Wallets, walletOwnerIn, walletSummary } from '@coffer/wallets';

export interface WiredIdentities {
  readonly identities: Identities;
  readonly erasure: Erasure;
  /** Of the process that finishes what dead requests began. */
  readonly reactions: readonly Reaction[];
}

export function wireIdentities({
  pool,
  handler,
  store,
  secretBox,
  identityKey,
  users,
  wallets,
  failPoint,
}: {
  readonly pool: Pool;
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly secretBox: SecretBox;
  readonly identityKey: Uint8Array;
  readonly users: Users;
  readonly wallets: Wallets;
  readonly failPoint: FailPoint;
}): WiredIdentities {
  const personalData = createPersonalData(pool, secretBox);
  const erasure = createErasure({ handler, users, personalData, failPoint });
  const identities = createIdentities({
    handler,
    store,
    hashOf: createIdentityHash(identityKey),
    personalData,
    erasure,
    users,
    wallets: identityWallets(wallets),
    failPoint,
  });
  const reactions = [
    finishesClaims({ finishClaim: identities.finishClaim, walletOwnerIn }),
    finishesErasures(erasure),
  ];
  return { identities, erasure, reactions };
}

function identityWallets({ provision, walletsOf }: Wallets): IdentityWallets {
  return {
    walletsOf: async (owner, deadline) => (await walletsOf(owner, deadline)).map(walletSummary),
    provisionWallet: async (owner, context) => walletSummary(await provision(owner, context)),
  };
}
