/** The pull feed: an app's events in order, with proof that none is missing. Source: contract, Webhooks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import { EVENT_TYPES, type EventType } from './domain/eventTypes.ts';
import { reject } from './errors.ts';

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

/** One look at an index for each environment and type, however rare the type is. */
export const feedQuery = (
  { appId, environment, types }: Pick<FeedRequest, 'appId' | 'environment' | 'types'>,
  direction: 'after' | 'upTo',
  place: number,
  limit: number,
) => {
  const [beyond, order] = direction === 'after' ? ['>', 'asc'] : ['<=', 'desc'];
  return {
    text: `
      with found as (
        select one.sequence
        from unnest($2::text[]) as place cross join unnest($3::text[]) as kind
        cross join lateral (
          select e.sequence from records.webhook_events e
          where e.app_id = $1 and e.environment = place and e.type = kind and e.sequence ${beyond} $4
          order by e.sequence ${order} limit $5
        ) as one
        order by one.sequence ${order} limit $5
      )
      select e.sequence::float8 as sequence, e.body
      from found join records.webhook_events e on e.app_id = $1 and e.sequence = found.sequence
      order by found.sequence ${order}`,
    values: [
      appId,
      environment === undefined ? ENVIRONMENTS : [environment],
      types ?? EVENT_TYPES,
      place,
      limit,
    ],
  };
};

const ENVIRONMENTS = ['test', 'live'] as const;

async function pageOf(
  pool: Pool,
  request: Omit<FeedRequest, 'after'> & { readonly after: number },
): Promise<FeedPage> {
  const { appId, after, limit } = request;
  const { rows } = await pool.query<{ sequence: number; body: string }>(
    feedQuery(request, 'after', after, limit + 1),
  );
  const pruned = await prunedSequence(pool, appId);
  if (after < pruned) throw reject('webhooks/events_pruned', { prunedSequence: pruned });
  const found = rows.slice(0, limit);
  const last = found.at(-1);
  if (!last) return { items: [], nextAfter: after, hasMore: false };
  const { rows: before } = await pool.query<{ sequence: number }>(feedQuery(request, 'upTo', after, 1));
  let previousSequence = before[0]?.sequence ?? null;
  const items = found.map(({ sequence, body }) => {
    const item = { ...JSON.parse(body), previousSequence };
    previousSequence = sequence;
    return item;
  });
  return { items, nextAfter: last.sequence, hasMore: rows.length > limit };
}

/** Looked at after the events, so that a page from which some are pruned meanwhile is refused. */
async function prunedSequence(pool: Pool, appId: string): Promise<number> {
  const { rows } = await pool.query<{ pruned: number }>(
    'select pruned_sequence::float8 as pruned from records.webhook_sequences where app_id = $1',
    [appId],
  );
  return rows[0]?.pruned ?? 0;
}
