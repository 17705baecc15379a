import type { Position, RecordedEvent } from '@coffer/event-store';
import { encodeMetadata, idFromParts } from '@coffer/kernel';
import { expect } from 'chai';
import { type PlaySessionEvent, playSessionEvents } from './domain/playSession.events.ts';
import { playSessionStream } from './domain/playSession.ts';
import { sessionDues } from './playSession.reactions.ts';
import { rolledBack, rolledBackLate } from './testing/playSessionBuilders.ts';

const appId = idFromParts('app', 'spec');
const sessionId = idFromParts('ses', 'spec');

function recorded(event: PlaySessionEvent): RecordedEvent {
  const { type, data, schemaVersion } = playSessionEvents.encode(event);
  const recordedAt = new Date(0);
  const metadata = { correlationId: 'c', actor: 'spec', occurredAt: recordedAt.toISOString() };
  return {
    id: '11111111-1111-5111-8111-111111111111',
    type,
    data,
    metadata: encodeMetadata(metadata, schemaVersion),
    stream: playSessionStream('test', appId, sessionId),
    revision: 3,
    // Not used.
    position: '4' as Position,
    recordedAt,
  };
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
