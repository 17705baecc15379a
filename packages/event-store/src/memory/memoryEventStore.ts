/** The event store in memory, for specs: the semantics of the real ones, and faults where a spec wants them. */

import { checkAppend } from '../appendRequest.ts';
import { parsePosition } from '../decimalPosition.ts';
import {
  LogRewrittenError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
} from '../errors.ts';
import type {
  AppendRequest,
  AppendResult,
  EventPages,
  EventStore,
  LogPlace,
  ReadAllOptions,
  ReadStreamOptions,
  RecordedEvent,
  SubscribeOptions,
  SubscriptionMessage,
} from '../port.ts';
import { type QueueLimits, queueLimits } from '../queueLimits.ts';
import { createMemoryLog, type MemoryLog } from './memoryLog.ts';

/**
 * `fail`: nothing is written, `StoreUnreachableError`. `loseReply`: the append takes its course, but the caller gets
 * `OutcomeUnknownError`.
 */
export type AppendFault = 'fail' | 'loseReply' | undefined;

export interface MemoryEventStoreOptions extends Pick<QueueLimits, 'maxQueuedAppends'> {
  /** Stores that share a log are like processes on one database. Default: a new log. */
  readonly log?: MemoryLog;
  /** Asked before each append is written; a promise delays it and those after it in its stream. */
  readonly faults?: (request: AppendRequest) => AppendFault | Promise<AppendFault>;
}

const PAGE_SIZE = 1_000;

export function createMemoryEventStore(options: MemoryEventStoreOptions = {}): EventStore {
  const { log = createMemoryLog(), faults } = options;
  const { maxQueuedAppends } = queueLimits(options);
  const lastOfStream = new Map<string, Promise<unknown>>();
  const closing = new AbortController();
  let waiting = 0;

  /** Runs the appends of one stream one at a time, in order of arrival. */
  async function inTurn(request: AppendRequest): Promise<AppendResult> {
    const { stream } = request;
    const turn = (lastOfStream.get(stream) ?? Promise.resolve()).then(() => attempt(request));
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    lastOfStream.set(stream, settled);
    waiting += 1;
    try {
      return await turn;
    } finally {
      waiting -= 1;
      if (lastOfStream.get(stream) === settled) lastOfStream.delete(stream);
    }
  }

  async function attempt(request: AppendRequest): Promise<AppendResult> {
    const fault = await faults?.(request);
    if (fault === 'fail') throw new StoreUnreachableError('The store is away.');
    const answer = (async () => log.append(request))();
    if (fault !== 'loseReply') return answer;
    await Promise.allSettled([answer]);
    throw new OutcomeUnknownError('The reply was lost.');
  }

  return {
    async append(request) {
      checkAppend(request);
      if (closing.signal.aborted) throw new StoreUnreachableError('The store is closed.');
      if (waiting >= maxQueuedAppends) {
        throw new StoreOverloadedError(`${waiting} appends are already waiting.`);
      }
      return inTurn(request);
    },
    async heads(streams) {
      return streams.map((name) => {
        const last = log.stream(name).at(-1);
        return last && { revision: last.revision, eventId: last.id };
      });
    },
    readStream: (name, readOptions) => pages(streamSlice(log.stream(name), readOptions)),
    readTails: async (tails, limit) =>
      tails.map(({ stream, fromRevision }) => streamSlice(log.stream(stream), { fromRevision, limit })),
    readAll: (readOptions) => pages(logSlice(log.events, readOptions)),
    async head() {
      const last = log.events.at(-1);
      return last && placeOf(last);
    },
    subscribeToAll: (subscribeOptions) => follow(log, subscribeOptions, closing.signal),
    parsePosition,
    async placeAt(position) {
      const event = log.events[Number(position) - 1];
      return event && placeOf(event);
    },
    comparePositions: (left, right) => Number(left) - Number(right),
    distance: (from, to) => Number(to) - Number(from ?? 0),
    async close() {
      closing.abort();
      await Promise.all(lastOfStream.values());
    },
  };
}

const placeOf = ({ position, id }: RecordedEvent): LogPlace => ({ position, eventId: id });

function streamSlice(
  events: readonly RecordedEvent[],
  { direction = 'forwards', fromRevision, limit = Infinity }: ReadStreamOptions = {},
): readonly RecordedEvent[] {
  // A negative number would count from the end.
  if (direction === 'forwards') return events.slice(Math.max(fromRevision ?? 0, 0)).slice(0, limit);
  return events
    .slice(0, Math.max((fromRevision ?? Infinity) + 1, 0))
    .reverse()
    .slice(0, limit);
}

function logSlice(
  events: readonly RecordedEvent[],
  { direction = 'forwards', from, limit = Infinity }: ReadAllOptions = {},
): readonly RecordedEvent[] {
  if (direction === 'forwards') return events.slice(Number(from ?? 0)).slice(0, limit);
  return events
    .slice(0, from === undefined ? undefined : Number(from) - 1)
    .reverse()
    .slice(0, limit);
}

async function* pages(events: readonly RecordedEvent[]): EventPages {
  for (let start = 0; start < events.length; start += PAGE_SIZE) yield events.slice(start, start + PAGE_SIZE);
}

async function* follow(
  log: MemoryLog,
  { after, signal, pageSize = PAGE_SIZE }: SubscribeOptions,
  closing: AbortSignal,
): AsyncIterable<SubscriptionMessage> {
  const ended = AbortSignal.any([signal, closing]);
  const end = Promise.withResolvers<void>();
  ended.addEventListener('abort', () => end.resolve());
  let place = after;
  let isLive = false;
  while (!ended.aborted) {
    const changed = log.changed();
    const next = Number(place?.position ?? 0);
    if (place && log.events[next - 1]?.id !== place.eventId) {
      throw new LogRewrittenError(
        `The log does not hold event ${place.eventId} at ${place.position} any longer.`,
      );
    }
    const events = log.events.slice(next, next + pageSize);
    const last = events.at(-1);
    if (last) {
      place = placeOf(last);
      yield { kind: 'events', events };
      if (ended.aborted) return;
    }
    if (events.length === pageSize) {
      isLive = false;
      continue;
    }
    if (!isLive) {
      isLive = true;
      yield { kind: 'caughtUp' };
    }
    await Promise.race([changed, end.promise]);
  }
}
