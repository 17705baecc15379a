/**
 * Our part of a log that others may write to as well: of the whole log, it gives only the events of our streams, told by
 * their names. Every consumer, fold and count of events uses it, so whatever others call their events, write in them or
 * delete, nothing of ours is affected.
 */
import { isOurStream } from '@coffer/kernel';
import { InvalidAppendError, StoreUnreachableError } from './errors.ts';
import type {
  EventPages,
  EventStore,
  LogPlace,
  Position,
  ReadAllOptions,
  RecordedEvent,
  SubscribeOptions,
  SubscriptionMessage,
} from './port.ts';

export interface OurLog extends EventStore {
  /** With the events of others, at the same positions: for tools that look at the log as it is. */
  readonly whole: EventStore;
}

const isOurs = ({ stream }: RecordedEvent): boolean => isOurStream(stream);

export function ourLog(whole: EventStore): OurLog {
  /** The end of the whole log when it was last checked, and the end of our part. */
  let known: { readonly end: LogPlace; readonly ours: LogPlace | undefined } | undefined;

  async function* readAll({ from, limit = Infinity, ...options }: ReadAllOptions = {}): EventPages {
    let left = limit;
    if (left <= 0) return;
    // When events of others lie in between, more of the whole log is read; otherwise never more than is wanted.
    let size = limit;
    let reached = from;
    for (;;) {
      let read = 0;
      for await (const page of whole.readAll(pageOf(options, reached, size))) {
        read += page.length;
        reached = page.at(-1)?.position ?? reached;
        const ours = page.filter(isOurs).slice(0, left);
        left -= ours.length;
        if (ours.length > 0) yield ours;
        if (left <= 0) return;
      }
      if (read < size) return;
      size = Math.max(left, MOST_PASSED_OVER);
    }
  }

  async function* subscribeToAll(options: SubscribeOptions): AsyncIterable<SubscriptionMessage> {
    const { after, signal } = options;
    let place = after;
    /** The end last reported; undefined before the first time. */
    let told: { readonly at: LogPlace | undefined } | undefined;
    for await (const message of whole.subscribeToAll(options)) {
      if (message.kind === 'caughtUp') {
        if (told && told.at === place) continue;
        told = { at: place };
        yield message;
        continue;
      }
      const events = message.events.filter(isOurs);
      const last = events.at(-1);
      if (last) place = { position: last.position, eventId: last.id };
      // Even an empty page: it tells a reader who resumes that the log still holds the place.
      yield { kind: 'events', events };
      // Others may have written a great deal after our last event: readers do not wait until that is skipped.
      if (last || told || signal.aborted || !(await isOurEnd(place, signal))) continue;
      told = { at: place };
      yield { kind: 'caughtUp' };
    }
  }

  /** False also when the log does not answer: its subscription reports that. */
  async function isOurEnd(place: LogPlace | undefined, signal: AbortSignal): Promise<boolean> {
    const looking = head().then(
      (end) => !end || (place !== undefined && whole.comparePositions(place.position, end.position) >= 0),
      (error: unknown) => {
        if (error instanceof StoreUnreachableError) return false;
        throw error;
      },
    );
    return Promise.race([looking, aborted(signal)]);
  }

  /** From the end back to an event of ours, or to where the end was at the last check. */
  async function head(): Promise<LogPlace | undefined> {
    const before = known;
    let end: LogPlace | undefined;
    for await (const page of backwards()) {
      for (const event of page) {
        const place = { position: event.position, eventId: event.id };
        end ??= place;
        const isKnown = before?.end.position === place.position && before.end.eventId === place.eventId;
        if (!isKnown && !isOurs(event)) continue;
        const ours = isKnown ? before.ours : place;
        known = { end, ours };
        return ours;
      }
    }
    known = end && { end, ours: undefined };
    return undefined;
  }

  /** Nearly always the last event is one of ours, or the same as before. */
  async function* backwards(): EventPages {
    let from: Position | undefined;
    for await (const page of whole.readAll({ direction: 'backwards', limit: 1 })) {
      from = page.at(-1)?.position;
      yield page;
    }
    if (from !== undefined) yield* whole.readAll({ direction: 'backwards', from });
  }

  return {
    ...whole,
    whole,
    async append(request) {
      if (isOurStream(request.stream)) return whole.append(request);
      throw new InvalidAppendError(
        `${request.stream} is not a name of one of our streams: nobody would read its events.`,
      );
    },
    readAll,
    subscribeToAll,
    head,
  };
}

/** Resolves to false as soon as the signal aborts. */
const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));

/** The least page size for reading past events of others. */
const MOST_PASSED_OVER = 500;

function pageOf(
  options: Pick<ReadAllOptions, 'direction'>,
  from: Position | undefined,
  size: number,
): ReadAllOptions {
  return { ...options, ...(from !== undefined && { from }), ...(size < Infinity && { limit: size }) };
}
