/**
 * What the process manager completes when the original request died: sign-ins that claimed an identity, and
 * erasures. The service supplies how wallets appear in the log. Source: architecture, Processes.
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
  /** The owner of the wallet provisioned by the event, if any. */
  readonly walletOwnerIn: (event: RecordedEvent) => UserPlace | undefined;
}): Reaction {
  return {
    name: 'finishClaim',
    causeOf(event) {
      const claimed = claimedIn(event);
      return claimed && { key: keyOf(claimed), target: event.stream };
    },
    effectOf(event) {
      // A user who is erased before having a wallet never gets one.
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
      // A user registered without a sign-in has no identity to release and no data to destroy.
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

/** Stream names and ids contain no spaces. */
const keyOf = ({ environment, scopeId, userId }: UserPlace) => `${environment} ${scopeId} ${userId}`;
