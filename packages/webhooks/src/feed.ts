/** The pull feed: an app's events in order, with proof that none is missing. Source: contract, Webhooks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import type { EventType } from './domain/eventTypes.ts';

interface FeedRequest {
  readonly appId: string;
  /** Undefined: both. */
  readonly environment?: Environment | undefined;
  /** Undefined: all of them. */
  readonly types?: readonly EventType[] | undefined;
  /** `last`: the end, as it is now. */
  readonly after: number | 'last';
  readonly limit: number;
  readonly waitMs: number;
}

interface FeedPage {
  readonly items: readonly unknown[];
  /** Where to go on. */
  readonly nextAfter: number;
  readonly hasMore: boolean;
}

/** Emitters may run in another process, so whoever waits asks the database; the answer is one row of an index. */
const POLL_MS = 200;

export type Feed = ReturnType<typeof createFeed>;

export function createFeed(pool: Pool) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let isClosed = false;
  return {
    /** Ends all waiting. */
    close() {
      isClosed = true;
      close();
    },
    /** Waits for the first event, if there is none yet. */
    async read({ after: wanted, ...request }: FeedRequest): Promise<FeedPage> {
      const until = performance.now() + request.waitMs;
      const after = wanted === 'last' ? await lastOf(pool, request.appId) : wanted;
      while (true) {
        const page = await pageOf(pool, { ...request, after });
        const leftMs = until - performance.now();
        if (page.items.length > 0 || leftMs <= 0 || isClosed) return page;
        await Promise.race([delay(Math.min(POLL_MS, leftMs)), closed]);
      }
    },
  };
}

async function lastOf(pool: Pool, appId: string): Promise<number> {
  const { rows } = await pool.query<{ last: number }>(
    'select last::float8 as last from records.webhook_sequences where app_id = $1',
    [appId],
  );
  return rows[0]?.last ?? 0;
}

const FILTER = `app_id = $1 and ($2::text is null or environment = $2) and ($3::text[] is null or type = any($3))`;

async function pageOf(
  pool: Pool,
  { appId, environment, types, after, limit }: Omit<FeedRequest, 'after'> & { readonly after: number },
): Promise<FeedPage> {
  const filter = [appId, environment ?? null, types ?? null];
  const { rows } = await pool.query<{ sequence: number; body: string }>(
    `select sequence::float8 as sequence, body from records.webhook_events
      where ${FILTER} and sequence > $4 order by sequence limit $5`,
    [...filter, after, limit + 1],
  );
  const found = rows.slice(0, limit);
  const last = found.at(-1);
  if (!last) return { items: [], nextAfter: after, hasMore: false };
  const { rows: before } = await pool.query<{ sequence: number }>(
    `select sequence::float8 as sequence from records.webhook_events
      where ${FILTER} and sequence <= $4 order by sequence desc limit 1`,
    [...filter, after],
  );
  let previousSequence = before[0]?.sequence ?? null;
  const items = found.map(({ sequence, body }) => {
    const item = { ...JSON.parse(body), previousSequence };
    previousSequence = sequence;
    return item;
  });
  return { items, nextAfter: last.sequence, hasMore: rows.length > limit };
}
