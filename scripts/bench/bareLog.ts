/**
 * The yardstick for the event store: what the same table, driver and encoding do when nothing is checked,
 * nothing queues and rows are not turned into events.
 */
import { type Client, int8Array, type Pool, textArray, uuidArray } from '@coffer/database';
import pg from 'pg';
import { REPLAY_PAGE_EVENTS, STORE_APPENDS_IN_FLIGHT, STORE_ROWS_PER_BATCH } from './plan.ts';
import { type BetStream, createBetStreams } from './storedBets.ts';

/** As many batches at a time as the events in flight fill, on one connection, as the store does. */
const BATCHES_IN_FLIGHT = STORE_APPENDS_IN_FLIGHT / STORE_ROWS_PER_BATCH;

export interface BareInserts {
  /** Rows per second. */
  forSomeTime(rampMs: number, measuredMs: number): Promise<number>;
}

/** Inserts full batches into a table like the log's, sending the next while one is being executed. */
export function createBareInserts(connectionString: string, table: string): BareInserts {
  const streamsOf = Array.from({ length: BATCHES_IN_FLIGHT }, (_, index) =>
    createBetStreams(`bare${index}x`, STORE_ROWS_PER_BATCH),
  );
  let position = 0;

  const insertBatch = async (client: Client, streams: readonly BetStream[]): Promise<void> => {
    const appends = streams.map((stream) => stream.next());
    const events = appends.map((append) => append.events[0]);
    const first = position + 1;
    position += events.length;
    await client.query({
      name: 'bench_bare_insert',
      text: `insert into ${table} (position, stream, revision, id, type, data, metadata, created)
             select *, clock_timestamp()
               from unnest($1::bigint[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[])`,
      values: [
        int8Array(events.map((_, index) => first + index)),
        textArray(streams.map(({ stream }) => stream)),
        int8Array(streams.map(({ nextRevision }) => nextRevision)),
        uuidArray(events.map(({ id }) => id)),
        textArray(events.map(({ type }) => type)),
        textArray(events.map(({ data }) => data)),
        textArray(events.map(({ metadata }) => metadata)),
      ],
    });
    for (const [index, append] of appends.entries()) streams[index]?.appended(append);
  };

  return {
    async forSomeTime(rampMs, measuredMs) {
      let counted = 0;
      const fromMs = performance.now() + rampMs;
      const toMs = fromMs + measuredMs;
      const client = new pg.Client({ connectionString, pipeline: true });
      await client.connect();
      try {
        await Promise.all(
          streamsOf.map(async (streams) => {
            while (performance.now() < toMs) {
              await insertBatch(client, streams);
              const now = performance.now();
              if (now >= fromMs && now < toMs) counted += streams.length;
            }
          }),
        );
      } finally {
        await client.end();
      }
      return counted / (measuredMs / 1_000);
    },
  };
}

/** Reads the first rows page by page, as plain rows. Returns how many there were. */
export async function selectBare(pool: Pool, table: string, limit: number): Promise<number> {
  let after = '0';
  let count = 0;
  while (count < limit) {
    const { rows } = await pool.query<[string]>({
      name: 'bench_bare_select',
      text: `select position, stream, revision, id, type, data, metadata, created from ${table}
              where position > $1 order by position limit $2`,
      values: [after, Math.min(REPLAY_PAGE_EVENTS, limit - count)],
      rowMode: 'array',
    });
    count += rows.length;
    const last = rows.at(-1);
    if (!last) break;
    after = last[0];
  }
  return count;
}
