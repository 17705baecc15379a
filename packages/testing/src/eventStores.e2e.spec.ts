import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { expect } from 'chai';
import { endEventStores, eventStoreUrlOf, startEventStoreServer } from './eventStores.ts';
import { failureOf } from './failures.ts';

const COMMAND = `${process.execPath} ${fileURLToPath(import.meta.resolve('./eventStoreServer.ts'))}`;
const VARIABLES = ['COFFER_SPEC_EVENT_STORE', 'EVENTSTORE_TEST_SERVER', 'TMPDIR'] as const;

describe('a separate event store for each database of the specs', () => {
  const variables = VARIABLES.map((name) => [name, process.env[name]] as const);
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  beforeEach(() => {
    set('COFFER_SPEC_EVENT_STORE', 'eventstoredb');
    set('EVENTSTORE_TEST_SERVER', COMMAND);
  });
  afterEach(async () => {
    await endEventStores((owner) => owner.includes('/of-this-spec'));
    for (const [name, value] of variables) set(name, value);
  });

  it('is the same for all services of a database, and another for another', async () => {
    const [one, again, other] = await Promise.all([
      eventStoreUrlOf('postgresql://127.0.0.1/of-this-spec'),
      eventStoreUrlOf('postgresql://127.0.0.1/of-this-spec'),
      eventStoreUrlOf('/of-this-spec'),
    ]);
    expect(again).to.equal(one);
    expect(other).to.not.equal(one);
  });

  it('does not exist unless requested', async () => {
    set('COFFER_SPEC_EVENT_STORE', undefined);
    expect(await eventStoreUrlOf('postgresql://127.0.0.1/of-this-spec')).to.equal(undefined);
  });

  it('serves until it is told to end, and leaves no folder', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'coffer-event-stores-'));
    set('TMPDIR', parent);
    const server = await startEventStoreServer(COMMAND);
    const store = createEventStoreDbEventStore({ connectionString: server.connectionString });
    try {
      const event = { id: crypto.randomUUID(), type: 'Happened', data: '{}', metadata: '{}' };
      await store.append({ stream: 'a-stream', expectedRevision: 'noStream', events: [event] });
      expect(await store.head()).to.include({ eventId: event.id });
      expect(await readdir(parent)).to.have.length(1);
    } finally {
      await store.close();
      await server.stop();
    }
    expect(await readdir(parent)).to.deep.equal([]);
    await rm(parent, { recursive: true });
  });

  it('says so when the command serves nothing', async () => {
    const failure = await failureOf(startEventStoreServer('/bin/false'));
    expect(failure.message).to.include('EVENTSTORE_TEST_SERVER does not serve: /bin/false');
    expect(failure.cause).to.have.property('message', 'It has ended.');
  });
});
