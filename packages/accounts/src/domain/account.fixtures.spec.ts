/**
 * One file for each version of each event ever written, with what a repeat is answered with. A release that
 * reads one of them differently would change an answer that was given: mend the release, not the file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { encodeMetadata } from '@coffer/kernel';
import { expect } from 'chai';
import { z } from 'zod';
import { type AccountEvent, accountEvents } from './account.events.ts';
import { type AccountCommand, account } from './account.ts';

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

function decode({ type, version, data }: z.infer<typeof storedEvent>): AccountEvent {
  const metadata = { correlationId: 'fixture', actor: 'operator', occurredAt: '2026-01-31T12:00:00.000Z' };
  return accountEvents.decode({
    type,
    data: JSON.stringify(data),
    metadata: encodeMetadata(metadata, version),
  });
}

/** The command that led to the event, sent again. */
function repeatOf(event: AccountEvent): AccountCommand {
  switch (event.type) {
    case 'AccountCredited':
      return { type: 'CreditAccount', ...event.data };
    case 'AccountDebited':
      return { type: 'DebitAccount', ...event.data };
    case 'FundsHeld':
      return { type: 'HoldFunds', ...event.data };
    case 'HoldClosed':
      return { type: 'CloseHold', ...event.data };
  }
}

const amountsAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);

describe('account: fixtures', () => {
  it('hold every event', () =>
    expect(new Set(fixtures.map(({ type }) => type))).to.deep.equal(new Set(accountEvents.types)));

  for (const { name, history, answer, ...stored } of fixtures) {
    it(`${name} is read and written as it stands`, () => {
      const { data } = accountEvents.encode(decode(stored));
      expect(data).to.equal(JSON.stringify(stored.data));
      expect(name).to.match(new RegExp(`^${stored.type}\\..*v${stored.version}\\.json$`));
    });

    it(`${name} is answered again with the same bytes`, () => {
      const event = decode(stored);
      const after = [...history.map(decode), event].reduce(account.evolve, account.initialState);
      const repeated = account.decide(after, repeatOf(event));
      expect(repeated.events).to.deep.equal([]);
      expect(JSON.stringify(repeated.answer, amountsAsText)).to.equal(JSON.stringify(answer));
    });
  }
});
