/**
 * `npm run bench:eventstoredb`: what keeping the log in an EventStoreDB costs, with a store gateway over PostgreSQL in
 * its place. Our adapter against the bare client's batched appends to the same gateway; then bets against the same
 * service with its log in PostgreSQL.
 *
 * Exits with 0 if all bars are passed, with 1 if one is missed, with 2 if it could not measure.
 */
import { randomUUID } from 'node:crypto';
import type { EventStore } from '@coffer/event-store';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { createPostgresEventStore, migrateLog } from '@coffer/event-store/postgres';
import { openBareClient } from '@coffer/event-store/testing';
import { createTestDatabase, startStoreGatewayProcess, stopSharedServer } from '@coffer/testing';
import { median } from './bars.ts';
import type { Run } from './children.ts';
import { prepareHttpBench } from './httpBench.ts';
import { startService } from './service.ts';
import { underControl } from './underControl.ts';

const LIMIT_MS = 600_000;
const APPENDS_IN_FLIGHT = [1, 64, 256];
const APPENDS_MS = 1_500;
const FOLLOWED_EVENTS = 20_000;
const BET_CONNECTIONS = 64;
const BET_SESSIONS = 400;
const BETS = { kind: 'time', rampMs: 200, measuredMs: 2_000 } as const;
const ROUNDS = 4;
const APPENDS_BAR = 0.7;
const BETS_BAR = 0.25;

const DATA = JSON.stringify({
  transactionUuid: randomUUID(),
  amount: '100',
  gameCode: 'dice',
  round: 'r'.repeat(150),
});

/** One event after the last one of its stream; `lastEventId` is undefined for the first. */
type Append = (
  stream: string,
  revision: number,
  id: string,
  lastEventId: string | undefined,
) => Promise<unknown>;

interface Rate {
  readonly perSecond: number;
  /** Processor time of this process. */
  readonly usEach: number;
}

const appendTo =
  (store: EventStore): Append =>
  (stream, revision, id, expectedLastEventId) =>
    store.append({
      stream,
      expectedRevision: revision < 0 ? 'noStream' : revision,
      events: [{ id, type: 'BetPlaced', data: DATA, metadata: '{"schemaVersion":1}' }],
      ...(expectedLastEventId === undefined ? {} : { expectedLastEventId }),
    });

/** Each lane appends to its own stream, one event after another. */
async function appendRate(append: Append, inFlight: number): Promise<Rate> {
  let count = 0;
  const before = process.cpuUsage();
  const endMs = performance.now() + APPENDS_MS;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      const stream = `bench-test.app.${randomUUID()}`;
      let lastId: string | undefined;
      for (let revision = -1; performance.now() < endMs; revision++) {
        const id = randomUUID();
        await append(stream, revision, id, lastId);
        lastId = id;
        count += 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { perSecond: count / (APPENDS_MS / 1_000), usEach: (user + system) / count };
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

async function openGateway(run: Run) {
  const database = await createTestDatabase({ name: 'bench-log', prepare: migrateLog });
  const gateway = await startStoreGatewayProcess({ databaseUrl: database.connectionString });
  run.stack.defer(async () => {
    await gateway.stop();
    await database.drop();
  });
  return { database, gateway };
}

const bar = (what: string, ratios: readonly number[], least: number): boolean => {
  const ratio = median(ratios);
  const each = ratios.map((one) => one.toFixed(2)).join(' ');
  process.stdout.write(
    `${what}: ${ratio.toFixed(2)} (${each}); bar ${least}: ${ratio >= least ? 'passed' : 'MISSED'}\n`,
  );
  return ratio >= least;
};

async function measureAppends(run: Run): Promise<boolean> {
  const { database, gateway } = await openGateway(run);
  const { connectionString } = gateway;
  const direct = createPostgresEventStore({ ...database, applicationName: 'bench' });
  const adapter = createEventStoreDbEventStore({ connectionString });
  const bare = openBareClient(connectionString);
  run.stack.defer(async () => {
    await Promise.all([direct.close(), adapter.close(), bare.close()]);
  });
  const ways: readonly (readonly [string, Append])[] = [
    ['PostgreSQL', appendTo(direct)],
    ['bare client', (stream, revision, id) => bare.append(stream, revision, { id, data: DATA })],
    ['adapter', appendTo(adapter)],
  ];
  let hasPassed = true;
  for (const inFlight of APPENDS_IN_FLIGHT) {
    const rates = new Map<string, Rate[]>(ways.map(([way]) => [way, []]));
    // The first round compiles code, and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [way, append] of ways) {
        const rate = await appendRate(append, inFlight);
        if (round > 0) rates.get(way)?.push(rate);
      }
    }
    for (const [way, measured] of rates) {
      const perSecond = median(measured.map((rate) => rate.perSecond));
      const usEach = median(measured.map((rate) => rate.usEach));
      process.stdout.write(
        `${way}, ${inFlight} in flight: ${Math.round(perSecond)} appends/s, ${Math.round(usEach)} µs each here\n`,
      );
    }
    const ratios = (rates.get('adapter') ?? []).map(
      ({ perSecond }, round) => perSecond / (rates.get('bare client')?.[round]?.perSecond ?? 0),
    );
    hasPassed = bar(`adapter ÷ bare client, ${inFlight} in flight`, ratios, APPENDS_BAR) && hasPassed;
  }
  for (const [way, store] of [
    ['PostgreSQL', direct],
    ['adapter', adapter],
  ] as const) {
    process.stdout.write(`${way}: ${Math.round(await followedPerSecond(store))} events/s followed\n`);
  }
  return hasPassed;
}

async function measureBets(run: Run): Promise<boolean> {
  const { gateway } = await openGateway(run);
  const sides = new Map<string, Awaited<ReturnType<typeof prepareHttpBench>>>();
  for (const [side, environment] of [
    ['PostgreSQL', {}],
    ['EventStoreDB', { EVENTSTORE_URL: gateway.connectionString }],
  ] as const) {
    const service = await startService(run, { environment });
    run.stack.defer(service.stop);
    sides.set(side, await prepareHttpBench(run, service, BET_SESSIONS));
  }
  const rates = new Map<string, number[]>([...sides.keys()].map((side) => [side, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [side, bench] of sides) {
      const { answers, measuredSeconds, spent } = await bench.measure('bet', BET_CONNECTIONS, BETS);
      if (round === 0) continue;
      rates.get(side)?.push(answers / measuredSeconds);
      if (round < ROUNDS) continue;
      const shares = [...spent].map(
        ([what, ms]) => `${what} ${Math.round(ms / ((BETS.rampMs + BETS.measuredMs) / 100))} %`,
      );
      process.stdout.write(
        `${side}: ${Math.round(answers / measuredSeconds)} bets/s; ${shares.join(', ')}\n`,
      );
    }
  }
  const ratios = (rates.get('EventStoreDB') ?? []).map(
    (perSecond, round) => perSecond / (rates.get('PostgreSQL')?.[round] ?? 0),
  );
  return bar(`bets/s, EventStoreDB ÷ PostgreSQL, ${BET_CONNECTIONS} connections`, ratios, BETS_BAR);
}

process.exitCode = await underControl('bench', LIMIT_MS, async (run) => {
  run.stack.defer(stopSharedServer);
  const parts = [await measureAppends(run), await measureBets(run)];
  return parts.every(Boolean) ? 0 : 1;
});
