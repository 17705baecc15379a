import type { Position } from '@coffer/event-store';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { newEvents, streamName } from '@coffer/event-store/testing';
import { createLogger } from '@coffer/http';
import { expect } from 'chai';
import { ConfigurationError, configFrom } from './config.ts';
import { openEventStore, watchAppends } from './eventStore.ts';

const logger = createLogger({ level: 'info', destination: { write() {} } });
const databaseUrl = 'postgres://localhost/none';
const open = (EVENTSTORE_URL: string) =>
  openEventStore({ config: configFrom({ EVENTSTORE_URL }), databaseUrl, logger });

describe('the event store that is configured', () => {
  it('is EventStoreDB where an address of one is given', async () => {
    for (const url of ['esdb://user:secret@one:2113,two:2113?tls=false', 'esdb+discover://cluster:2113']) {
      const store = await open(url);
      // Its positions are pairs, so the events between two of them cannot be counted.
      expect(store.distance('1/1' as Position, '9/9' as Position)).to.equal(undefined);
      await store.close();
    }
  });

  it('cannot be something else', () => {
    const addresses = ['http://localhost:2113', 'localhost:2113', 'esdb://', 'kurrentdb://localhost'];
    for (const url of [...addresses, 'esdb://user:secret@host:not-a-port']) {
      expect(() => configFrom({ EVENTSTORE_URL: url }), url)
        .to.throw(ConfigurationError, 'EVENTSTORE_URL')
        .with.property('message')
        .that.does.not.include('secret');
    }
  });

  it('is told without the password when it cannot be opened', async () => {
    const error = await open('esdb://user:secret@host?tlsCAFile=/no/such/file').then(
      () => expect.fail('It was accepted.'),
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(String(error)).to.include('EVENTSTORE_URL').and.not.to.include('secret');
  });

  it('is not served by the gateway when it is elsewhere', () => {
    expect(() => configFrom({ EVENTSTORE_URL: 'esdb://host', COFFER_STORE_GATEWAY_PORT: '2113' })).to.throw(
      ConfigurationError,
      'COFFER_STORE_GATEWAY_PORT',
    );
  });
});

it('a service is at work for a moment after each append', async () => {
  let nowMs = 0;
  const appends = watchAppends(() => nowMs);
  const store = appends.watching(createMemoryEventStore());
  expect(appends.isBusy()).to.equal(false);
  await store.append({ stream: streamName(), expectedRevision: 'noStream', events: newEvents(1) });
  expect(appends.isBusy()).to.equal(true);
  nowMs = 200;
  expect(appends.isBusy()).to.equal(true);
  nowMs = 250;
  expect(appends.isBusy()).to.equal(false);
  await store.close();
});
