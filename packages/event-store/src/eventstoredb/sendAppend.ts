/** One append as one call to the server, and what is known after it. */
import { ANY, NO_STREAM, STREAM_EXISTS } from '@eventstore/db-client';
import { EventTooLargeError, LogRewrittenError, StoreUnreachableError } from '../errors.ts';
import { type AppendRequest, type AppendResult, type ExpectedRevision, MAX_APPEND_BYTES } from '../port.ts';
import { type PlaceReader, wrongRevision } from './appendPlace.ts';
import type { Clients, Connection } from './clients.ts';
import {
  ANOTHER_LEADS,
  explained,
  isDeleted,
  isNeverSent,
  isNotLeader,
  isTooLarge,
  isWrongRevision,
  refusalOf,
  SilenceError,
} from './failures.ts';
import type { Limiter } from './limiter.ts';
import { type clientEvent, positionOf } from './wire.ts';

export interface SendOptions {
  readonly clients: Clients;
  readonly reader: PlaceReader;
  readonly limiter: Limiter;
  /** After this long without an answer, the cluster looks for the leader. */
  readonly patienceMs: number;
  /** After this long without an answer, the outcome is unknown. */
  readonly appendTimeoutMs: number;
}

export type ClientEvents = ReturnType<typeof clientEvent>[];

/** `unknown`: why it is unknown whether the append was written. */
type Sent = Pick<AppendResult, 'revision' | 'position'> | { readonly unknown: unknown };

/** During an election, nodes of a cluster may name one another as leader. */
const MAX_LEADER_CHANGES = 3;
/** The call's own deadline comes first, so that it leaves nothing behind. */
const OWN_TIMER_GRACE_MS = 250;

export function createSender({ clients, reader, limiter, patienceMs, appendTimeoutMs }: SendOptions) {
  return send;

  /** Throws what the server certainly refused; returns any other failure. */
  async function send(request: AppendRequest, events: ClientEvents): Promise<Sent> {
    const { stream, expectedRevision } = request;
    for (let leaderChanges = 0; ; leaderChanges++) {
      // Fails at once when there is no leader, instead of queueing behind others.
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
        await throwRefusal(reader, request, error);
        if (!isNotLeader(error)) return { unknown: error };
        if (leaderChanges >= MAX_LEADER_CHANGES) {
          throw new StoreUnreachableError('No node says that it is the leader.', { cause: error });
        }
      } finally {
        release();
      }
    }
  }

  /** The client itself would wait for ever on a silent server. */
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
}

/** Throws what was certainly not written. */
async function throwRefusal(reader: PlaceReader, request: AppendRequest, error: unknown): Promise<void> {
  const { stream, expectedRevision } = request;
  if (isWrongRevision(error)) throw await wrongRevision(reader, stream, expectedRevision);
  if (isTooLarge(error)) throw new EventTooLargeError(stream, serverBytesOf(request), MAX_APPEND_BYTES);
  if (isDeleted(error)) throw new LogRewrittenError(`Stream ${stream} was deleted.`, { cause: error });
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
