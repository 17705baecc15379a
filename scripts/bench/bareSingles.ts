/** The yardsticks of latency: single durable inserts at a rate, and how long the disk takes to keep what is written. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inParallel } from './inParallel.ts';
import { atRate, type Pace, quantile } from './pacing.ts';

/** As many as the inserts in flight at 4,000/s while a commit takes some milliseconds. */
const CONNECTIONS = 32;
/** The size of a stored bet, about. */
const ROW = 'x'.repeat(350);
const SYNCS = 300;
const SYNCED_BYTES = Buffer.alloc(8 * 1024, 1);

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Each row in a transaction on its own, which has committed when it counts as done. Counted from the due time. */
export async function singleInserts(
  connectionString: string,
  pace: Pace,
): Promise<Latencies & { readonly lateP99Ms: number }> {
  const pool = new pg.Pool({ connectionString, max: CONNECTIONS, min: CONNECTIONS });
  try {
    await pool.query(
      'create table if not exists bench_single (id bigserial primary key, data text not null)',
    );
    const statement = {
      name: 'bench_single',
      text: 'insert into bench_single (data) values ($1)',
      values: [ROW],
    };
    await inParallel(CONNECTIONS * 10, () => pool.query(statement));
    const latenciesMs = new Float64Array(pace.requests);
    const inserts: Promise<void>[] = [];
    const lateMs = await atRate(pace, (dueMs) => {
      const index = inserts.length;
      inserts.push(
        pool.query(statement).then(() => {
          latenciesMs[index] = performance.now() - dueMs;
        }),
      );
    });
    await Promise.all(inserts);
    return { ...latenciesOf(latenciesMs), lateP99Ms: quantile(lateMs.sort(), 0.99) };
  } finally {
    await pool.end();
  }
}

/** Writes to a file in the folder, each write made durable by `fdatasync`. */
export async function fileSyncs(folder: string): Promise<Latencies> {
  const path = join(folder, 'bench-sync');
  const file = await open(path, 'w');
  const latenciesMs = new Float64Array(SYNCS);
  try {
    for (let index = 0; index < SYNCS; index++) {
      const startedMs = performance.now();
      await file.write(SYNCED_BYTES, 0, SYNCED_BYTES.length, 0);
      await file.datasync();
      latenciesMs[index] = performance.now() - startedMs;
    }
  } finally {
    await file.close();
    await rm(path);
  }
  return latenciesOf(latenciesMs);
}

function latenciesOf(latenciesMs: Float64Array): Latencies {
  const sorted = latenciesMs.sort();
  return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}
