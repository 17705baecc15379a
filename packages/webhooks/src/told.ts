/** What has been told, for whoever passes it on elsewhere. */
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import type { Environment } from '@coffer/kernel';
import { envelopeBytes } from './domain/envelope.ts';

interface ToldPlace {
  readonly appId: string;
  readonly sequence: number;
}

interface ToldEvent extends ToldPlace {
  readonly environment: Environment;
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** What a subscription to everything of the environment is sent. */
  readonly bytesAfter: (previousSequence: number | null) => Buffer;
}

interface ToldEvents {
  /** Of each app that has any numbers: the last, and the last whose event is no longer kept. */
  readonly lasts: () => Promise<readonly (ToldPlace & { readonly prunedSequence: number })[]>;
  /** The next events after each place, in the order of their app, at most so many of each. */
  readonly after: (places: readonly ToldPlace[], limit: number) => Promise<readonly ToldEvent[]>;
  /** The ids of the events at these places, as far as they are still kept. */
  readonly idsAt: (places: readonly ToldPlace[]) => Promise<ReadonlyMap<string, string>>;
  /** What comes after these places is to be kept, and all of every other app. */
  readonly keepOnlyAfter: (places: readonly ToldPlace[]) => Promise<void>;
  /** Up to these places nothing need be kept any longer. */
  readonly passedOn: (places: readonly ToldPlace[]) => Promise<void>;
  /** The event of the log that is told at the place. */
  readonly sourceOf: (place: ToldPlace) => Promise<RecordedEvent>;
}

export function createToldEvents(pool: Pool, store: Pick<EventStore, 'readTails'>): ToldEvents {
  return {
    async lasts() {
      const { rows } = await pool.query<ToldPlace & { readonly prunedSequence: number }>(
        `select app_id as "appId", last::float8 as sequence, pruned_sequence::float8 as "prunedSequence"
           from records.webhook_sequences where last > 0`,
      );
      return rows;
    },
    async after(places, limit) {
      const { rows } = await pool.query<Omit<ToldEvent, 'bytesAfter'> & { readonly body: string }>(
        `select told.* from unnest($1::text[], $2::bigint[]) with ordinality as place (app_id, sequence, number),
           lateral (select app_id as "appId", sequence::float8 as sequence, environment, event_id as "eventId", type,
                           created_at as "createdAt", body
                      from records.webhook_events e
                     where e.app_id = place.app_id and e.sequence > place.sequence
                     order by e.sequence limit $3) as told
          order by place.number, told.sequence`,
        [...columns(places), limit],
      );
      return rows.map(({ body, ...event }) => ({
        ...event,
        bytesAfter: (previousSequence) => envelopeBytes(body, previousSequence),
      }));
    },
    async idsAt(places) {
      const { rows } = await pool.query<{ appId: string; eventId: string }>(
        `select app_id as "appId", event_id as "eventId" from records.webhook_events
           join unnest($1::text[], $2::bigint[]) as place (app_id, sequence) using (app_id, sequence)`,
        columns(places),
      );
      return new Map(rows.map(({ appId, eventId }) => [appId, eventId]));
    },
    async keepOnlyAfter(places) {
      await withTransaction(pool, async (client) => {
        await client.query('delete from records.webhook_passed_on');
        await putPassedOn(client, places);
      });
    },
    passedOn: (places) => putPassedOn(pool, places),
    async sourceOf({ appId, sequence }) {
      const { rows } = await pool.query<{ stream: string; fromRevision: number }>(
        `select stream, revision::float8 as "fromRevision" from records.webhook_events
          where app_id = $1 and sequence = $2`,
        [appId, sequence],
      );
      const [[source] = []] = await store.readTails(rows, 1);
      if (!source) throw new Error(`The log has no source of event ${sequence} of ${appId}.`);
      return source;
    },
  };
}

const columns = (places: readonly ToldPlace[]) => [
  places.map(({ appId }) => appId),
  places.map(({ sequence }) => sequence),
];

/** Whoever shows how far he is does not wait for the disk: after a crash, too much is kept. */
async function putPassedOn(db: Queryable, places: readonly ToldPlace[]): Promise<void> {
  await db.query(
    `insert into records.webhook_passed_on (app_id, sequence) select * from unnest($1::text[], $2::bigint[])
     on conflict (app_id) do update set sequence = excluded.sequence
     returning set_config('synchronous_commit', 'off', true)`,
    columns(places),
  );
}
