/**
 * The event store port: what every backend offers, with one contract suite that holds them to it.
 *
 * A stream is the list of all events of one thing; a revision is an event's number in its stream, from 0;
 * a position is an event's place in the log, in commit order, and opaque above the port.
 */

/** A position in the log. Opaque text: only the store that gave it can read and compare it. */
export type Position = string & { readonly __brand: 'Position' };

/** An event on its way into a stream. `data` and `metadata` are the texts of JSON objects. */
export interface EventToAppend {
  /** A UUID, minted once per command and kept over every retry. */
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

/** The revision the stream must have: that of its last event, or one of these words. */
export type ExpectedRevision = number | 'noStream' | 'streamExists' | 'any';

export interface AppendRequest {
  readonly stream: string;
  readonly expectedRevision: ExpectedRevision;
  /** At least one. All of them are written, or none. */
  readonly events: readonly EventToAppend[];
  /**
   * The id of the event at the expected revision, where the caller knows it. A stream with another event
   * there was rewritten under the caller: `LogRewrittenError`, nothing written.
   */
  readonly expectedLastEventId?: string;
}

export interface AppendResult {
  /** Revision of the last event appended (or found, for a retry). */
  readonly revision: number;
  /** Position of the last event appended (or found). */
  readonly position: Position;
  /**
   * True when the very events were already there: a retry of an append that had succeeded. Of two that are under
   * way at the same time in two processes, a store may say false of both; the events stand there once all the same.
   */
  readonly alreadyAppended: boolean;
}

/** The newest event of a stream. */
export interface StreamHead {
  readonly revision: number;
  readonly eventId: string;
}

/** The place a consumer has reached: resumed from only while the log still holds that very event. */
export interface LogPlace {
  readonly position: Position;
  readonly eventId: string;
}

export interface ReadStreamOptions {
  readonly direction?: 'forwards' | 'backwards';
  /** The first revision to read, inclusive. Default: the first (backwards: the last). */
  readonly fromRevision?: number;
  /** At most so many events. Default: all. */
  readonly limit?: number;
}

export interface ReadAllOptions {
  readonly direction?: 'forwards' | 'backwards';
  /** Read on after (backwards: before) this position. Default: from the beginning (backwards: the end). */
  readonly from?: Position;
  readonly limit?: number;
}

export interface SubscribeOptions {
  /** Resume after this place; from the beginning when undefined. */
  readonly after?: LogPlace | undefined;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
  /** At most so many events in a page. */
  readonly pageSize?: number;
  /** While behind, the next page is on its way before this one is taken. Default: it is. */
  readonly readAhead?: boolean;
  /**
   * Once live, a page comes at most this often: what arrives meanwhile comes with the next one. For a reader
   * whose work costs by the page. Default 0: as soon as there is something.
   */
  readonly minPageIntervalMs?: number;
}

export type SubscriptionMessage =
  | { readonly kind: 'events'; readonly events: readonly RecordedEvent[] }
  /** Everything that was in the log at some moment since the subscription began has been delivered. */
  | { readonly kind: 'caughtUp' };

/** Events come in pages, so that a reader pays for a page and not for each event. */
export type EventPages = AsyncIterable<readonly RecordedEvent[]>;

export interface EventStore {
  /**
   * Appends to one stream, if its revision is the expected one. A retry is recognized by the events' ids at
   * the expected place, for ever; see `testing/appendRules.ts` for every case.
   *
   * Throws `WrongExpectedRevisionError`, `EventTooLargeError`, `StoreOverloadedError`,
   * `StoreUnreachableError` (surely nothing written), `OutcomeUnknownError` (retry the same request),
   * `LogRewrittenError`.
   */
  append(request: AppendRequest): Promise<AppendResult>;

  /** The newest event of each stream, undefined where there is none; in the order of the streams given. */
  heads(streams: readonly string[]): Promise<readonly (StreamHead | undefined)[]>;

  readStream(stream: string, options?: ReadStreamOptions): EventPages;

  readAll(options?: ReadAllOptions): EventPages;

  /** The newest event of the log, undefined while it is empty. */
  head(): Promise<LogPlace | undefined>;

  /**
   * Every event after the place, in order, without gap or repeat, then live. `caughtUp` is told when the end
   * is reached for the first time and again after each time it had fallen behind. Survives a store that is
   * away for a while. Throws `LogRewrittenError` when the log no longer holds the place reached.
   */
  subscribeToAll(options: SubscribeOptions): AsyncIterable<SubscriptionMessage>;

  /** The position that a text from outside stands for; undefined for one that is none in this store's writing. */
  parsePosition(text: string): Position | undefined;

  /** The event at the very position; undefined where none stands. */
  placeAt(position: Position): Promise<LogPlace | undefined>;

  /** Negative, zero or positive, as sorting wants it. */
  comparePositions(left: Position, right: Position): number;

  /** How many events stand after `from` up to `to`; undefined where the backend cannot tell exactly. */
  distance(from: Position | undefined, to: Position): number | undefined;

  /** Finishes what is queued, then lets go of every connection. */
  close(): Promise<void>;
}

/** One append, all its events together, in bytes of id, type, data and metadata. */
export const MAX_APPEND_BYTES = 1024 * 1024;
