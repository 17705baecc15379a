/**
 * Users as the other contexts see them: registered under an id, and standing `active`, `suspended` or `erased`.
 * Source: contract, The command line (users) and Ledger (edge cases: suspended user).
 */
import assert from 'node:assert/strict';
import {
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  type Outcome,
  type Requester,
  readEvent,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import { type Clock, type Environment, isId, newId, parseStreamName, type UserPlace } from '@coffer/kernel';
import { userEvents } from './domain/user.events.ts';
import {
  type Compliance,
  type Erasure,
  type KnownUser,
  type LinkedIdentity,
  type RegisteredUser,
  type Standing,
  type UserAnswer,
  type UserCommand,
  user,
  userStreamName,
} from './domain/user.ts';
import { reject } from './errors.ts';

interface RegisterUser {
  readonly environment: Environment;
  readonly scopeId: string;
  readonly appId: string;
  /** A `usr_` id; a new one if undefined. The same id again answers the same registration. */
  readonly userId?: string | undefined;
}

/** A user derived from an identity claimed at a sign-in: the same, whoever registers it. */
interface ClaimedUser extends UserPlace {
  readonly appId: string;
  /** ISO 8601: when the identity was claimed. */
  readonly registeredAt: string;
  readonly identity: LinkedIdentity;
}

/** An erasure and its event, from which the rest of it follows. */
export interface ErasedUser {
  readonly erasure: Erasure;
  readonly cause: StreamEvent;
}

export interface Users {
  register(request: RegisterUser, context: Requester): Promise<Outcome<RegisteredUser>>;
  /** The registration that follows from the event of the claim; safe to repeat. */
  registerClaimed(claimed: ClaimedUser, cause: StreamEvent, deadlineMs: number): Promise<void>;
  /** Suspending a suspended user changes nothing. Throws `users/not_found`, `users/erased`. */
  suspend(
    place: UserPlace & { readonly reason?: string | undefined },
    context: Requester,
  ): Promise<Outcome<RegisteredUser>>;
  /** Reinstating an active user changes nothing. Throws `users/not_found`, `users/erased`. */
  reinstate(place: UserPlace, context: Requester): Promise<Outcome<RegisteredUser>>;
  /** Changes nothing about the standing. Throws `users/not_found`, `users/erased`. */
  decideCompliance(place: UserPlace & Compliance, context: Requester): Promise<Outcome<RegisteredUser>>;
  /** Ends the user's standing for good; a repeat gets the first answer. Throws `users/not_found`. */
  erase(place: UserPlace, context: CommandContext): Promise<ErasedUser>;
  /** The user, even an erased one, from a confirmed current state. Throws `users/not_found`. */
  show(place: UserPlace, context: Deadline): Promise<KnownUser>;
  /** Like `show`; undefined if there is no such user. */
  find(place: UserPlace, context: Deadline): Promise<KnownUser | undefined>;
  /** From a confirmed current state; undefined if there is no such user. */
  standing(place: UserPlace, context: Deadline): Promise<Standing | undefined>;
  /** Returns if the user is active. Throws `users/not_found` (also for an erased one), `users/suspended`. */
  requireActive(place: UserPlace, context: Deadline): Promise<void>;
}

export function createUsers({
  handler,
  store,
  clock,
}: {
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly clock: Clock;
}): Users {
  const streamOf = ({ environment, scopeId, userId }: UserPlace) => {
    // A malformed id is an absent user, and would make an ambiguous stream name.
    if (!isId('usr', userId)) throw reject('users/not_found');
    return userStreamName(environment, scopeId, userId);
  };
  const execute = async (place: UserPlace, command: UserCommand, by: Requester, at = clock()) =>
    handler.execute(user, streamOf(place), command, requestedBy(by, at.toISOString()));
  const load = ({ environment, scopeId, userId }: UserPlace, context: Deadline) =>
    isId('usr', userId)
      ? handler.load(user, userStreamName(environment, scopeId, userId), context)
      : Promise.resolve(undefined);
  return {
    async register({ userId = newId('usr'), appId, ...place }, context) {
      const at = clock();
      return execute({ ...place, userId }, { type: 'RegisterUser', userId, appId, at }, context, at);
    },
    async registerClaimed({ userId, appId, registeredAt, identity, ...place }, cause, deadlineMs) {
      const stream = userStreamName(place.environment, place.scopeId, userId);
      const command: UserCommand = {
        type: 'RegisterUser',
        userId,
        appId,
        at: new Date(registeredAt),
        identity,
      };
      await handler.execute(user, stream, command, causedBy(cause, stream, deadlineMs));
    },
    async suspend({ reason, ...place }, context) {
      return execute(place, { type: 'SuspendUser', reason }, context);
    },
    async reinstate(place, context) {
      return execute(place, { type: 'ReinstateUser' }, context);
    },
    async decideCompliance({ decision, reason, ...place }, context) {
      return execute(place, { type: 'DecideCompliance', decision, reason }, context);
    },
    async erase(place, context) {
      const stream = streamOf(place);
      const command: UserCommand = { type: 'EraseUser', at: new Date(context.metadata.occurredAt) };
      const { answer, appended }: Outcome<UserAnswer> = await handler.execute(user, stream, command, context);
      const { erasure } = answer;
      assert(erasure, 'an erased user says when');
      return { erasure, cause: appended[0] ?? (await readEvent(store, stream, erasure.revision)) };
    },
    async show(place, context) {
      const state = await load(place, context);
      if (!state) throw reject('users/not_found');
      return state;
    },
    find: load,
    async standing(place, context) {
      return (await load(place, context))?.status;
    },
    async requireActive(place, context) {
      const state = await load(place, context);
      if (!state || state.status === 'erased') throw reject('users/not_found');
      if (state.status === 'suspended') throw reject('users/suspended');
    },
  };
}

/** Whose erasure the event is; undefined for every other event. */
export function erasureIn(event: StreamEvent): (UserPlace & { readonly erasure: Erasure }) | undefined {
  if (event.type !== 'UserErased') return undefined;
  const parts = parseStreamName(event.stream);
  const erased = userEvents.decode(event);
  assert(parts?.category === user.category && erased.type === 'UserErased', `${event.stream} is not a user`);
  const { environment, owner: scopeId, id: userId } = parts;
  return { environment, scopeId, userId, erasure: { ...erased.data, revision: event.revision } };
}
