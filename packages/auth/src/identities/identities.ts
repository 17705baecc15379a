/**
 * From a proved identity to its user. The identity is claimed first, and the claim determines the rest: the user's
 * registration and first wallet. Each later step is an idempotent function of the claim, so the request, the next
 * sign-in and the process that completes interrupted requests all create the same user, once.
 * Source: contract, Sign-in and sessions; specification, Sign-in.
 */

import assert from 'node:assert/strict';
import {
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  readEvent,
  StoreOverloadedError,
  type StreamEvent,
} from '@coffer/event-store';
import {
  type AppPlace,
  callerId,
  type FailPoint,
  isId,
  parseStreamName,
  type UserPlace,
} from '@coffer/kernel';
import type { KnownUser, Standing, Users } from '@coffer/users';
import type { FirstTouch, UserView, VerifiedIdentity, WalletSummary } from '../types.ts';
import { identityEvents } from './domain/identity.events.ts';
import { type Claim, identity, identityStreamName } from './domain/identity.ts';
import type { Erasure } from './erasure.ts';
import type { IdentityHash } from './identityHash.ts';
import type { FactsByIdentity, PersonalData } from './personalData.ts';

export interface IdentityWallets {
  /** Oldest first. */
  readonly walletsOf: (owner: UserPlace, deadline: Deadline) => Promise<readonly WalletSummary[]>;
  /** The user's first wallet. Idempotent, also in parallel. */
  readonly provisionWallet: (owner: UserPlace, context: CommandContext) => Promise<WalletSummary>;
}

interface ResolvedUser {
  readonly user: UserView;
  readonly standing: Standing;
}

interface SignedInUser extends ResolvedUser {
  /** That of the first touch of the app, then that of this sign-in, where they are there and differ. */
  readonly referralCodes: readonly string[];
}

export interface Identities {
  /**
   * Creates or fetches the identity's user and wallet, and stores the profile from this sign-in. Safe in parallel
   * and after a crash at any step. Never returns an erased user: by then the identity belongs to a new one.
   */
  readonly resolve: (
    place: AppPlace,
    identity: VerifiedIdentity,
    firstTouch: FirstTouch,
    context: CommandContext,
  ) => Promise<SignedInUser>;
  /**
   * The user as an app of its scope sees it; undefined if it is absent or has never signed in. The erased data of
   * an erased user is empty.
   */
  readonly view: (place: AppPlace, userId: string, deadline: Deadline) => Promise<ResolvedUser | undefined>;
  /** Erases the person, permanently. Throws `users/not_found`. */
  readonly erase: (place: AppPlace, userId: string, context: CommandContext) => Promise<void>;
  /** Completes whatever an `IdentityClaimed` still requires. Idempotent. */
  readonly finishClaim: (cause: StreamEvent, deadlineMs: number) => Promise<void>;
}

export interface IdentitiesDependencies {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly hashOf: IdentityHash;
  readonly personalData: Pick<PersonalData, 'keep' | 'read'>;
  readonly erasure: Pick<Erasure, 'erase'>;
  readonly users: Pick<Users, 'find' | 'registerClaimed'>;
  readonly wallets: IdentityWallets;
  readonly failPoint: FailPoint;
}

/** Each round after the first means that the user was erased during the one before. */
const MOST_ROUNDS = 5;

