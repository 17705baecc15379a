/**
 * `npm run bench:eventstoredb`: what going through the EventStoreDB client costs. The same log in Postgres is
 * written and read directly, and through the client and a store gateway in a separate process.
 */
import { randomUUID } from 'node:crypto';
import type { EventStore } from '@coffer/event-store';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { createPostgresEventStore, migrateLog } from '@coffer/event-store/postgres';
import { createTestDatabase, startStoreGatewayProcess, stopSharedServer } from '@coffer/testing';

const APPENDS_IN_FLIGHT = [1, 64, 256];
const MEASURED_MS = 4_000;
const ROUNDS = 3;
const FOLLOWED_EVENTS = 20_000;

const DATA = JSON.stringify({
  transactionUuid: randomUUID(),
  amount: '100',
  gameCode: 'dice',
  round: 'r'.repeat(150),
});

/** Each lane appends to its own stream, one event after another. The processor time is that of this process. */
async function measuredAppends(store: EventStore, inFlight: number): Promise<string> {
  let count = 0;
  const before = process.cpuUsage();
  const endMs = performance.now() + MEASURED_MS;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      const stream = `bench-test.app.${randomUUID()}`;
      let lastEventId: string | undefined;
      for (let revision = -1; performance.now() < endMs; revision++) {
        const event = { id: randomUUID(), type: 'BetPlaced', data: DATA, metadata: '{"schemaVersion":1}' };
        await store.append({
          stream,
          expectedRevision: revision < 0 ? 'noStream' : revision,
          events: [event],
          ...(lastEventId === undefined ? {} : { expectedLastEventId: lastEventId }),
        });
        lastEventId = event.id;
        count += 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const perSecond = Math.round(count / (MEASURED_MS / 1_000));
  return `${perSecond} appends/s with ${inFlight} in flight (${Math.round((user + system) / count)} µs each here)`;
}

async function followedPerSecond(store: EventStore): Promise<number> {
  const stopping = new AbortController();
  const fromMs = performance.now();
  let count = 0;
  for await (const message of store.subscribeToAll({ signal: stopping.signal, pageSize: 1_000 })) {
    if (message.kind === 'events') count += message.events.length;
    if (message.kind === 'caughtUp' || count >= FOLLOWED_EVENTS) break;
  }
  return count / ((performance.now() - fromMs) / 1_000);
}

const database = await createTestDatabase({
  name: 'bench-log',
  prepare: migrateLog,
});
const gateway = await startStoreGatewayProcess({ databaseUrl: database.connectionString });
const stores: readonly (readonly [string, EventStore])[] = [
  ['directly', createPostgresEventStore({ ...database, applicationName: 'bench' })],
  ['through the client', createEventStoreDbEventStore({ connectionString: gateway.connectionString })],
];
try {
  // The first round compiles code and fills the log; it is not shown.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [way, store] of stores) {
      const figures: string[] = [];
      for (const inFlight of APPENDS_IN_FLIGHT) {
        figures.push(await measuredAppends(store, inFlight));
      }
      figures.push(`${Math.round(await followedPerSecond(store))} events/s followed from the start`);
      if (round > 0) process.stdout.write(`${way}: ${figures.join(', ')}\n`);
    }
  }
} finally {
  for (const [, store] of stores) await store.close();
  await gateway.stop();
  await database.drop();
  await stopSharedServer();
}
