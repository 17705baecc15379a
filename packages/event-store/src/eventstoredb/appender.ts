/**
 * Appends, each a call of its own, those of one stream one after the other.
 *
 * The server answers a repeat as if it had been the first time, and looks at no event that stands before an append.
 * So what stands at the expected place is read first: a repeat is found there, and a log that was rewritten is
 * noticed. What the call itself fails with is an unknown outcome unless the server has said what it refuses; then
 * the place is read again.
 */
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
import { messageOf } from './failures.ts';
import { type ClientEvents, createSender, type SendOptions, serverBytesOf } from './sendAppend.ts';
import { clientEvent } from './wire.ts';

export interface AppenderOptions extends SendOptions {
  /** Appends that may wait or be under way, and their bytes. */
  readonly maxQueuedAppends: number;
  readonly maxQueuedBytes: number;
}

export interface Appender {
  append(request: AppendRequest): Promise<AppendResult>;
  /** Finishes what it has taken, and takes nothing more. */
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
      // Without an exact revision the server looks among its recent events for a repeat.
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
        throw new StoreOverloadedError(`${queuedAppends} appends are waiting already.`);
      }
      return inTurn(request, bytes, events);
    },
    async close() {
      isClosing = true;
      await Promise.all(lastOfStream.values());
    },
  };
}

/** Others stand where these events were to stand: they never will. */
const isPassed = ({ expected, actual }: WrongExpectedRevisionError) =>
  actual !== undefined && (expected === 'noStream' || (typeof expected === 'number' && actual > expected));
