/**
 * Appends the lines of `coffer streams export` to another store, in order, so that every event keeps its ordinal.
 * What the log already holds must be the beginning of the very same events: a killed import continues where it
 * stopped, and a repeated one writes nothing.
 *
 * One append at a time: concurrent ones could be stored in another order.
 *
 * Lines of other users of the source server, which earlier releases exported as well, are skipped.
 */
import {
  type EventStore,
  EventTooLargeError,
  InvalidAppendError,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '@coffer/event-store';
import { isOurStream } from '@coffer/kernel';
import { reject } from './errors.ts';
import { type ExportedEvent, exportedEvent } from './storedEventLine.ts';
import { type TextLine, textLines } from './textLines.ts';

/** The log's hash chain, which is written along with it. */
interface CarriedChain {
  /** The next event of the log, before it is written. Rejects an event other than the one chained. */
  readonly take: (event: ExportedEvent) => Promise<void>;
  /** Everything accepted is in the log, the last event at this position. */
  readonly stands: (position: Position) => Promise<void>;
}

export interface LogImport {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Restricted to our events (`ourLog`): what others write into it does not interfere. */
  readonly store: Pick<EventStore, 'append' | 'readAll' | 'comparePositions' | 'distance'>;
  readonly chain: CarriedChain;
  /** Called now and then with the number of events of the lines that are in the log. */
  readonly onProgress: (events: number) => void;
}

export interface ImportedLog {
  /** In the log now. */
  readonly events: number;
  /** How many of them this import wrote. */
  readonly appended: number;
  /** Lines of streams that are not ours. */
  readonly passedOver: number;
}

/** Consecutive events of one stream form one append, up to this many. */
const MAX_BATCH_EVENTS = 500;
/** A character has at most 4 bytes, and every store accepts 1 MiB. A single event may be larger. */
const MAX_BATCH_CHARACTERS = 128 * 1024;
const PROGRESS_EVENTS = 500;

/**
 * The caller ensures that nobody else writes to the log. Throws `portal/log_not_empty`, `portal/invalid_line` with
 * the line number, whatever the chain rejects, and the store's error when it is away; all earlier lines are then in
 * the log, and the same import continues from there.
 */
export async function importLog({ chunks, store, chain, onProgress }: LogImport): Promise<ImportedLog> {
  const standing = eventsOf(store);
  let there = await standing.next();
  let events = 0;
  let appended = 0;
  let passedOver = 0;
  let end: Position | undefined;
  let batch: Batch | undefined;

  try {
    for await (const line of textLines(chunks)) {
      const event = eventIn(line);
      if (!isOurStream(event.stream)) {
        passedOver += 1;
        continue;
      }
      if (!there.done) {
        if (!isSame(event, there.value)) {
          throw reject('portal/log_not_empty', { line: line.number, inTheLog: nameOf(there.value) });
        }
        await chain.take(event);
        end = there.value.position;
        await chain.stands(end);
        count(1);
        there = await standing.next();
        continue;
      }
      if (!batch || !fits(batch, event)) {
        await flush();
        batch = { firstLine: line.number, events: [], characters: 0 };
      }
      await chain.take(event);
      batch.events.push(event);
      batch.characters += charactersOf(event);
    }
    await flush();
    if (!there.done) throw reject('portal/log_not_empty', { lines: events, inTheLog: nameOf(there.value) });
    return { events, appended, passedOver };
  } finally {
    await standing.return(undefined);
  }

  async function flush(): Promise<void> {
    if (!batch) return;
    const position = await appendBatch(store, batch, end);
    appended += batch.events.length;
    end = position;
    await chain.stands(position);
    count(batch.events.length);
    batch = undefined;
  }

  function count(more: number): void {
    const before = events;
    events += more;
    if (Math.floor(events / PROGRESS_EVENTS) > Math.floor(before / PROGRESS_EVENTS)) onProgress(events);
  }
}

interface Batch {
  readonly firstLine: number;
  readonly events: ExportedEvent[];
  characters: number;
}

function fits({ events, characters }: Batch, event: ExportedEvent): boolean {
  const last = events.at(-1);
  if (!last || last.stream !== event.stream || last.revision + 1 !== event.revision) return false;
  return events.length < MAX_BATCH_EVENTS && characters + charactersOf(event) <= MAX_BATCH_CHARACTERS;
}

/** Stores count types and ids as well. */
const charactersOf = ({ id, type, data, metadata }: ExportedEvent): number =>
  id.length + 2 * type.length + data.length + metadata.length;

/** The position of the last event, after the log's former end. */
async function appendBatch(
  store: LogImport['store'],
  { firstLine, events }: Batch,
  end: Position | undefined,
): Promise<Position> {
  const [first] = events;
  if (!first) throw new Error('A batch has at least one event.');
  const { stream, revision } = first;
  const invalid = (reason: string, cause?: unknown) =>
    Object.assign(reject('portal/invalid_line', { line: firstLine, reason }), { cause });
  try {
    const { position } = await store.append({
      stream,
      expectedRevision: revision === 0 ? 'noStream' : revision - 1,
      events: events.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
    });
    // The store treats the same events of an earlier line as a retry, and returns their positions.
    if (end !== undefined && store.comparePositions(position, end) <= 0) {
      throw invalid(`${stream} revision ${revision} was imported before`);
    }
    const written = store.distance(end, position);
    if (written !== undefined && written !== events.length) {
      const ours = await countBetween(store, end, position);
      if (ours !== events.length) {
        throw reject('portal/log_not_empty', { line: firstLine, writtenByOthers: ours - events.length });
      }
    }
    return position;
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) {
      const actual = error.actual === undefined ? 'does not exist yet' : `ends with revision ${error.actual}`;
      throw invalid(`revision ${revision} does not follow: ${stream} ${actual}`, error);
    }
    if (error instanceof InvalidAppendError || error instanceof EventTooLargeError) {
      throw invalid(error.message, error);
    }
    throw error;
  }
}

async function countBetween(
  store: LogImport['store'],
  from: Position | undefined,
  to: Position,
): Promise<number> {
  let count = 0;
  for await (const page of store.readAll(from === undefined ? {} : { from })) {
    const upTo = page.filter(({ position }) => store.comparePositions(position, to) <= 0).length;
    count += upTo;
    if (upTo < page.length) break;
  }
  return count;
}

function eventIn({ number, text, trouble }: TextLine): ExportedEvent {
  let reason = trouble;
  const event =
    text === undefined
      ? undefined
      : exportedEvent(text, (why) => {
          reason = why;
        });
  if (!event) throw reject('portal/invalid_line', { line: number, reason });
  return event;
}

async function* eventsOf(store: Pick<EventStore, 'readAll'>): AsyncGenerator<RecordedEvent> {
  for await (const page of store.readAll()) yield* page;
}

const isSame = (one: ExportedEvent, other: RecordedEvent): boolean =>
  one.id === other.id &&
  one.stream === other.stream &&
  one.revision === other.revision &&
  one.type === other.type &&
  one.data === other.data &&
  one.metadata === other.metadata;

const nameOf = ({ stream, revision, id }: RecordedEvent) => ({ stream, revision, id });
