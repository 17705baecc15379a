/**
 * Events that the fold takes are checked against the chain over the log: an event that differs from the
 * chained one is blamed itself, not its consequences. The altered event is kept with the fold, which is
 * useless once the event has been put right: it would keep accusing the rows.
 */
import { inTurns, type Projection } from '@coffer/consumers';
import type { Client, Queryable } from '@coffer/database';
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import type { Discrepancy } from './report.ts';

interface ChainedEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly hash: Buffer;
  readonly previous: Buffer;
  readonly ordinal: number;
}

export interface ChainOfLog {
  /** The chained entries of the range, by ordinal. */
  readonly entries: (
    db: Queryable,
    first: number,
    last: number,
  ) => Promise<ReadonlyMap<number, ChainedEvent>>;
  /** Whether events of the range, asked for in order, are those that were chained; false also where none is chained. */
  readonly comparison: (
    db: Queryable,
    first: number,
    last: number,
  ) => Promise<(ordinal: number, event: RecordedEvent) => boolean>;
  /** The hash of an event in that entry's place: the same hash only for the event that was chained. */
  readonly hashInPlaceOf: (chained: ChainedEvent, event: RecordedEvent) => Buffer;
}

/** Listing more adds nothing. */
const MOST_ALTERED = 100;

export async function createAltered(client: Client, schema: string): Promise<void> {
  await client.query(`
    create table if not exists ${schema}.altered_events (
      ordinal bigint primary key,
      -- As it was chained.
      subject text not null,
      -- As it was folded. Without a hash it is another event, and nothing behind it was compared.
      stream text not null,
      revision bigint not null,
      type text not null,
      hash bytea
    )`);
}

interface Altered {
  readonly ordinal: number;
  readonly subject: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly hash: Buffer | null;
}

export function projectAltered(schema: string, chain: ChainOfLog): Projection {
  /** True: nothing more is compared; undefined: not known. */
  let isOver: boolean | undefined;
  return {
    forget() {
      isOver = undefined;
    },
    async apply(db, events, before) {
      if (isOver === undefined) {
        const known = await readAltered(db, schema);
        isOver = known.length >= MOST_ALTERED || known.some(({ hash }) => hash === null);
      }
      if (isOver) return;
      const isChained = await chain.comparison(db, before + 1, before + events.length);
      let entries: Awaited<ReturnType<ChainOfLog['entries']>> | undefined;
      let ordinal = before;
      for await (const part of inTurns(events)) {
        for (const event of part) {
          ordinal += 1;
          if (isChained(ordinal, event)) continue;
          entries ??= await chain.entries(db, ordinal, before + events.length);
          const entry = entries.get(ordinal);
          const altered = entry && alterationOf(chain, entry, event);
          if (!altered) continue;
          await db.query(
            `insert into ${schema}.altered_events (ordinal, subject, stream, revision, type, hash)
             values ($1, $2, $3, $4, $5, $6) on conflict (ordinal) do nothing`,
            [altered.ordinal, altered.subject, altered.stream, altered.revision, altered.type, altered.hash],
          );
          // After an inserted or removed event, every other one has a different ordinal.
          if (altered.hash === null) {
            isOver = true;
            return;
          }
        }
      }
    },
  };
}

function alterationOf(chain: ChainOfLog, entry: ChainedEvent, event: RecordedEvent): Altered | undefined {
  const hash = chain.hashInPlaceOf(entry, event);
  if (hash.equals(entry.hash)) return undefined;
  const isSameButId = () => chain.hashInPlaceOf(entry, { ...event, id: entry.id }).equals(entry.hash);
  return {
    ordinal: entry.ordinal,
    subject: `${entry.stream} ${entry.revision}`,
    stream: event.stream,
    revision: event.revision,
    type: event.type,
    hash: entry.id === event.id || isSameButId() ? hash : null,
  };
}

export async function readAltered(db: Queryable, schema: string): Promise<readonly Altered[]> {
  const { rows } = await db.query<
    Record<'ordinal' | 'subject' | 'stream' | 'revision' | 'type', string> & {
      readonly hash: Buffer | null;
    }
  >(
    `select ordinal, subject, stream, revision, type, hash from ${schema}.altered_events
      order by ordinal limit ${MOST_ALTERED}`,
  );
  return rows.map((row) => ({ ...row, ordinal: Number(row.ordinal), revision: Number(row.revision) }));
}

interface Compared {
  readonly db: Queryable;
  readonly chain: ChainOfLog;
  readonly store: Pick<EventStore, 'readStream'>;
}

/** Whether, for events recorded as altered, the log still holds exactly what the fold has taken. */
export async function isStillAltered({ db, chain, store }: Compared, schema: string): Promise<boolean> {
  for (const { ordinal, stream, revision, hash } of await readAltered(db, schema)) {
    const entry = (await chain.entries(db, ordinal, ordinal)).get(ordinal);
    if (!entry || !hash) return false;
    const [event] = await firstPage(store, stream, revision);
    if (event?.revision !== revision || !chain.hashInPlaceOf(entry, event).equals(hash)) return false;
  }
  return true;
}

async function firstPage(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  fromRevision: number,
): Promise<readonly RecordedEvent[]> {
  for await (const page of store.readStream(stream, { fromRevision, limit: 1 })) return page;
  return [];
}

export const alteredDiscrepancy = ({
  ordinal,
  subject,
  stream,
  revision,
  type,
  hash,
}: Altered): Discrepancy => ({
  check: 'log',
  subject,
  expected: { event: 'the one that was chained' },
  actual: {
    event: type,
    problem:
      hash === null
        ? `at ordinal ${ordinal} stands ${stream} ${revision}, which is another event; streams verify says more`
        : 'it was altered since it was chained; streams verify says more',
  },
});
