/**
 * One file for each version of each event ever written, with the answer to a repeat. A release that reads one of them
 * differently would change an answer already given: correct the release, not the file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeMetadata, type StreamType } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';

const storedEvent = z.object({
  type: z.string(),
  version: z.int(),
  data: z.record(z.string(), z.unknown()),
});
const fixture = storedEvent.extend({
  history: z.array(storedEvent),
  answer: z.record(z.string(), z.unknown()),
});

const METADATA = { correlationId: 'fixture', actor: 'key:1', occurredAt: '2026-01-31T12:00:00.000Z' };

/** Called in a `describe`. The folder holds nothing but fixtures. */
export function holdsEventFixtures<Command, Event, State, Answer>(
  type: StreamType<Command, Event, State, Answer>,
  folder: URL,
  options: {
    /** The command that led to the event, sent again. */
    readonly repeatOf: (event: Event) => Command;
    /** The bytes of the answer that a caller gets. */
    readonly textOf: (answer: Answer) => string;
  },
): void {
  const fixtures = readdirSync(folder).map((name) => ({
    name,
    ...fixture.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))),
  }));
  const decode = (stored: z.infer<typeof storedEvent>): Event =>
    type.codec.decode({
      type: stored.type,
      data: JSON.stringify(stored.data),
      metadata: encodeMetadata(METADATA, stored.version),
    });

  it('hold every event', () =>
    expect(new Set(fixtures.map((one) => one.type))).to.deep.equal(new Set(type.codec.types)));

  for (const { name, history, answer, ...stored } of fixtures) {
    it(`${name} is read and written unchanged`, () => {
      const { data } = type.codec.encode(decode(stored));
      expect(data).to.equal(JSON.stringify(stored.data));
      expect(name).to.match(new RegExp(`^${stored.type}\\..*v${stored.version}\\.json$`));
    });

    it(`${name} is answered again with the same bytes`, () => {
      const event = decode(stored);
      const state = [...history.map(decode), event].reduce(type.evolve, type.initialState);
      const repeated = type.decide(state, options.repeatOf(event));
      expect(repeated.events).to.deep.equal([]);
      expect(options.textOf(repeated.answer)).to.equal(JSON.stringify(answer));
    });
  }
}
