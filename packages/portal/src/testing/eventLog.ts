/** The event store as the portal reads it, for specs. */
import type { Position, RecordedEvent } from '@coffer/event-store';
import type { LogReader } from '../endpoints/options.ts';

/** A log that is just a list: positions are whole numbers, and everything fits on one page. */
export function eventLog(events: readonly RecordedEvent[]): LogReader {
  const numberOf = (position: Position): number => Number(position);
  const page = async function* (wanted: (event: RecordedEvent) => boolean) {
    const found = events.filter(wanted);
    if (found.length > 0) yield found;
  };
  return {
    readAll: ({ from } = {}) =>
      page(({ position }) => from === undefined || numberOf(position) > numberOf(from)),
    readStream: (stream) => page((event) => event.stream === stream),
    head: async () => {
      const last = events.at(-1);
      return last && { position: last.position, eventId: last.id };
    },
    // As written by this log.
    parsePosition: (text) => (/^\d+$/.test(text) ? (text as Position) : undefined),
    placeAt: async (position) => {
      const found = events.find((event) => event.position === position);
      return found && { position, eventId: found.id };
    },
  };
}
