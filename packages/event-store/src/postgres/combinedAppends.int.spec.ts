/** Simultaneous appends to one stream go as one, and each is answered as if it had been sent alone. */
import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { WrongExpectedRevisionError } from '../errors.ts';
import type { AppendRequest, EventStore, ExpectedRevision } from '../port.ts';
import { allOf, idsOf, newEvents, streamName } from '../testing/events.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

describe('simultaneous appends to one stream', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  before(async () => {
    database = await createTestDatabase(logTemplate);
    const { connectionString } = database;
    pool = database.pool;
    store = createPostgresEventStore({ connectionString, applicationName: 'spec' });
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  /** Each batch has its own time. */
  async function batchesOf(stream: string): Promise<number> {
    const text = 'select count(distinct created)::int as batches from log.events where stream = $1';
    const { rows } = await pool.query<{ batches: number }>(text, [stream]);
    return rows[0]?.batches ?? 0;
  }
  /** Sent in one tick. */
  const sendAll = (requests: readonly AppendRequest[]) =>
    Promise.all(requests.map((request) => store.append(request)));

  for (const [what, expectedAt] of [
    ['that expect "any"', () => 'any'],
    ['that expect "streamExists"', (index) => (index === 0 ? 'any' : 'streamExists')],
    ['that each expect the one before', (index) => (index === 0 ? 'noStream' : index - 1)],
  ] as const satisfies readonly (readonly [string, (index: number) => ExpectedRevision])[]) {
    it(`${what} share one transaction, each with its own answer`, async () => {
      const stream = streamName();
      const events = newEvents(100);
      const results = await sendAll(
        events.map((event, index) => ({ stream, expectedRevision: expectedAt(index), events: [event] })),
      );
      const written = await allOf(store.readStream(stream));
      expect(idsOf(written)).to.deep.equal(idsOf(events));
      expect(results).to.deep.equal(
        written.map(({ revision, position }) => ({ revision, position, alreadyAppended: false })),
      );
      expect(await batchesOf(stream)).to.equal(1);
    });
  }

  it('continue a stream in one transaction, and name the event they have seen', async () => {
    const stream = streamName();
    const events = newEvents(4);
    await store.append({ stream, expectedRevision: 'noStream', events: events.slice(0, 1) });
    await sendAll(
      events.slice(1).map((event, index) => ({
        stream,
        expectedRevision: index,
        expectedLastEventId: `${events[index]?.id}`.toUpperCase(),
        events: [event],
      })),
    );
    expect(idsOf(await allOf(store.readStream(stream)))).to.deep.equal(idsOf(events));
    expect(await batchesOf(stream)).to.equal(2);
  });

  it('have the same outcomes as one after the other, including retries and refusals', async () => {
    for (let round = 0; round < 60; round++) {
      const [together, inTurn] = [streamName(), streamName()];
      const requests = randomRequests();
      const expected: unknown[] = [];
      for (const request of requests) expected.push(await outcomeOf(store, inTurn, request));
      const actual = await Promise.all(requests.map((request) => outcomeOf(store, together, request)));
      expect(actual, JSON.stringify(requests)).to.deep.equal(expected);
      const written = idsOf(await allOf(store.readStream(together)));
      expect(written).to.deep.equal(idsOf(await allOf(store.readStream(inTurn))));
    }
  });
});

type Append = Omit<AppendRequest, 'stream'>;

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;

function randomRequests(): readonly Append[] {
  const known = newEvents(12);
  const first: Append = { expectedRevision: 'noStream', events: newEvents(1) };
  return Array.from({ length: 16 }, () => {
    const expectedRevision = pick<ExpectedRevision>([
      'any',
      'any',
      'any',
      'streamExists',
      'noStream',
      0,
      1,
      2,
      3,
    ]);
    if (expectedRevision === 'noStream') return first;
    // A refused one is looked up later, when others may have brought the same ids to that very place.
    if (typeof expectedRevision === 'number') return { expectedRevision, events: newEvents(1) };
    return { expectedRevision, events: pick([[pick(known)], [pick(known), pick(known)]]) };
  });
}

async function outcomeOf(store: EventStore, stream: string, append: Append): Promise<unknown> {
  try {
    const { revision, alreadyAppended } = await store.append({ ...append, stream });
    return { revision, alreadyAppended };
  } catch (error) {
    return error instanceof WrongExpectedRevisionError ? { actual: error.actual } : error;
  }
}
