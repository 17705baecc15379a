/** The pull feed: an app's events in order, with proof that none is missing. Source: contract, Webhooks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import type { RequestContext } from '@coffer/http';
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

/** So that one app's readers leave room for those of others. */
const MAX_WAITING_PER_APP = 20;

/** Of the request: whether somebody waits for its answer, and may. */
export type Reader = Pick<RequestContext, 'signal' | 'mayWait'>;

export type Feed = ReturnType<typeof createFeed>;

export function createFeed(pool: Pool) {
  const closing = new AbortController();
  const waiting = new Map<string, number>();
  return {
    /** Ends all waiting. */
    close: () => closing.abort(),
    /**
     * Waits for the first event, if there is none yet. An app with `MAX_WAITING_PER_APP` readers who wait already gets
     * what there is, and so does everybody while the service is busy.
     */
    async read({ after: wanted, waitMs, ...request }: FeedRequest, reader: Reader): Promise<FeedPage> {
      const { appId } = request;
      const untilMs = performance.now() + waitMs;
      const after = wanted === 'last' ? await lastOf(pool, appId) : wanted;
      const look = () => pageOf(pool, { ...request, after });
      const page = await look();
      const others = waiting.get(appId) ?? 0;
      if (page.items.length > 0 || waitMs === 0 || others >= MAX_WAITING_PER_APP || !reader.mayWait())
        return page;

      waiting.set(appId, others + 1);
      try {
        return await waited(page, {
          look,
          untilMs,
          signal: AbortSignal.any([closing.signal, reader.signal]),
        });
      } finally {
        const left = (waiting.get(appId) ?? 0) - 1;
        if (left > 0) waiting.set(appId, left);
        else waiting.delete(appId);
      }
    },
  };
}

/** The first page with an event, or an empty one at the end of the time or of the reader's patience. */
async function waited(
  empty: FeedPage,
  {
    look,
    untilMs,
    signal,
  }: { readonly look: () => Promise<FeedPage>; readonly untilMs: number; readonly signal: AbortSignal },
): Promise<FeedPage> {
  let page = empty;
  while (page.items.length === 0 && !signal.aborted) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) break;
    // It fails for one reason only: the signal.
    await delay(Math.min(POLL_MS, leftMs), undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) page = await look();
  }
  return page;
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
  request: Omit<FeedRequest, 'after' | 'waitMs'> & { readonly after: number },
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
