/**
 * A user's registration and standing. Whether a suspended user may do a thing is for the context that asks:
 * this stream only says how the user stands.
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, type StreamType, streamName } from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type UserEvent, userEvents } from './user.events.ts';

export const userStreamName = (environment: Environment, scopeId: string, userId: string): string =>
  streamName('user', environment, scopeId, userId);

export type Standing = 'active' | 'suspended';

export interface RegisteredUser {
  readonly userId: string;
  readonly appId: string;
  readonly registeredAt: string;
  readonly status: Standing;
}

/** Undefined until registered. */
export type UserState = RegisteredUser | undefined;

export type UserCommand =
  | { readonly type: 'RegisterUser'; readonly userId: string; readonly appId: string; readonly at: Date }
  | { readonly type: 'SuspendUser'; readonly reason?: string | undefined }
  | { readonly type: 'ReinstateUser' };

function decide(state: UserState, command: UserCommand): Decision<UserEvent, RegisteredUser> {
  switch (command.type) {
    case 'RegisterUser':
      return register(state, command);
    case 'SuspendUser': {
      if (!state) throw reject('users/not_found');
      if (state.status === 'suspended') return { events: [], answer: state };
      return {
        events: [
          { type: 'UserSuspended', data: command.reason === undefined ? {} : { reason: command.reason } },
        ],
        answer: { ...state, status: 'suspended' },
      };
    }
    case 'ReinstateUser': {
      if (!state) throw reject('users/not_found');
      if (state.status === 'active') return { events: [], answer: state };
      return { events: [{ type: 'UserReinstated', data: {} }], answer: { ...state, status: 'active' } };
    }
  }
}

function register(
  state: UserState,
  { userId, appId, at }: Extract<UserCommand, { type: 'RegisterUser' }>,
): Decision<UserEvent, RegisteredUser> {
  // The answer tells the registration, not today's standing, so that a repeat reads like the first.
  if (state && state.appId === appId) {
    return { events: [], answer: { ...state, status: 'active' }, replayed: true };
  }
  if (state) throw reject('users/idempotency_conflict', { key: userId, field: 'appId' });

  const registeredAt = at.toISOString();
  return {
    events: [{ type: 'UserRegistered', data: { userId, appId, registeredAt } }],
    answer: { userId, appId, registeredAt, status: 'active' },
  };
}

function evolve(state: UserState, event: UserEvent): UserState {
  switch (event.type) {
    case 'UserRegistered':
      assert(!state, 'a user is registered once');
      return { ...event.data, status: 'active' };
    case 'UserSuspended':
      assert(state?.status === 'active', 'only an active user is suspended');
      return { ...state, status: 'suspended' };
    case 'UserReinstated':
      assert(state?.status === 'suspended', 'only a suspended user is reinstated');
      return { ...state, status: 'active' };
  }
}

export const user: StreamType<UserCommand, UserEvent, UserState, RegisteredUser> = {
  category: 'user',
  version: 1,
  codec: userEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: () => 300,
};
