/**
 * The event store port: what every backend offers, and one contract suite holds them all to.
 *
 * A stream is the list of all events of one thing; a revision is an event's number in its stream, from 0; a position is
 * an event's place in the log, in commit order, and opaque above the port.
 */

/** A position in the log. Opaque text: only the store that gave it can read and compare it. */
export type Position = string & { readonly __brand: 'Position' };

/** An event to be appended. `data` and `metadata` are the texts of JSON objects. */
export interface EventToAppend {
  /** A UUID, created once per command and kept across retries. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** An event with its place in its stream: what a reaction needs to know of its cause. */
export interface StreamEvent extends EventToAppend {
  readonly stream: string;
  readonly revision: number;
}

export interface RecordedEvent extends StreamEvent {
  readonly position: Position;
  /** When the store recorded it, by the store's clock. */
  readonly recordedAt: Date;
}

/** The revision that the stream must have: that of its last event, or one of these words. */
export type ExpectedRevision = number | 'noStream' | 'streamExists' | 'any';

export interface AppendRequest {
  readonly stream: string;
  readonly expectedRevision: ExpectedRevision;
  /** At least one. All of them are written, or none. */
  readonly events: readonly EventToAppend[];
  /**
   * The id of the event at the expected revision, if the caller knows it. A stream with another event there was
   * rewritten: `LogRewrittenError`, nothing written.
   */
  readonly expectedLastEventId?: string;
}

export interface AppendResult {
  /** Revision of the last event appended (or found, for a retry). */
  readonly revision: number;
  /** Position of the last event appended (or found). */
  readonly position: Position;
  /**
   * True when these events were already there: the retry of an append that had succeeded. When two processes send the
   * same append at the same time, a store may say false to both; the events are written once all the same.
   */
  readonly alreadyAppended: boolean;
}

/** The newest event of a stream. */
export interface StreamHead {
  readonly revision: number;
  readonly eventId: string;
}

/** A stream from a revision on. */
export interface StreamTail {
  readonly stream: string;
  /** Inclusive. */
  readonly fromRevision: number;
}

/** The place a consumer has reached. It can resume only while the log still holds that very event. */
export interface LogPlace {
  readonly position: Position;
  readonly eventId: string;
}

export interface ReadStreamOptions {
  readonly direction?: 'forwards' | 'backwards';
  /** The first revision to read, inclusive. Default: the first (backwards: the last). */
  readonly fromRevision?: number;
  /** The most events to read. Default: all. */
  readonly limit?: number;
}

export interface ReadAllOptions {
  readonly direction?: 'forwards' | 'backwards';
  /** Reads after (backwards: before) this position. Default: from the beginning (backwards: the end). */
  readonly from?: Position;
  readonly limit?: number;
}

export interface SubscribeOptions {
  /** Resume after this place; from the beginning when undefined. */
  readonly after?: LogPlace | undefined;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
  /** The most events in a page; of large ones it has fewer. */
  readonly pageSize?: number;
  /** While behind, fetches the next page before this one is taken. Default true. */
  readonly readAhead?: boolean;
  /**
   * Once live, the least time between pages: what arrives meanwhile comes in the next one. For a reader whose work costs
   * by the page. Default 0: as soon as there is something.
   */
  readonly minPageIntervalMs?: number;
  /**
   * Events that another reader of this process has read a moment ago may be given again. For readers that follow the log;
   * one that verifies it must see what is stored. Default false.
   */
  readonly takesRecent?: boolean;
}

export type SubscriptionMessage =
  | { readonly kind: 'events'; readonly events: readonly RecordedEvent[] }
  /** Everything in the log at some moment since the subscription began has been delivered. */
  | { readonly kind: 'caughtUp' };

/** Events come in pages, so that a reader pays per page and not per event. */
export type EventPages = AsyncIterable<readonly RecordedEvent[]>;

export interface EventStore {
  /**
   * Appends to one stream if it is at the expected revision. A retry is recognized by the events' ids at the expected
   * place, for ever; `testing/appendRules.ts` lists every case.
   *
   * Throws `WrongExpectedRevisionError`, `EventTooLargeError`, `StoreOverloadedError`, `StoreUnreachableError` (nothing
   * was written), `OutcomeUnknownError` (retry the same request), `LogRewrittenError`.
   */
  append(request: AppendRequest): Promise<AppendResult>;

  /** The newest event of each stream, undefined if it does not exist; in the order given. */
  heads(streams: readonly string[]): Promise<readonly (StreamHead | undefined)[]>;

  readStream(stream: string, options?: ReadStreamOptions): EventPages;

  /** The next events of each stream, at most so many of each, in the order given; empty where there are none. */
  readTails(tails: readonly StreamTail[], limit: number): Promise<readonly (readonly RecordedEvent[])[]>;

  readAll(options?: ReadAllOptions): EventPages;

  /** The newest event of the log, undefined while it is empty. */
  head(): Promise<LogPlace | undefined>;

  /**
   * Every event after the place, in order, without gap or repeat, then live. `caughtUp` comes when the end is first
   * reached, and again each time after falling behind. Survives a store that is away for a while. Throws
   * `LogRewrittenError` when the log no longer holds the place reached.
   */
  subscribeToAll(options: SubscribeOptions): AsyncIterable<SubscriptionMessage>;

  /** The position that a text from outside denotes; undefined if it is not one of this store. */
  parsePosition(text: string): Position | undefined;

  /** The event at exactly this position, if any. */
  placeAt(position: Position): Promise<LogPlace | undefined>;

  /** Negative, zero or positive, for sorting. */
  comparePositions(left: Position, right: Position): number;

  /** The number of events after `from` up to `to`; undefined where the backend cannot tell exactly. */
  distance(from: Position | undefined, to: Position): number | undefined;

  /** Finishes what is queued, then closes every connection. */
  close(): Promise<void>;
}

/** The limit of one append: id, type, data and metadata of all its events. */
export const MAX_APPEND_BYTES = 1024 * 1024;