export function createIdentities(dependencies: IdentitiesDependencies): Identities {
  const { handler, store, hashOf, personalData, erasure, users, wallets, failPoint } = dependencies;

  return {
    resolve,
    async view({ appId, environment, scopeId }, userId, deadline) {
      if (!isId('usr', userId)) return undefined;
      const owner = { environment, scopeId, userId };
      const [user, facts, owned] = await Promise.all([
        users.find(owner, deadline),
        personalData.read(owner),
        wallets.walletsOf(owner, deadline),
      ]);
      if (!user || user.identities.length === 0) return undefined;
      return { user: viewOf(appId, user, facts, owned), standing: user.status };
    },
    async erase({ environment, scopeId }, userId, context) {
      await erasure.erase({ environment, scopeId, userId }, context);
    },
    async finishClaim(cause, deadlineMs) {
      const claimed = claimedIn(cause);
      assert(claimed, `${cause.type} of ${cause.stream} is not a claim`);
      const finished = await finish(claimed, async () => cause, deadlineMs);
      if (!finished) await erasure.erase(ownerOf(claimed), following(cause, deadlineMs));
    },
  };

  async function resolve(
    { appId, environment, scopeId }: AppPlace,
    verified: VerifiedIdentity,
    firstTouch: FirstTouch,
    context: CommandContext,
  ): Promise<SignedInUser> {
    const touch = usable(firstTouch);
    const place = { environment, scopeId, identityHash: hashOf({ environment, scopeId }, verified) };
    const stream = identityStreamName(place);
    const { occurredAt: at } = context.metadata;
    const command = {
      type: 'ClaimIdentity',
      place,
      identityType: verified.type,
      appId,
      firstTouch: touch,
      at,
    } as const;

    for (let round = 0; round < MOST_ROUNDS; round++) {
      failPoint('signIn.beforeClaim');
      const { answer: claim, appended } = await handler.execute(identity, stream, command, context);
      assert(claim, 'whoever claims an identity is told whose it is');
      failPoint('signIn.claimed');

      const owner = { environment, scopeId, userId: claim.userId };
      const cause = async () =>
        appended.find(({ type }) => type === 'IdentityClaimed') ??
        (await readEvent(store, stream, claim.revision));
      const finished = await finish({ ...place, ...claim }, cause, context.deadlineMs);
      if (finished) {
        const { externalId, profile } = verified;
        const facts = await personalData.keep(owner, claim.identityId, { externalId, profile }, new Date(at));
        failPoint('signIn.kept');
        if (facts) {
          const { user, owned } = finished;
          return {
            user: viewOf(appId, user, facts, owned),
            standing: user.status,
            referralCodes: codesOf(claim, touch),
          };
        }
      }
      // The process that erased the user may have died before releasing the identity. A destroyed data key also
      // proves the erasure if the log was restored to an earlier state.
      await erasure.erase(owner, context);
    }
    throw new StoreOverloadedError('The users of this identity keep being erased.');
  }

  /** Undefined if the user is erased. The cause is read only if something is missing. */
  async function finish(
    claimed: Claimed,
    cause: () => Promise<StreamEvent>,
    deadlineMs: number,
  ): Promise<{ readonly user: KnownUser; readonly owned: readonly WalletSummary[] } | undefined> {
    const owner = ownerOf(claimed);
    const user =
      (await users.find(owner, { deadlineMs })) ?? (await register(claimed, await cause(), deadlineMs));
    failPoint('signIn.registered');
    if (user.status === 'erased') return undefined;

    const owned = await wallets.walletsOf(owner, { deadlineMs });
    // The previous wallet may have been exported and its successor not provisioned yet.
    if (owned.at(-1)?.status === 'active') return { user, owned };
    const wallet = await wallets.provisionWallet(owner, following(await cause(), deadlineMs));
    failPoint('signIn.provisioned');
    return { user, owned: [...owned, wallet] };
  }

  async function register(claimed: Claimed, cause: StreamEvent, deadlineMs: number): Promise<KnownUser> {
    const owner = ownerOf(claimed);
    const { identityId, identityHash, type, appId, claimedAt: registeredAt } = claimed;
    await users.registerClaimed(
      { ...owner, appId, registeredAt, identity: { identityId, type, identityHash } },
      cause,
      deadlineMs,
    );
    const user = await users.find(owner, { deadlineMs });
    assert(user, 'a user that was just registered is there');
    return user;
  }
}

interface Claimed extends UserPlace, Omit<Claim, 'revision'> {
  readonly identityHash: string;
}

const ownerOf = ({ environment, scopeId, userId }: UserPlace): UserPlace => ({
  environment,
  scopeId,
  userId,
});

/** Undefined for any event other than `IdentityClaimed`. */
export function claimedIn(event: StreamEvent): Claimed | undefined {
  if (event.type !== 'IdentityClaimed') return undefined;
  const parts = parseStreamName(event.stream);
  const claimed = identityEvents.decode(event);
  assert(
    parts?.category === identity.category && claimed.type === 'IdentityClaimed',
    `${event.stream} is not an identity`,
  );
  return { environment: parts.environment, scopeId: parts.owner, ...claimed.data };
}

/** The context of a command on a stream whose name and ids another context decides. */
function following(cause: StreamEvent, deadlineMs: number): CommandContext {
  const { metadata } = causedBy(cause, cause.stream, deadlineMs);
  return { metadata, deadlineMs };
}

/**
 * What may be stored permanently in an event. A code in another format belongs to nobody, and text from a link
 * could be anything, even an address. Source: contract, Sign-in and sessions (a bad referral code is ignored).
 */
function usable({ referralCode, gameKey }: FirstTouch): FirstTouch {
  const known = (text: string | undefined) => (callerId.safeParse(text).success ? text : undefined);
  return { referralCode: known(referralCode), gameKey: known(gameKey) };
}

function codesOf(...touches: readonly FirstTouch[]): readonly string[] {
  const codes = touches.map(({ referralCode }) => referralCode).filter((code) => code !== undefined);
  return [...new Set(codes)];
}

function viewOf(
  appId: string,
  { userId, registeredAt, identities }: KnownUser,
  facts: FactsByIdentity,
  wallets: readonly WalletSummary[],
): UserView {
  const views = identities.map(({ identityId, type }) => {
    const { externalId, profile } = facts.get(identityId) ?? { externalId: '', profile: {} };
    return { id: identityId, type, externalId, profile };
  });
  const [primaryIdentity] = views;
  assert(primaryIdentity, 'a user who has signed in has an identity');
  return { id: userId, appId, primaryIdentity, identities: views, wallets, createdAt: registeredAt };
}
