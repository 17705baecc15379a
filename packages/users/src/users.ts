/**
 * Users as the other contexts see them: registered under an id, and standing `active` or `suspended`.
 * Source: contract, The command line (users) and Ledger (edge cases: suspended user).
 */
import type { CommandHandler, Outcome } from '@coffer/event-store';
import type { RequestContext } from '@coffer/http';
import { type Clock, type Environment, isId, newId } from '@coffer/kernel';
import { type RegisteredUser, type Standing, type UserCommand, user, userStreamName } from './domain/user.ts';
import { reject } from './errors.ts';

/** A user's place: the scope is shared by its apps, the environment by nothing. */
export interface UserPlace {
  readonly environment: Environment;
  readonly scopeId: string;
  readonly userId: string;
}

export interface RegisterUser {
  readonly environment: Environment;
  readonly scopeId: string;
  readonly appId: string;
  /** A `usr_` id; a fresh one when undefined. The same id again answers the same registration. */
  readonly userId?: string | undefined;
}

export type UsersContext = Pick<RequestContext, 'requestId' | 'actor' | 'deadlineMs'>;

export interface Users {
  register(request: RegisterUser, context: UsersContext): Promise<Outcome<RegisteredUser>>;
  /** Suspending a suspended user changes nothing. Throws `users/not_found`. */
  suspend(
    place: UserPlace & { readonly reason?: string | undefined },
    context: UsersContext,
  ): Promise<Outcome<RegisteredUser>>;
  /** Reinstating an active user changes nothing. Throws `users/not_found`. */
  reinstate(place: UserPlace, context: UsersContext): Promise<Outcome<RegisteredUser>>;
  /** The user, confirmed current. Throws `users/not_found`. */
  show(place: UserPlace, context: Pick<UsersContext, 'deadlineMs'>): Promise<RegisteredUser>;
  /** Confirmed current; undefined where there is no such user. */
  standing(place: UserPlace, context: Pick<UsersContext, 'deadlineMs'>): Promise<Standing | undefined>;
  /** Returns when the user is active. Throws `users/not_found`, `users/suspended`. */
  requireActive(place: UserPlace, context: Pick<UsersContext, 'deadlineMs'>): Promise<void>;
}

export function createUsers({
  handler,
  clock,
}: {
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly clock: Clock;
}): Users {
  const execute = (place: UserPlace, command: UserCommand, context: UsersContext, at: Date) => {
    // An id of the wrong form is an absent user, and would make an ambiguous stream name.
    if (!isId('usr', place.userId)) throw reject('users/not_found');
    return handler.execute(user, userStreamName(place.environment, place.scopeId, place.userId), command, {
      metadata: {
        correlationId: context.requestId,
        actor: context.actor,
        occurredAt: at.toISOString(),
      },
      deadlineMs: context.deadlineMs,
    });
  };
  const load = async (place: UserPlace, context: Pick<UsersContext, 'deadlineMs'>) =>
    isId('usr', place.userId)
      ? handler.load(user, userStreamName(place.environment, place.scopeId, place.userId), context)
      : undefined;

  return {
    async register({ userId = newId('usr'), appId, ...place }, context) {
      const at = clock();
      return execute({ ...place, userId }, { type: 'RegisterUser', userId, appId, at }, context, at);
    },
    async suspend({ reason, ...place }, context) {
      return execute(place, { type: 'SuspendUser', reason }, context, clock());
    },
    async reinstate(place, context) {
      return execute(place, { type: 'ReinstateUser' }, context, clock());
    },
    async show(place, context) {
      const state = await load(place, context);
      if (!state) throw reject('users/not_found');
      return state;
    },
    async standing(place, context) {
      return (await load(place, context))?.status;
    },
    async requireActive(place, context) {
      const state = await load(place, context);
      if (!state) throw reject('users/not_found');
      if (state.status === 'suspended') throw reject('users/suspended');
    },
  };
}
