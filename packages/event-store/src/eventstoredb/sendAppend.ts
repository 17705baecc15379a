/** The stream of appends in use, and what the server refuses. */
import { EventTooLargeError, LogRewrittenError, StoreUnreachableError } from '../errors.ts';
import { createKnownPlaces, type KnownPlaces } from '../knownPlaces.ts';
import { type AppendRequest, type AppendResult, MAX_APPEND_BYTES } from '../port.ts';
import { type PlaceReader, wrongRevision } from './appendPlace.ts';
import { type BatchStream, NotSentError, openBatchStream } from './batchStream.ts';
import type { Clients, Connection } from './clients.ts';
import {
  ANOTHER_LEADS,
  explained,
  isDeleted,
  isNeverSent,
  isPutBack,
  isTooLarge,
  isWrongRevision,
  refusalOf,
  SilenceError,
} from './failures.ts';

export interface SendOptions {
  readonly clients: Clients;
  readonly reader: PlaceReader;
  /** After this long without an answer, the cluster looks for the leader. */
  readonly patienceMs: number;
  /** After this long without an answer, the outcome is unknown. */
  readonly appendTimeoutMs: number;
}

/** `notSent`, `unknown`: why it certainly was not written, or why that is unknown. */
type Sent =
  | Pick<AppendResult, 'revision' | 'position'>
  | { readonly notSent: unknown }
  | { readonly unknown: unknown };

interface AppendStream {
  /** Throws what the server certainly refused. */
  send(request: AppendRequest): Promise<Sent>;
}

interface Held {
  readonly connection: Connection;
  readonly batch: BatchStream;
  /** What is known of the log while this stream stands. */
  readonly places: KnownPlaces;
  readonly stream: AppendStream;
}

export interface AppendStreams {
  /** To the leader, opened if there is none. Throws `StoreAbsentError`. */
  current(): Promise<AppendStream>;
  /** The same if it stands already and has written the event before this append. Throws `StoreAbsentError`. */
  provenFor(request: AppendRequest): Promise<AppendStream | undefined>;
  /** Nothing may be under way. */
  close(): void;
}

export function createAppendStreams(options: SendOptions): AppendStreams {
  const { clients, reader, patienceMs, appendTimeoutMs: timeoutMs } = options;
  let held: Held | undefined;

  const heldOn = (connection: Connection): Held | undefined =>
    held?.connection === connection && held.batch.isOpen() ? held : undefined;

  function openOn(connection: Connection): Held {
    held?.batch.leave();
    const onLeft = () => batch.abandon(new SilenceError(ANOTHER_LEADS));
    const batch = openBatchStream({
      open: connection.openBatch,
      patienceMs,
      timeoutMs,
      onSilence: () => clients.silent(connection),
      onEnded(error) {
        connection.left.removeEventListener('abort', onLeft);
        if (error) clients.broken(connection, error);
      },
    });
    connection.left.addEventListener('abort', onLeft);
    const places = createKnownPlaces();
    const stream = { send: (request: AppendRequest) => send(batch, places, request) };
    held = { connection, batch, places, stream };
    return held;
  }

  async function send(batch: BatchStream, places: KnownPlaces, request: AppendRequest): Promise<Sent> {
    try {
      const written = await batch.append(request);
      places.written(request, written.revision);
      return written;
    } catch (error) {
      places.forget(request.stream);
      if (error instanceof NotSentError) return { notSent: error.cause };
      await throwRefusal(reader, request, error);
      return { unknown: error };
    }
  }

  return {
    async current() {
      const connection = await clients.current();
      return (heldOn(connection) ?? openOn(connection)).stream;
    },
    async provenFor(request) {
      const standing = heldOn(await clients.current());
      const eventId = standing?.places.eventBefore(request);
      if (eventId === undefined) return undefined;
      const { expectedLastEventId: expected = eventId } = request;
      return expected.toLowerCase() === eventId ? standing?.stream : undefined;
    },
    close() {
      held?.batch.leave();
      held = undefined;
    },
  };
}

/** Throws what was certainly not written. */
async function throwRefusal(reader: PlaceReader, request: AppendRequest, error: unknown): Promise<void> {
  const { stream, expectedRevision } = request;
  if (isWrongRevision(error)) throw await wrongRevision(reader, stream, expectedRevision);
  if (isTooLarge(error)) throw new EventTooLargeError(stream, serverBytesOf(request), MAX_APPEND_BYTES);
  if (isDeleted(error)) throw new LogRewrittenError(`Stream ${stream} was deleted.`, { cause: error });
  if (isPutBack(error)) throw new LogRewrittenError(explained(error), { cause: error });
  const refusal = refusalOf(error, { append: stream });
  if (refusal) throw refusal;
  if (isNeverSent(error)) {
    throw new StoreUnreachableError(`The log cannot be reached: ${explained(error)}`, { cause: error });
  }
}

/** The size of an append as the server counts it, with two bytes for each character of a type. */
export function serverBytesOf({ events }: AppendRequest): number {
  let bytes = 0;
  for (const { type, data, metadata } of events) {
    bytes += 2 * type.length + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  return bytes;
}
