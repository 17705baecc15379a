/**
 * Appends, one call each; those of one stream go one at a time.
 *
 * The server answers a repeated append as if it were the first, and does not check the event before an append. So the
 * expected place is read first: this finds a repeat and notices a rewritten log. If the call fails, the outcome is
 * unknown unless the server said what it refuses; then the place is read again.
 */
import { messageOf } from '@coffer/kernel';
import { checkAppend } from '../appendRequest.ts';
import {
  EventTooLargeError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from '../errors.ts';
import { type AppendRequest, type AppendResult, MAX_APPEND_BYTES } from '../port.ts';
import { lookAt, type PlaceBefore } from './appendPlace.ts';
import { type ClientEvents, createSender, type SendOptions, serverBytesOf } from './sendAppend.ts';
import { clientEvent } from './wire.ts';

export interface AppenderOptions extends SendOptions {
  /** Limits on appends that wait or are in flight, and on their bytes. */
  readonly maxQueuedAppends: number;
  readonly maxQueuedBytes: number;
}

export interface Appender {
  append(request: AppendRequest): Promise<AppendResult>;
  /** Finishes what was accepted, and accepts nothing more. */
  close(): Promise<void>;
}

export function createAppender(options: AppenderOptions): Appender {
  const { reader } = options;
  const send = createSender(options);
  const lastOfStream = new Map<string, Promise<unknown>>();
  let queuedAppends = 0;
  let queuedBytes = 0;
  let isClosing = false;

  async function inTurn(request: AppendRequest, bytes: number, events: ClientEvents): Promise<AppendResult> {
    const { stream } = request;
    const turn = (lastOfStream.get(stream) ?? Promise.resolve()).then(() => settle(request, events));
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    lastOfStream.set(stream, settled);
    queuedAppends += 1;
    queuedBytes += bytes;
    try {
      return await turn;
    } finally {
      queuedAppends -= 1;
      queuedBytes -= bytes;
      if (lastOfStream.get(stream) === settled) lastOfStream.delete(stream);
    }
  }

  async function settle(request: AppendRequest, events: ClientEvents): Promise<AppendResult> {
    const before = await lookAt(reader, request);
    if (before.found) return before.found;
    const sent = await send(request, events);
    if ('position' in sent) {
      // Without an exact revision the server looks for a repeat among its recent events.
      return {
        ...sent,
        alreadyAppended: before.lastRevision !== undefined && sent.revision <= before.lastRevision,
      };
    }
    return resolveUnknown(request, sent.unknown);
  }

  /** Once the place is taken, by these events or by others, the outcome is known. */
  async function resolveUnknown(request: AppendRequest, cause: unknown): Promise<AppendResult> {
    const unknown = new OutcomeUnknownError(
      `The outcome of an append to ${request.stream} is unknown: ${messageOf(cause)}`,
      { cause },
    );
    let place: PlaceBefore;
    try {
      place = await lookAt(reader, request);
    } catch (error) {
      if (error instanceof WrongExpectedRevisionError && isPassed(error)) throw error;
      throw unknown;
    }
    if (place.found) return place.found;
    throw unknown;
  }

  return {
    async append(request) {
      const bytes = checkAppend(request);
      const events = request.events.map(clientEvent);
      const serverBytes = serverBytesOf(request);
      if (serverBytes > MAX_APPEND_BYTES) {
        throw new EventTooLargeError(request.stream, serverBytes, MAX_APPEND_BYTES);
      }
      if (isClosing) throw new StoreUnreachableError('The store is closed.');
      if (queuedAppends >= options.maxQueuedAppends || queuedBytes + bytes > options.maxQueuedBytes) {
        throw new StoreOverloadedError(`${queuedAppends} appends are already waiting.`);
      }
      return inTurn(request, bytes, events);
    },
    async close() {
      isClosing = true;
      await Promise.all(lastOfStream.values());
    },
  };
}

/** Other events are where these should have gone, so these can never be written. */
const isPassed = ({ expected, actual }: WrongExpectedRevisionError) =>
  actual !== undefined && (expected === 'noStream' || (typeof expected === 'number' && actual > expected));
