/**
 * Appends, each a call of its own, those of one stream one after the other.
 *
 * The server answers a repeat as if it had been the first time, and looks at no event that stands before an append.
 * So what stands at the expected place is read first: a repeat is found there, and a log that was rewritten is
 * noticed. What the call itself fails with is an unknown outcome unless the server has said what it refuses; then
 * the place is read again.
 */
import { ANY, NO_STREAM, STREAM_EXISTS } from '@eventstore/db-client';
import { checkAppend } from '../appendRequest.ts';
import {
  EventTooLargeError,
  LogRewrittenError,
  OutcomeUnknownError,
  StoreOverloadedError,
  StoreUnreachableError,
  WrongExpectedRevisionError,
} from '../errors.ts';
import { type AppendRequest, type AppendResult, type ExpectedRevision, MAX_APPEND_BYTES } from '../port.ts';
import type { Clients, Connection } from './clients.ts';
import {
  ANOTHER_LEADS,
  explained,
  isDeleted,
  isNeverSent,
  isNotLeader,
  isTooLarge,
  isWrongRevision,
  messageOf,
  refusalOf,
  SilenceError,
} from './failures.ts';
import type { Limiter } from './limiter.ts';
import type { LogReader } from './logReader.ts';
import { clientEvent, positionOf } from './wire.ts';

export interface AppenderOptions {
  readonly clients: Clients;
  readonly reader: Pick<LogReader, 'readStream' | 'heads'>;
  readonly limiter: Limiter;
  /** An append that is not answered for so long asks who leads. */
  readonly patienceMs: number;
  /** After so long without an answer the outcome is unknown. */
  readonly appendTimeoutMs: number;
  /** Appends that may wait or be under way, and their bytes. */
  readonly maxQueuedAppends: number;
  readonly maxQueuedBytes: number;
}

export interface Appender {
  append(request: AppendRequest): Promise<AppendResult>;
  /** Finishes what it has taken, and takes nothing more. */
  close(): Promise<void>;
}

type ClientEvents = ReturnType<typeof clientEvent>[];

/** Nodes of a cluster may tell of one another as leaders while they elect one. */
const MAX_LEADER_CHANGES = 3;
/** The call ends itself first, so that nothing of it is left behind. */
const OWN_TIMER_GRACE_MS = 250;

