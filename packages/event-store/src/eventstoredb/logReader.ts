/**
 * Reads: a stream, heads, the whole log. All from the leader, so that a command sees the current state.
 *
 * A page is one call, read to its end before it is passed on: a slow reader holds no call open, and a connection has
 * only so many.
 */
import { BACKWARDS, type RecordedEvent as ClientEvent, END, FORWARDS, START } from '@eventstore/db-client';
import type {
  EventPages,
  LogPlace,
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  StreamHead,
  StreamTail,
} from '../port.ts';
import { ALL, isUnknownFailure } from './failures.ts';
import { createPageFetcher, PAGE_SIZE, type PageFetcherOptions } from './pageFetcher.ts';
import { comparePositions, positionOf, recordedEvent, type WirePosition, wirePosition } from './wire.ts';

export type LogReader = ReturnType<typeof createLogReader>;

type Direction = 'forwards' | 'backwards';
const WIRE_DIRECTION = { forwards: FORWARDS, backwards: BACKWARDS } as const;

export function createLogReader(options: PageFetcherOptions) {
  const fetchPage = createPageFetcher(options);

  const streamPage = (stream: string, direction: Direction, from: number | undefined, maxCount: number) =>
    fetchPage(stream, (client) =>
      client.readStream(stream, {
        direction: WIRE_DIRECTION[direction],
        fromRevision: from === undefined ? endOf(direction) : BigInt(from),
        maxCount,
        requiresLeader: true,
      }),
    );

  const logPage = (direction: Direction, from: WirePosition | undefined, maxCount: number) =>
    fetchPage(ALL, (client) =>
      client.readAll({
        direction: WIRE_DIRECTION[direction],
        fromPosition: from ?? endOf(direction),
        maxCount,
        requiresLeader: true,
      }),
    );

  async function* readStream(stream: string, options: ReadStreamOptions = {}): EventPages {
    const { direction = 'forwards', fromRevision, limit = Infinity } = options;
    const step = direction === 'forwards' ? 1 : -1;
    let from = fromRevision;
    let left = limit;
    while (left > 0) {
      const size = Math.min(left, PAGE_SIZE);
      const page = oursAmong(await streamPage(stream, direction, from, size));
      const last = page.at(-1);
      if (last) yield page;
      if (!last || page.length < size || (last.revision === 0 && direction === 'backwards')) return;
      from = last.revision + step;
      left -= page.length;
    }
  }

  async function* readAll({
    direction = 'forwards',
    from,
    limit = Infinity,
  }: ReadAllOptions = {}): EventPages {
    const sign = direction === 'forwards' ? 1 : -1;
    let reached = from;
    let left = limit;
    // The first event may be the one at the place already reached.
    let size = Math.min(left + 1, PAGE_SIZE);
    while (left > 0) {
      const found = await logPage(direction, reached === undefined ? undefined : wirePosition(reached), size);
      const after = reached;
      const unseen = oursAmong(found).filter(
        ({ position }) => after === undefined || sign * comparePositions(position, after) > 0,
      );
      const page = unseen.slice(0, left);
      left -= page.length;
      if (page.length > 0) yield page;
      const last = found.at(-1)?.position;
      if (!last || found.length < size || positionOf(last) === reached) return;
      reached = positionOf(last);
      // The server's own events were among them, and there may be many more.
      size = PAGE_SIZE;
    }
  }

  /**
   * A position is a byte offset: if no event begins there, the server fails repeatedly with an error of its own. If the
   * end of the log can still be read meanwhile, there is nothing at the position.
   */
  async function readAt(position: Position): Promise<readonly ClientEvent[]> {
    for (let hasFailedBefore = false; ; hasFailedBefore = true) {
      try {
        return await logPage('forwards', wirePosition(position), 1);
      } catch (error) {
        if (!(error instanceof Error && isUnknownFailure(error.cause))) throw error;
        if (hasFailedBefore) return [];
        await logPage('backwards', undefined, 1);
      }
    }
  }

  return {
    readStream,
    readAll,

    async head(): Promise<LogPlace | undefined> {
      const last = await firstOf(readAll({ direction: 'backwards', limit: 1 }));
      return last && { position: last.position, eventId: last.id };
    },

    heads: (streams: readonly string[]): Promise<readonly (StreamHead | undefined)[]> =>
      Promise.all(
        streams.map(async (stream) => {
          const last = await firstOf(readStream(stream, { direction: 'backwards', limit: 1 }));
          return last && { revision: last.revision, eventId: last.id };
        }),
      ),

    readTails: (
      tails: readonly StreamTail[],
      limit: number,
    ): Promise<readonly (readonly RecordedEvent[])[]> =>
      Promise.all(
        tails.map(({ stream, fromRevision }) =>
          streamPage(stream, 'forwards', fromRevision, limit).then(oursAmong),
        ),
      ),

    /** The event exactly at the position, ours or the server's; undefined if there is none. */
    async placeAt(position: Position): Promise<LogPlace | undefined> {
      const [event] = await readAt(position);
      if (!event?.position || positionOf(event.position) !== position) return undefined;
      return { position, eventId: event.id.toLowerCase() };
    },
  };
}

const endOf = (direction: Direction) => (direction === 'forwards' ? START : END);

const oursAmong = (events: readonly ClientEvent[]) =>
  events.map(recordedEvent).filter((event) => event !== undefined);

async function firstOf(pages: EventPages): Promise<RecordedEvent | undefined> {
  for await (const [event] of pages) return event;
  return undefined;
}
