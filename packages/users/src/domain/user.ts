/**
 * A user's registration and standing. Whether a suspended user may do something is up to the context that asks: this
 * stream only tells the standing.
 */
import assert from 'node:assert/strict';
import { type Decision, type Environment, type StreamType, streamName } from '@coffer/kernel';
import { reject } from '../errors.ts';
import { type ComplianceDecision, type UserEvent, userEvents } from './user.events.ts';

export const userStreamName = (environment: Environment, scopeId: string, userId: string): string =>
  streamName('user', environment, scopeId, userId);

/** An erased user's funds and history stay, under the id; who it was is forgotten. */
export type Standing = 'active' | 'suspended' | 'erased';

/** An identity as the log knows it: who it belongs to is kept outside. */
export interface LinkedIdentity {
  readonly identityId: string;
  readonly type: 'wallet' | 'messenger' | 'email';
  /** The keyed hash that names the identity's stream. */
  readonly identityHash: string;
}

export interface RegisteredUser {
  readonly userId: string;
  readonly appId: string;
  readonly registeredAt: string;
  readonly status: Standing;
}

export interface Erasure {
  readonly erasedAt: string;
  readonly identities: readonly Pick<LinkedIdentity, 'identityId' | 'identityHash'>[];
  /** The revision of the event that says so. */
  readonly revision: number;
}

export interface Compliance {
  readonly decision: ComplianceDecision;
  readonly reason?: string | undefined;
}

export interface KnownUser extends RegisteredUser {
  /** In the order they were linked, the primary one first. Empty for a user registered without sign-in. */
  readonly identities: readonly LinkedIdentity[];
  readonly erasure?: Erasure;
  /** The latest. */
  readonly compliance?: Compliance;
  /** The revision of the last event. */
  readonly revision: number;
}

/** Undefined until registered. */
export type UserState = KnownUser | undefined;

/** `erasure` is only in the answer to `EraseUser`. */
export interface UserAnswer extends RegisteredUser {
  readonly erasure?: Erasure;
}

export type UserCommand =
  | {
      readonly type: 'RegisterUser';
      readonly userId: string;
      readonly appId: string;
      readonly at: Date;
      /** The identity of the sign-in by which the user came. */
      readonly identity?: LinkedIdentity | undefined;
    }
  | { readonly type: 'SuspendUser'; readonly reason?: string | undefined }
  | { readonly type: 'ReinstateUser' }
  | ({ readonly type: 'DecideCompliance' } & Compliance)
  | { readonly type: 'EraseUser'; readonly at: Date };

function decide(state: UserState, command: UserCommand): Decision<UserEvent, UserAnswer> {
  if (command.type === 'RegisterUser') return register(state, command);
  if (!state) throw reject('users/not_found');
  if (command.type === 'EraseUser') return erase(state, command.at);
  if (state.status === 'erased') throw reject('users/erased');

  if (command.type === 'DecideCompliance') return decideCompliance(state, command);

  const status = command.type === 'SuspendUser' ? 'suspended' : 'active';
  const answer = answerOf(state, status);
  if (state.status === status) return { events: [], answer };
  if (command.type === 'ReinstateUser') return { events: [{ type: 'UserReinstated', data: {} }], answer };
  const data = command.reason === undefined ? {} : { reason: command.reason };
  return { events: [{ type: 'UserSuspended', data }], answer };
}

function register(
  state: UserState,
  { userId, appId, at, identity }: Extract<UserCommand, { type: 'RegisterUser' }>,
): Decision<UserEvent, UserAnswer> {
  const registeredAt = at.toISOString();
  // The answer describes the registration, not today's standing, so that a repeat gets the first answer.
  if (state && state.appId === appId) {
    return { events: [], answer: answerOf(state, 'active'), replayed: true };
  }
  if (state) throw reject('users/idempotency_conflict', { key: userId, field: 'appId' });

  const registered: UserEvent = { type: 'UserRegistered', data: { userId, appId, registeredAt } };
  const events: readonly UserEvent[] = identity
    ? [registered, { type: 'IdentityLinked', data: { ...identity, linkedAt: registeredAt } }]
    : [registered];
  return { events, answer: { userId, appId, registeredAt, status: 'active' } };
}

/** The same decision for the same reason again is the same decision. */
function decideCompliance(
  state: KnownUser,
  { decision, reason }: Compliance,
): Decision<UserEvent, UserAnswer> {
  const answer = answerOf(state, state.status);
  const { compliance: latest } = state;
  if (latest?.decision === decision && latest.reason === reason) return { events: [], answer };
  const data = reason === undefined ? { decision } : { decision, reason };
  return { events: [{ type: 'ComplianceDecided', data }], answer };
}

function erase(state: KnownUser, at: Date): Decision<UserEvent, UserAnswer> {
  if (state.erasure) {
    return {
      events: [],
      answer: { ...answerOf(state, 'erased'), erasure: state.erasure },
      replayed: true,
    };
  }
  const erasedAt = at.toISOString();
  const identities = state.identities.map(({ identityId, identityHash }) => ({ identityId, identityHash }));
  return {
    events: [{ type: 'UserErased', data: { erasedAt, identities } }],
    answer: {
      ...answerOf(state, 'erased'),
      erasure: { erasedAt, identities, revision: state.revision + 1 },
    },
  };
}

const answerOf = ({ userId, appId, registeredAt }: KnownUser, status: Standing): RegisteredUser => ({
  userId,
  appId,
  registeredAt,
  status,
});

function evolve(state: UserState, event: UserEvent): UserState {
  if (event.type === 'UserRegistered') {
    assert(!state, 'a user is registered once');
    return { ...event.data, status: 'active', identities: [], revision: 0 };
  }
  assert(state, 'a user is registered first');
  assert(state.status !== 'erased', 'nothing follows an erasure');
  const revision = state.revision + 1;
  switch (event.type) {
    case 'IdentityLinked': {
      const { linkedAt: _, ...identity } = event.data;
      return { ...state, identities: [...state.identities, identity], revision };
    }
    case 'UserSuspended':
      assert(state.status === 'active', 'only an active user is suspended');
      return { ...state, status: 'suspended', revision };
    case 'UserReinstated':
      assert(state.status === 'suspended', 'only a suspended user is reinstated');
      return { ...state, status: 'active', revision };
    case 'ComplianceDecided':
      return { ...state, compliance: event.data, revision };
    case 'UserErased':
      return { ...state, status: 'erased', erasure: { ...event.data, revision }, revision };
  }
}

export const user: StreamType<UserCommand, UserEvent, UserState, UserAnswer> = {
  category: 'user',
  version: 3,
  codec: userEvents,
  initialState: undefined,
  decide,
  evolve,
  sizeOf: (state) => 400 + 300 * (state?.identities.length ?? 0),
};
