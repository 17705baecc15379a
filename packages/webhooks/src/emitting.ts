/**
 * Numbers the facts of the log. Events, numbers, deliveries and the checkpoint are written in one transaction, and all of
 * them follow from the log: whoever reads a part of it again gives the same facts the same numbers, ids and texts.
 */
import type { Projection } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import { idFromParts } from '@coffer/kernel';
import type { EventType } from './domain/eventTypes.ts';
import { type Fact, factsOf, moveBookedBy } from './facts.projection.ts';
import { failureMessage } from './failureMessages.ts';

export type EmittingStore = Pick<
  EventStore,
  'heads' | 'readTails' | 'comparePositions' | 'parsePosition' | 'placeAt'
>;

/** A fact where it was found. */
interface Found extends Fact {
  readonly stream: string;
  readonly revision: number;
  /** How many events the log has up to it. */
  readonly ordinal: number;
}

interface AppRow {
  readonly appId: string;
  readonly scopeId: string;
  readonly last: number;
  /** Facts of the scope are numbered for the app after this place. */
  readonly sinceOrdinal: number;
  /** Facts up to this place had their numbers, and are no longer kept. */
  readonly prunedOrdinal: number;
}

interface EventRow {
  readonly app_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly type: EventType;
  readonly environment: string;
  readonly object_id: string;
  readonly user_id: string;
  readonly stream: string;
  readonly revision: number;
  readonly ordinal: number;
  readonly created_at: string;
  readonly body: string;
}

export function emitting(store: EmittingStore): Projection {
  return {
    async apply(db, events, before) {
      const ends = await bookedEnds(store, events);
      const found = events.flatMap((event, index) => foundIn(event, ends.get(event.id), before + index + 1));
      if (found.length === 0) return;
      const ids = audienceOf(found);
      await beginNumbers(db, store, ids, { events, before });
      const apps = await lockApps(db, ids);
      const wanted = found.flatMap((fact) =>
        apps.filter((app) => isFor(app, fact)).map((app) => ({ app, fact })),
      );
      const known = await knownAmong(db, wanted);
      const fresh = wanted.filter(({ app, fact }) => !known.has(sourceOf(app.appId, fact)));
      if (fresh.length === 0) return;

      const lasts = new Map(apps.map(({ appId, last }) => [appId, last]));
      const codes = await currencyCodes(db, fresh);
      const rows: EventRow[] = [];
      for (const { app, fact } of fresh) {
        const sequence = (lasts.get(app.appId) ?? 0) + 1;
        lasts.set(app.appId, sequence);
        rows.push(eventRow(app.appId, sequence, fact, codes));
      }
      await insertEvents(db, rows);
      await moveSequences(db, lasts);
      await queueDeliveries(db, rows);
    },
    // A skipped event is not told to anybody, and takes no number.
    async pass() {},
  };
}

function eventRow(
  appId: string,
  sequence: number,
  fact: Found,
  codes: ReadonlyMap<string, string>,
): EventRow {
  const { type, environment, objectId, userId, stream, revision, ordinal, currency } = fact;
  const createdAt = fact.occurredAt;
  const id = idFromParts('evt', appId, stream, String(revision), type);
  const data = currency
    ? { ...fact.data, code: codes.get(currencyKey(currency)) ?? null, error: errorOf(fact.errorCode) }
    : fact.data;
  return {
    app_id: appId,
    sequence,
    event_id: id,
    type,
    environment,
    object_id: objectId,
    user_id: userId,
    stream,
    revision,
    ordinal,
    created_at: createdAt,
    body: JSON.stringify({ id, type, createdAt, appId, environment, sequence, data }),
  };
}

const errorOf = (code: string | undefined) =>
  code === undefined ? null : { code, message: failureMessage(code) };

/**
 * By the id of the event that books it: the end of the move, which is the last event of its stream. What came into that
 * stream after the booking is not looked at, so that a replay finds the same.
 */
async function bookedEnds(
  store: EmittingStore,
  events: readonly RecordedEvent[],
): Promise<ReadonlyMap<string, RecordedEvent>> {
  const booking = events.flatMap((event) => {
    const stream = moveBookedBy(event);
    return stream === undefined ? [] : [{ event, stream }];
  });
  if (booking.length === 0) return new Map();
  const heads = await store.heads(booking.map(({ stream }) => stream));
  const known = booking.flatMap(({ event, stream }, index) => {
    const fromRevision = heads[index]?.revision;
    return fromRevision === undefined ? [] : [{ event, tail: { stream, fromRevision } }];
  });
  const tails = await store.readTails(
    known.map(({ tail }) => tail),
    1,
  );
  return new Map(
    known.flatMap(({ event }, index) => {
      const [end] = tails[index] ?? [];
      return end && store.comparePositions(end.position, event.position) < 0 ? [[event.id, end]] : [];
    }),
  );
}

