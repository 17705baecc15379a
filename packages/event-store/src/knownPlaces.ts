/**
 * The last event of each stream that was written over one connection.
 *
 * It proves where the next append goes. The server accepts a revision only if it is the stream's last; the event there
 * could be another one only if the log had been put back to before it and written anew. For that the server must be
 * stopped, so a log is never put back under a connection that stands. The proof ends with the connection, and with any
 * failure of an append to the stream.
 */
import type { AppendRequest } from './port.ts';

interface Last {
  readonly revision: number;
  readonly eventId: string;
}

export interface KnownPlaces {
  /** The event at the revision that the append expects, if it was the last one written here. */
  eventBefore(request: AppendRequest): string | undefined;
  written(request: AppendRequest, revision: number): void;
  forget(stream: string): void;
}

/** Some 250 bytes each. */
const MAX_STREAMS = 50_000;

export function createKnownPlaces(maxStreams = MAX_STREAMS): KnownPlaces {
  /** The one written longest ago comes first. */
  const lastOf = new Map<string, Last>();
  return {
    eventBefore({ stream, expectedRevision }) {
      const last = lastOf.get(stream);
      return last?.revision === expectedRevision ? last?.eventId : undefined;
    },
    written({ stream, expectedRevision, events }, revision) {
      lastOf.delete(stream);
      const last = events.at(-1);
      // Otherwise the events may have been found far back.
      const isExact = typeof expectedRevision === 'number' || expectedRevision === 'noStream';
      if (!last || !isExact) return;
      lastOf.set(stream, { revision, eventId: last.id.toLowerCase() });
      if (lastOf.size <= maxStreams) return;
      for (const oldest of lastOf.keys()) return void lastOf.delete(oldest);
    },
    forget: (stream) => void lastOf.delete(stream),
  };
}
