/** Finding, creating and erasing the user of an identity, and completing requests that died. */
import type { Reaction } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { CommandHandler, EventStore, RecordedEvent } from '@coffer/event-store';
import type { FailPoint, SecretBox, UserPlace } from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { createErasure, type Erasure } from './erasure.ts';
import { createIdentities, type Identities, type IdentityWallets } from './identities.ts';
import { finishesClaims, finishesErasures } from './identity.reactions.ts';
import { createIdentityHash } from './identityHash.ts';
import { createPersonalData } from './personalData.ts';

export interface IdentityFlowNeeds {
  readonly pool: Pool;
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly secretBox: SecretBox;
  /** 32 bytes, the key for hashing identities; it never changes. */
  readonly identityKey: Uint8Array;
  readonly users: Users;
  /** Every user has one in each environment. */
  readonly identityWallets: IdentityWallets & {
    /** The owner of the wallet provisioned by the event, if any. */
    readonly walletOwnerIn: (event: RecordedEvent) => UserPlace | undefined;
  };
  readonly failPoint: FailPoint;
}

export interface IdentityFlows {
  readonly identities: Identities;
  readonly erasure: Erasure;
  /** For the process that completes interrupted requests. */
  readonly reactions: readonly Reaction[];
}

export function createIdentityFlows(needs: IdentityFlowNeeds): IdentityFlows {
  const { pool, handler, store, secretBox, users, identityWallets, failPoint } = needs;
  const personalData = createPersonalData(pool, secretBox);
  const erasure = createErasure({ handler, users, personalData, failPoint });
  const identities = createIdentities({
    handler,
    store,
    hashOf: createIdentityHash(needs.identityKey),
    personalData,
    erasure,
    users,
    wallets: identityWallets,
    failPoint,
  });
  const { walletOwnerIn } = identityWallets;
  return {
    identities,
    erasure,
    reactions: [
      finishesClaims({ finishClaim: identities.finishClaim, walletOwnerIn }),
      finishesErasures(erasure),
    ],
  };
}
