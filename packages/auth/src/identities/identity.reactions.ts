/**
 * What the process manager finishes when the request that began it died: sign-ins that claimed an identity, and
 * erasures. How users and wallets show in the log is given by the service. Source: architecture, Processes.
 */
import type { Reaction } from '@coffer/consumers';
import type { RecordedEvent, StreamEvent } from '@coffer/event-store';
import { parseStreamName } from '@coffer/kernel';
import { identityEvents } from './domain/identity.events.ts';
import type { ErasedUser, Erasure } from './erasure.ts';
import { claimedIn, type Identities } from './identities.ts';
import type { Owner } from './personalData.ts';

/** How long one attempt of the process may take; it tries again. */
const ACT_WITHIN_MS = 10_000;
const deadlineMs = () => performance.now() + ACT_WITHIN_MS;

/** Registers the user and provisions the wallet of a claim. */
export function finishesClaims({
  finishClaim,
  walletOwnerIn,
}: Pick<Identities, 'finishClaim'> & {
  /** Whose wallet was provisioned, if the event says so. */
  readonly walletOwnerIn: (event: RecordedEvent) => Owner | undefined;
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
    act: (cause) => finishClaim(cause, deadlineMs()),
  };
}

/** Destroys the data key of an erased user and releases the identity. */
export function finishesErasures({
  finish,
  erasureIn,
}: Pick<Erasure, 'finish'> & {
  /** Whose erasure the event is, if it is one. */
  readonly erasureIn: (
    event: StreamEvent,
  ) => (Owner & { readonly erasure: ErasedUser['erasure'] }) | undefined;
}): Reaction {
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
      await finish(owner, { erasure, cause }, { deadlineMs: deadlineMs() });
    },
  };
}

function releasedIn(
  event: RecordedEvent,
): { readonly owner: Owner; readonly identityId: string } | undefined {
  if (event.type !== 'IdentityReleased') return undefined;
  const released = identityEvents.decode(event);
  const parts = parseStreamName(event.stream);
  if (released.type !== 'IdentityReleased' || !parts) return undefined;
  const { environment, owner: scopeId } = parts;
  const { userId, identityId } = released.data;
  return { owner: { environment, scopeId, userId }, identityId };
}

/** Stream names and ids have no space. */
const keyOf = ({ environment, scopeId, userId }: Owner) => `${environment} ${scopeId} ${userId}`;
