/**
 * What the process manager finishes when the request that began it died: sign-ins that claimed an identity, and
 * erasures. How wallets show in the log is given by the service. Source: architecture, Processes.
 */

import { actDeadlineMs, type Reaction } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { parseStreamName, type UserPlace } from '@coffer/kernel';
import { erasureIn } from '@coffer/users';
import { identityEvents } from './domain/identity.events.ts';
import type { Erasure } from './erasure.ts';
import { claimedIn, type Identities } from './identities.ts';

/** Registers the user and provisions the wallet of a claim. */
export function finishesClaims({
  finishClaim,
  walletOwnerIn,
}: Pick<Identities, 'finishClaim'> & {
  /** Whose wallet was provisioned, if the event says so. */
  readonly walletOwnerIn: (event: RecordedEvent) => UserPlace | undefined;
}): Reaction {
  return {
    name: 'finishClaim',
    causeOf(event) {
      const claimed = claimedIn(event);
      return claimed && { key: keyOf(claimed), target: event.stream };
    },
    effectOf(event) {
      // Of a user who is erased before there is a wallet there will never be one.
      const owner = walletOwnerIn(event) ?? releasedIn(event)?.owner;
      return owner && keyOf(owner);
    },
    act: (cause) => finishClaim(cause, actDeadlineMs()),
  };
}

/** Destroys the data key of an erased user and releases the identity. */
export function finishesErasures({ finish }: Pick<Erasure, 'finish'>): Reaction {
  return {
    name: 'finishErasure',
    causeOf(event) {
      // A user registered without sign-in has no identity to release, nor data to destroy.
      const primary = erasureIn(event)?.erasure.identities[0];
      return primary && { key: primary.identityId, target: event.stream };
    },
    effectOf: (event) => releasedIn(event)?.identityId,
    async act(cause) {
      const erased = erasureIn(cause);
      if (!erased) return;
      const { erasure, ...owner } = erased;
      await finish(owner, { erasure, cause }, { deadlineMs: actDeadlineMs() });
    },
  };
}

function releasedIn(
  event: RecordedEvent,
): { readonly owner: UserPlace; readonly identityId: string } | undefined {
  if (event.type !== 'IdentityReleased') return undefined;
  const released = identityEvents.decode(event);
  const parts = parseStreamName(event.stream);
  if (released.type !== 'IdentityReleased' || !parts) return undefined;
  const { environment, owner: scopeId } = parts;
  const { userId, identityId } = released.data;
  return { owner: { environment, scopeId, userId }, identityId };
}

/** Stream names and ids have no space. */
const keyOf = ({ environment, scopeId, userId }: UserPlace) => `${environment} ${scopeId} ${userId}`;
