/**
 * One file for each version of each event ever written, with the body that a repeat is answered with. A release
 * that reads one of them differently would change an answer that was given: mend the release, not the file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeMetadata } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { answerBody } from './playSession.bodies.ts';
import { type PlaySessionEvent, playSessionEvents } from './playSession.events.ts';
import { type PlaySessionCommand, playSession } from './playSession.ts';

const storedEvent = z.object({
  type: z.string(),
  version: z.int(),
  data: z.record(z.string(), z.unknown()),
});
const fixture = storedEvent.extend({
  history: z.array(storedEvent),
  answer: z.record(z.string(), z.unknown()),
});

const folder = new URL('fixtures/', import.meta.url);
const fixtures = readdirSync(folder).map((name) => ({
  name,
  ...fixture.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))),
}));

function decode({ type, version, data }: z.infer<typeof storedEvent>): PlaySessionEvent {
  const metadata = { correlationId: 'fixture', actor: 'key:1', occurredAt: '2026-01-31T12:00:00.000Z' };
  return playSessionEvents.decode({
    type,
    data: JSON.stringify(data),
    metadata: encodeMetadata(metadata, version),
  });
}

/** The command that led to the event, sent again. */
function repeatOf(event: PlaySessionEvent): PlaySessionCommand {
  switch (event.type) {
    case 'SessionOpened':
      return { type: 'OpenSession', ...event.data };
    case 'BetPlaced':
      return { type: 'PlaceBet', ...event.data };
    case 'WinCredited':
      return { type: 'CreditWin', ...event.data };
    case 'BetRolledBack':
    case 'RollbackRemembered':
      return { type: 'RollBackBet', ...event.data };
    case 'SessionSettled':
      return { type: 'SettleSession', transactionUuid: event.data.transactionUuid, at: event.data.settledAt };
  }
}

describe('play session: fixtures', () => {
  it('hold every event', () =>
    expect(new Set(fixtures.map(({ type }) => type))).to.deep.equal(new Set(playSessionEvents.types)));

  for (const { name, history, answer, ...stored } of fixtures) {
    it(`${name} is read and written as it stands`, () => {
      const { data } = playSessionEvents.encode(decode(stored));
      expect(data).to.equal(JSON.stringify(stored.data));
      expect(name).to.match(new RegExp(`^${stored.type}\\..*v${stored.version}\\.json$`));
    });

    it(`${name} is answered again with the same bytes`, () => {
      const event = decode(stored);
      const session = [...history.map(decode), event].reduce(playSession.evolve, playSession.initialState);
      const repeated = playSession.decide(session, repeatOf(event));
      if (repeated.answer.outcome === 'lost') throw new Error('the fixture opens another session');
      expect(repeated).to.include({ replayed: true });
      expect(JSON.stringify(answerBody(repeated.answer))).to.equal(JSON.stringify(answer));
    });
  }
});
