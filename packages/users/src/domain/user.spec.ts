import { Rejection } from '@coffer/kernel';
import { expect } from 'chai';
import type { UserEvent } from './user.events.ts';
import { type UserCommand, type UserState, user } from './user.ts';

const AT = new Date('2026-01-02T03:04:05.678Z');

const register = (appId = 'app_1') => ({ type: 'RegisterUser', userId: 'usr_1', appId, at: AT }) as const;
const suspend: UserCommand = { type: 'SuspendUser', reason: 'chargeback' };
const reinstate: UserCommand = { type: 'ReinstateUser' };

const registered: UserEvent = {
  type: 'UserRegistered',
  data: { userId: 'usr_1', appId: 'app_1', registeredAt: AT.toISOString() },
};
const suspended: UserEvent = { type: 'UserSuspended', data: { reason: 'chargeback' } };
const reinstated: UserEvent = { type: 'UserReinstated', data: {} };

const decide: UserCommand = { type: 'DecideCompliance', decision: 'failed', reason: 'sanctions list' };
const decided: UserEvent = {
  type: 'ComplianceDecided',
  data: { decision: 'failed', reason: 'sanctions list' },
};
const passed: UserEvent = { type: 'ComplianceDecided', data: { decision: 'passed', reason: 'appeal' } };

const identity = { identityId: 'idn_1', type: 'email', identityHash: 'ab12' } as const;
const linked: UserEvent = { type: 'IdentityLinked', data: { ...identity, linkedAt: AT.toISOString() } };
const erase: UserCommand = { type: 'EraseUser', at: AT };
const erased = (...identities: { identityId: string; identityHash: string }[]): UserEvent => ({
  type: 'UserErased',
  data: { erasedAt: AT.toISOString(), identities },
});

const stateAfter = (events: readonly UserEvent[]): UserState =>
  events.reduce<UserState>(user.evolve, user.initialState);

/** Decides, then decides the same again on the resulting state, which must add nothing. */
const decideTwice = (history: readonly UserEvent[], command: UserCommand) => {
  const first = user.decide(stateAfter(history), command);
  const again = user.decide(stateAfter([...history, ...first.events]), command);
  expect(again.events, 'the same command again').to.deep.equal([]);
  expect(again.answer, 'the answer to the same command again').to.deep.equal(first.answer);
  return first;
};

const refusalOf = (history: readonly UserEvent[], command: UserCommand): Rejection => {
  try {
    user.decide(stateAfter(history), command);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  throw new Error('The command was not refused.');
};

describe('a user', () => {
  const rows: readonly [
    rule: string,
    history: readonly UserEvent[],
    command: UserCommand,
    events: readonly UserEvent[],
    status: 'active' | 'suspended' | 'erased',
  ][] = [
    ['is registered', [], register(), [registered], 'active'],
    ['is suspended', [registered], suspend, [suspended], 'suspended'],
    ['stays suspended', [registered, suspended], suspend, [], 'suspended'],
    ['is reinstated', [registered, suspended], reinstate, [reinstated], 'active'],
    ['stays active', [registered], reinstate, [], 'active'],
    [
      'brings the identity it signed in with',
      [],
      { ...register(), identity },
      [registered, linked],
      'active',
    ],
    ['has a compliance decision, and stays active', [registered], decide, [decided], 'active'],
    ['has another decision', [registered, decided, passed], decide, [decided], 'active'],
    ['is checked while suspended', [registered, suspended], decide, [decided], 'suspended'],
    ['is suspended again', [registered, suspended, reinstated], suspend, [suspended], 'suspended'],
  ];
  for (const [rule, history, command, events, status] of rows) {
    it(rule, () => {
      const decision = decideTwice(history, command);
      expect(decision.events).to.deep.equal(events);
      expect(decision.answer).to.deep.equal({ ...registered.data, status });
    });
  }

  it('is erased with its identities, whatever its standing, and stays erased', () => {
    const { identityId, identityHash } = identity;
    const rows: readonly [readonly UserEvent[], UserEvent][] = [
      [[registered], erased()],
      [[registered, linked], erased({ identityId, identityHash })],
      [[registered, linked, suspended], erased({ identityId, identityHash })],
    ];
    for (const [history, event] of rows) {
      const decision = decideTwice(history, erase);
      expect(decision.events).to.deep.equal([event]);
      expect(decision.answer).to.deep.equal({
        ...registered.data,
        status: 'erased',
        erasure: { ...event.data, revision: history.length },
      });
      for (const command of [suspend, reinstate, decide]) {
        expect(refusalOf([...history, event], command).code).to.equal('users/erased');
      }
    }
  });

  it('repeats the answer of its registration, whatever has happened to it since', () => {
    const first = user.decide(undefined, register());
    const later = { ...register(), at: new Date('2027-01-01T00:00:00.000Z') };
    const again = user.decide(stateAfter([registered, suspended]), later);
    expect(again).to.deep.equal({ events: [], answer: first.answer, replayed: true });
  });

  it('is not registered through two apps', () => {
    expect(refusalOf([registered], register('app_2'))).to.deep.include({
      code: 'users/idempotency_conflict',
      details: { key: 'usr_1', field: 'appId' },
    });
  });

  it('must be registered before it is suspended, reinstated or erased', () => {
    expect(refusalOf([], suspend).code).to.equal('users/not_found');
    expect(refusalOf([], reinstate).code).to.equal('users/not_found');
    expect(refusalOf([], decide).code).to.equal('users/not_found');
    expect(refusalOf([], erase).code).to.equal('users/not_found');
  });

  it('may be suspended without a reason', () => {
    expect(user.decide(stateAfter([registered]), { type: 'SuspendUser' }).events).to.deep.equal([
      { type: 'UserSuspended', data: {} },
    ]);
  });
});
