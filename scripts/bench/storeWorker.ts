/**
 * Measures the event store in Postgres against the bare statements: appends, with many in flight, against
 * inserts of the same batches; replay against a select by the same pages. Gets its plan from its parent.
 */
import { createPool, type Pool } from '@coffer/database';
import { createPostgresEventStore, migrateLog } from '@coffer/event-store/postgres';
import { createBareInserts, selectBare } from './bareLog.ts';
import { type BenchPlan, STORE_APPENDS_IN_FLIGHT } from './plan.ts';
import type { StoreFigures, StoreOutcome } from './store.ts';
import { createBetStreams } from './storedBets.ts';

const REPLAYED_EVENTS = 150_000;
const RAMP_MS = 300;

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) throw new Error('The event store measurement needs DATABASE_URL.');
const connectionString = databaseUrl;

process.on('message', (plan: BenchPlan) => {
  measure(plan).then(
    (figures) => reply({ kind: 'figures', figures }),
    (error: unknown) =>
      reply({
        kind: 'failure',
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
  );
});
// The parent is gone: nobody is left to report to.
process.on('disconnect', () => process.exit(0));

function reply(outcome: StoreOutcome): void {
  process.send?.(outcome);
}

async function measure(plan: BenchPlan): Promise<StoreFigures> {
  const pool = createPool({
    connectionString,
    applicationName: 'coffer-bench',
    onIdleError: (error) => {
      throw error;
    },
  });
  try {
    await migrateLog(pool);
    await pool.query('create table log.bare_events (like log.events including all)');
    const appends = await measureAppends(plan);
    return { ...appends, ...(await measureReplay(pool, plan)) };
  } finally {
    await pool.end();
  }
}

async function measureAppends({ storeRounds, storeMeasuredMs }: BenchPlan) {
  const bareInsertsPerSecond: number[] = [];
  const appendsPerSecond: number[] = [];
  const bareInserts = createBareInserts(connectionString, 'log.bare_events');
  const append = createAppends();
  try {
    // The first round compiles code and grows files, and is not counted.
    for (let round = 0; round <= storeRounds; round++) {
      const bare = await bareInserts.forSomeTime(RAMP_MS, storeMeasuredMs);
      const appended = await append.forSomeTime(RAMP_MS, storeMeasuredMs);
      if (round === 0) continue;
      bareInsertsPerSecond.push(bare);
      appendsPerSecond.push(appended);
    }
  } finally {
    await append.close();
  }
  return { bareInsertsPerSecond, appendsPerSecond };
}

/** Single-event appends, each at its stream's revision, with as many in flight as there are streams. */
function createAppends() {
  const store = createPostgresEventStore({ connectionString, applicationName: 'coffer-bench-log' });
  const streams = createBetStreams('append', STORE_APPENDS_IN_FLIGHT);

  return {
    close: () => store.close(),
    async forSomeTime(rampMs: number, measuredMs: number): Promise<number> {
      let counted = 0;
      const fromMs = performance.now() + rampMs;
      const toMs = fromMs + measuredMs;
      await Promise.all(
        streams.map(async (stream) => {
          while (performance.now() < toMs) {
            const append = stream.next();
            const result = await store.append(append);
            if (result.alreadyAppended) throw new Error('A new event counted as appended before.');
            stream.appended(append);
            const now = performance.now();
            if (now >= fromMs && now < toMs) counted += 1;
          }
        }),
      );
      return counted / (measuredMs / 1_000);
    },
  };
}

async function measureReplay(pool: Pool, { replayRounds }: BenchPlan) {
  const bareSelectedPerSecond: number[] = [];
  const replayedPerSecond: number[] = [];
  const store = createPostgresEventStore({ connectionString, applicationName: 'coffer-bench-log' });
  try {
    for (let round = 0; round <= replayRounds; round++) {
      const bare = await perSecond(() => selectBare(pool, 'log.events', REPLAYED_EVENTS));
      const replayed = await perSecond(async () => {
        let events = 0;
        for await (const page of store.readAll({ limit: REPLAYED_EVENTS })) events += page.length;
        return events;
      });
      if (bare.count !== replayed.count)
        throw new Error(`Replay gave ${replayed.count} of ${bare.count} events.`);
      if (round === 0) continue;
      bareSelectedPerSecond.push(bare.rate);
      replayedPerSecond.push(replayed.rate);
    }
  } finally {
    await store.close();
  }
  return { bareSelectedPerSecond, replayedPerSecond };
}

async function perSecond(work: () => Promise<number>): Promise<{ count: number; rate: number }> {
  const fromMs = performance.now();
  const count = await work();
  return { count, rate: count / ((performance.now() - fromMs) / 1_000) };
}
