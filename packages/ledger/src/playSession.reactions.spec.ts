import type { RecordedEvent } from '@coffer/event-store';
import { idFromParts } from '@coffer/kernel';
import { recordedEvent } from '@coffer/testing';
import { expect } from 'chai';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import { playSessionStream } from './domain/playSession.ts';
import { sessionDues } from './playSession.reactions.ts';
import { rolledBack, rolledBackLate } from './testing/playSessionBuilders.ts';

const appId = idFromParts('app', 'spec');
const sessionId = idFromParts('ses', 'spec');

function recorded(event: PlaySessionEvent): RecordedEvent {
  const { type, data } = playSessionEvents.encode(event);
  return recordedEvent({ type, data, stream: playSessionStream('test', appId, sessionId), revision: 3 });
}

describe('what a play session owes to the account', () => {
  const dues = sessionDues({
    carryOut: {
      open: async () => undefined,
      close: async () => undefined,
      creditLateRollback: async () => undefined,
    },
  });
  const owedFor = (event: PlaySessionEvent) =>
    dues.flatMap(({ name, dueOf }) => (dueOf(recorded(event)) ? [name] : []));

  it('is the stake of a late rollback', () =>
    expect(owedFor(rolledBackLate('r', 'b', 40n, 60n))).to.deep.equal(['creditLateRollback']));

  it('is nothing for a late rollback of nothing', () =>
    expect(owedFor(rolledBackLate('r', 'b', 0n, 60n))).to.deep.equal([]));

  it('is nothing for a rollback in play', () =>
    expect(owedFor(rolledBack('r', 'b', 40n, 100n))).to.deep.equal([]));
});
