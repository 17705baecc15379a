/**
 * Appends, many at once over one stream of appends; those to one stream of events go one at a time.
 *
 * The server answers a repeated append as if it were the first, and does not check the event before an append. So the
 * expected place is read first, which finds a repeat and notices a rewritten log; unless the event there was written
 * over the same connection (`knownPlaces.ts`). If an append fails, the outcome is unknown unless the server said what it
 * refuses; then the place is read again.
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
import { isBroken, isNotLeader } from './failures.ts';
import { createAppendStreams, type SendOptions, serverBytesOf } from './sendAppend.ts';
import { checkTexts } from './wire.ts';

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

/** During an election, nodes of a cluster may name one another as leader. */
const MAX_ATTEMPTS = 4;

export function createAppender(options: AppenderOptions): Appender {
  const { reader } = options;
  const streams = createAppendStreams(options);
  const lastOfStream = new Map<string, Promise<unknown>>();
  let queuedAppends = 0;
  let queuedBytes = 0;
  let isClosing = false;

  async function inTurn(request: AppendRequest, bytes: number): Promise<AppendResult> {
    const { stream } = request;
    const turn = (lastOfStream.get(stream) ?? Promise.resolve()).then(() => settle(request));
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

  async function settle(request: AppendRequest): Promise<AppendResult> {
    /** Why this append may have been written by an attempt that was not answered. */
    let doubt: unknown;
    let reason: unknown;
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      try {
        const proven = await streams.provenFor(request);
        const before = proven ? {} : await lookAt(reader, request);
        if (before.found) return before.found;
        const stream = proven ?? (await streams.current());
        const sent = await stream.send(request);
        if ('position' in sent) {
          // Without an exact revision the server looks for a repeat among its recent events.
          return {
            ...sent,
            alreadyAppended: before.lastRevision !== undefined && sent.revision <= before.lastRevision,
          };
        }
        if ('notSent' in sent) {
          reason = sent.notSent;
        } else if (isExact(request) && (isNotLeader(sent.unknown) || (proven && isBroken(sent.unknown)))) {
          doubt = sent.unknown;
        } else return await resolveUnknown(request, sent.unknown);
      } catch (error) {
        throw doubt === undefined || isPassed(error) ? error : unknownOutcome(request, doubt);
      }
    }
    if (doubt !== undefined) throw unknownOutcome(request, doubt);
    throw new StoreUnreachableError('No node says that it is the leader.', { cause: reason });
  }

  /** Once the place is taken, by these events or by others, the outcome is known. */
  async function resolveUnknown(request: AppendRequest, cause: unknown): Promise<AppendResult> {
    let place: PlaceBefore;
    try {
      place = await lookAt(reader, request);
    } catch (error) {
      throw isPassed(error) ? error : unknownOutcome(request, cause);
    }
    if (place.found) return place.found;
    throw unknownOutcome(request, cause);
  }

  return {
    async append(request) {
      const bytes = checkAppend(request);
      for (const event of request.events) checkTexts(event);
      const serverBytes = serverBytesOf(request);
      if (serverBytes > MAX_APPEND_BYTES) {
        throw new EventTooLargeError(request.stream, serverBytes, MAX_APPEND_BYTES);
      }
      if (isClosing) throw new StoreUnreachableError('The store is closed.');
      if (queuedAppends >= options.maxQueuedAppends || queuedBytes + bytes > options.maxQueuedBytes) {
        throw new StoreOverloadedError(`${queuedAppends} appends are already waiting.`);
      }
      return inTurn(request, bytes);
    },
    async close() {
      isClosing = true;
      await Promise.all(lastOfStream.values());
      streams.close();
    },
  };
}

const unknownOutcome = ({ stream }: AppendRequest, cause: unknown) =>
  new OutcomeUnknownError(`The outcome of an append to ${stream} is unknown: ${messageOf(cause)}`, { cause });

/** Sent once more, it is found if it has been written. */
const isExact = ({ expectedRevision }: AppendRequest) =>
  typeof expectedRevision === 'number' || expectedRevision === 'noStream';

/** Other events are where these should have gone, so these can never be written. */
function isPassed(error: unknown): boolean {
  if (!(error instanceof WrongExpectedRevisionError)) return false;
  const { expected, actual } = error;
  return (
    actual !== undefined && (expected === 'noStream' || (typeof expected === 'number' && actual > expected))
  );
}