export function createAppender(options: AppenderOptions): Appender {
  const { clients, reader, limiter, patienceMs, appendTimeoutMs } = options;
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
    const before = await lookAt(request);
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

  /** What stands at the expected place already. Throws what the port says of a place that is not as expected. */
  async function lookAt(
    request: AppendRequest,
  ): Promise<{ readonly found?: AppendResult; readonly lastRevision?: number }> {
    const { stream, expectedRevision, expectedLastEventId, events } = request;
    if (typeof expectedRevision !== 'number' && expectedRevision !== 'noStream') {
      const [head] = await reader.heads([stream]);
      return head ? { lastRevision: head.revision } : {};
    }
    const isFirst = expectedRevision === 'noStream';
    const [expected, ...behind] = await readPlace(
      stream,
      isFirst ? undefined : expectedRevision,
      events.length,
    );
    if (!isFirst && expected === undefined) throw await wrongRevision(stream, expectedRevision);
    if (behind.length === 0) {
      if (expectedLastEventId !== undefined && expected?.id !== expectedLastEventId.toLowerCase()) {
        throw new LogRewrittenError(
          `Stream ${stream} holds another event at ${expectedRevision} than was read from it.`,
        );
      }
      return {};
    }
    const last = behind[events.length - 1];
    if (last && events.every(({ id }, index) => behind[index]?.id === id.toLowerCase())) {
      return { found: { revision: last.revision, position: last.position, alreadyAppended: true } };
    }
    throw await wrongRevision(stream, expectedRevision);
  }

  /** The event at the revision, undefined when there is none, and at most so many behind it. */
  async function readPlace(stream: string, revision: number | undefined, count: number) {
    const found = [];
    const range = { fromRevision: revision ?? 0, limit: revision === undefined ? count : count + 1 };
    for await (const page of reader.readStream(stream, range)) found.push(...page);
    return revision === undefined ? [undefined, ...found] : found;
  }

  async function wrongRevision(
    stream: string,
    expected: ExpectedRevision,
  ): Promise<WrongExpectedRevisionError> {
    const [head] = await reader.heads([stream]);
    return new WrongExpectedRevisionError(stream, expected, head?.revision);
  }

  /** Throws what the server has refused for sure; returns any other failure. */
  async function send(
    request: AppendRequest,
    events: ClientEvents,
  ): Promise<Pick<AppendResult, 'revision' | 'position'> | { readonly unknown: unknown }> {
    const { stream, expectedRevision } = request;
    for (let leaderChanges = 0; ; leaderChanges++) {
      // Refused at once where nobody leads, and not behind others that wait.
      await clients.current();
      const release = await limiter.enter();
      let connection: Connection | undefined;
      try {
        connection = await clients.current();
        const answer = await withTimer(
          connection,
          connection.client.appendToStream(stream, events, {
            expectedRevision: wireExpected(expectedRevision),
            requiresLeader: true,
            deadline: appendTimeoutMs,
          }),
        );
        const { nextExpectedRevision, position } = answer;
        if (!position) return { unknown: new Error('The server gave no position.') };
        return { revision: Number(nextExpectedRevision), position: positionOf(position) };
      } catch (error) {
        if (!connection) throw error;
        clients.failed(connection, error);
        if (isWrongRevision(error)) throw await wrongRevision(stream, expectedRevision);
        if (isTooLarge(error)) throw new EventTooLargeError(stream, serverBytesOf(request), MAX_APPEND_BYTES);
        if (isDeleted(error)) throw new LogRewrittenError(`Stream ${stream} was deleted.`, { cause: error });
        const refusal = refusalOf(error, { append: stream });
        if (refusal) throw refusal;
        if (isNeverSent(error)) {
          throw new StoreUnreachableError(`The log cannot be reached: ${explained(error)}`, { cause: error });
        }
        if (!isNotLeader(error)) return { unknown: error };
        if (leaderChanges >= MAX_LEADER_CHANGES) {
          throw new StoreUnreachableError('No node says that it is the leader.', { cause: error });
        }
      } finally {
        release();
      }
    }
  }

  /** The client itself waits for ever on a server that says nothing. */
  async function withTimer<Result>(connection: Connection, call: Promise<Result>): Promise<Result> {
    const timeoutMs = appendTimeoutMs + OWN_TIMER_GRACE_MS;
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const give = (reason: string) => reject(new SilenceError(reason));
    const onLeft = () => give(ANOTHER_LEADS);
    connection.left.addEventListener('abort', onLeft);
    const timers = [
      setTimeout(() => clients.silent(connection), patienceMs),
      setTimeout(() => give(`No answer came in ${timeoutMs} ms.`), timeoutMs),
    ];
    try {
      return await Promise.race([call, silence]);
    } finally {
      for (const timer of timers) clearTimeout(timer);
      connection.left.removeEventListener('abort', onLeft);
    }
  }

  /** Once the place is taken, by these events or by others, the outcome is known. */
  async function resolveUnknown(request: AppendRequest, cause: unknown): Promise<AppendResult> {
    const unknown = new OutcomeUnknownError(
      `The outcome of an append to ${request.stream} is unknown: ${messageOf(cause)}`,
      { cause },
    );
    let place: Awaited<ReturnType<typeof lookAt>>;
    try {
      place = await lookAt(request);
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

/** The size of an append as the server counts it, with two bytes for each character of a type. */
function serverBytesOf({ events }: AppendRequest): number {
  let bytes = 0;
  for (const { type, data, metadata } of events) {
    bytes += 2 * type.length + Buffer.byteLength(data) + Buffer.byteLength(metadata);
  }
  return bytes;
}

function wireExpected(expected: ExpectedRevision) {
  switch (expected) {
    case 'noStream':
      return NO_STREAM;
    case 'streamExists':
      return STREAM_EXISTS;
    case 'any':
      return ANY;
    default:
      return BigInt(expected);
  }
}