const foundIn = (
  event: RecordedEvent,
  bookedEnd: RecordedEvent | undefined,
  ordinal: number,
): readonly Found[] =>
  factsOf(event, bookedEnd).map((fact) => ({
    ...fact,
    stream: event.stream,
    revision: event.revision,
    ordinal,
  }));

const sourceOf = (appId: string, { stream, revision, type }: Pick<Found, 'stream' | 'revision' | 'type'>) =>
  `${appId} ${stream} ${revision} ${type}`;

/** Users and wallets are shared by the apps of a scope; an app that joins later is not told what was before. */
function isFor(
  { appId, scopeId, sinceOrdinal, prunedOrdinal }: AppRow,
  { audience, ordinal }: Found,
): boolean {
  if (ordinal <= prunedOrdinal) return false;
  if ('appId' in audience) return audience.appId === appId;
  return audience.scopeId === scopeId && ordinal > sinceOrdinal;
}

const currencyKey = ({ appId, currencyId }: NonNullable<Fact['currency']>) => `${appId} ${currencyId}`;

/** Codes never change. */
async function currencyCodes(
  db: Queryable,
  wanted: readonly { readonly fact: Found }[],
): Promise<ReadonlyMap<string, string>> {
  const appIds = new Set(wanted.flatMap(({ fact }) => (fact.currency ? [fact.currency.appId] : [])));
  if (appIds.size === 0) return new Map();
  const { rows } = await db.query<{ appId: string; currencyId: number; code: string }>(
    `select app_id as "appId", currency_id as "currencyId", code from records.currencies where app_id = any($1)`,
    [[...appIds]],
  );
  return new Map(rows.map((row) => [currencyKey(row), row.code]));
}

const audienceOf = (found: readonly Found[]): readonly string[] => [
  ...new Set(found.map(({ audience }) => ('appId' in audience ? audience.appId : audience.scopeId))),
];

interface Page {
  readonly events: readonly RecordedEvent[];
  /** How many events the log has before it. */
  readonly before: number;
}

/**
 * Where the numbers of an app begin is fixed with the first page that has something for it. That page may have been in the
 * log before the app was: an app that joined a scope begins after what was there then. What came since, but passed here
 * before the app could be seen, is not told either.
 */
async function beginNumbers(
  db: Queryable,
  store: EmittingStore,
  ids: readonly string[],
  page: Page,
): Promise<void> {
  const { rows: apps } = await db.query<JoinedApp>(
    `select app_id as "appId", joined_position as position, joined_event_id as "eventId"
       from records.apps left join records.webhook_sequences numbered using (app_id)
      where (app_id = any($1) or scope_id = any($1)) and numbered.app_id is null`,
    [ids],
  );
  if (apps.length === 0) return;
  const sharedBefore = await Promise.all(apps.map((app) => countBeforeJoining(store, app, page.events)));
  const begun = apps.flatMap(({ appId }, index) => {
    const count = sharedBefore[index] ?? 0;
    // Nothing here is for one that joined after it.
    return count < page.events.length ? [{ appId, since: page.before + count }] : [];
  });
  await db.query(
    `insert into records.webhook_sequences (app_id, since_ordinal)
     select * from unnest($1::text[], $2::bigint[]) on conflict (app_id) do nothing`,
    [begun.map(({ appId }) => appId), begun.map(({ since }) => since)],
  );
}

/** With the end of the log when it joined its scope, if it did. */
interface JoinedApp {
  readonly appId: string;
  readonly position: string | null;
  readonly eventId: string | null;
}

/** How many of the events. None, if the log is another one now: restored to an earlier state, or imported. */
async function countBeforeJoining(
  store: EmittingStore,
  { position, eventId }: JoinedApp,
  events: readonly RecordedEvent[],
): Promise<number> {
  const end = position === null ? undefined : store.parsePosition(position);
  if (end === undefined || (await store.placeAt(end))?.eventId !== eventId) return 0;
  const first = events.findIndex((event) => store.comparePositions(event.position, end) > 0);
  return first === -1 ? events.length : first;
}

/** The apps that any of the facts may be for. A page of an emitter that has lost its lease waits here, and is refused. */
async function lockApps(db: Queryable, ids: readonly string[]): Promise<readonly AppRow[]> {
  const { rows } = await db.query<AppRow>(
    `select app_id as "appId", scope_id as "scopeId", last::float8 as last, since_ordinal::float8 as "sinceOrdinal",
            pruned_ordinal::float8 as "prunedOrdinal"
       from records.webhook_sequences join records.apps using (app_id)
      where app_id = any($1) or scope_id = any($1)
      order by app_id for update of webhook_sequences`,
    [ids],
  );
  return rows;
}

/** Those that have their number already. */
async function knownAmong(
  db: Queryable,
  wanted: readonly { readonly app: AppRow; readonly fact: Found }[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ appId: string; stream: string; revision: number; type: EventType }>(
    `select app_id as "appId", stream, revision::float8 as revision, type
       from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) as wanted (app_id, stream, revision, type)
       join records.webhook_events using (app_id, stream, revision, type)`,
    [
      wanted.map(({ app }) => app.appId),
      wanted.map(({ fact }) => fact.stream),
      wanted.map(({ fact }) => fact.revision),
      wanted.map(({ fact }) => fact.type),
    ],
  );
  return new Set(rows.map((row) => sourceOf(row.appId, row)));
}

async function insertEvents(db: Queryable, rows: readonly EventRow[]): Promise<void> {
  await db.query(
    `insert into records.webhook_events
       (app_id, sequence, event_id, type, environment, object_id, user_id, stream, revision, ordinal, created_at, body)
     select app_id, sequence, event_id, type, environment, object_id, user_id, stream, revision, ordinal, created_at, body
       from json_to_recordset($1) as event (app_id text, sequence bigint, event_id text, type text, environment text,
         object_id text, user_id text, stream text, revision bigint, ordinal bigint, created_at timestamptz, body text)`,
    [JSON.stringify(rows)],
  );
}

async function moveSequences(db: Queryable, lasts: ReadonlyMap<string, number>): Promise<void> {
  await db.query(
    `update records.webhook_sequences s set last = reached.last
       from unnest($1::text[], $2::bigint[]) as reached (app_id, last) where s.app_id = reached.app_id`,
    [[...lasts.keys()], [...lasts.values()]],
  );
}

/**
 * What a disabled subscription misses counts as matched, so that its receiver sees the gap. Subscriptions are locked in
 * order, before their deliveries: a deletion waits, and then fails them.
 */
async function queueDeliveries(db: Queryable, rows: readonly EventRow[]): Promise<void> {
  const { rows: subscriptions } = await db.query<{
    id: string;
    appId: string;
    events: readonly string[] | null;
    environment: string | null;
    isEnabled: boolean;
    lastMatched: number | null;
  }>(
    `select subscription_id as id, app_id as "appId", events, environment, state = 'enabled' as "isEnabled",
            last_matched::float8 as "lastMatched"
       from records.webhook_subscriptions
      where app_id = any($1) and state <> 'deleted'
      order by subscription_id for update`,
    [[...new Set(rows.map((row) => row.app_id))]],
  );
  const ofApp = Map.groupBy(rows, (row) => row.app_id);
  const deliveries: (readonly [id: string, appId: string, sequence: number, previous: number | null])[] = [];
  const matched = new Map<string, number>();
  for (const { id, appId, events, environment, isEnabled, lastMatched } of subscriptions) {
    let previous = lastMatched;
    for (const { sequence, type, environment: where } of ofApp.get(appId) ?? []) {
      if (events && !events.includes(type)) continue;
      if (environment !== null && environment !== where) continue;
      if (isEnabled) deliveries.push([id, appId, sequence, previous]);
      previous = sequence;
      matched.set(id, sequence);
    }
  }
  if (matched.size === 0) return;
  await db.query(
    `update records.webhook_subscriptions s set last_matched = reached.sequence
       from unnest($1::text[], $2::bigint[]) as reached (id, sequence) where s.subscription_id = reached.id`,
    [[...matched.keys()], [...matched.values()]],
  );
  await db.query(
    `insert into records.webhook_deliveries (subscription_id, app_id, sequence, previous_sequence, next_attempt_at)
     select id, app_id, sequence, previous, clock_timestamp()
       from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as delivery (id, app_id, sequence, previous)
     on conflict (subscription_id, sequence) do nothing`,
    [
      deliveries.map(([id]) => id),
      deliveries.map(([, appId]) => appId),
      deliveries.map(([, , sequence]) => sequence),
      deliveries.map(([, , , previous]) => previous),
    ],
  );
}
