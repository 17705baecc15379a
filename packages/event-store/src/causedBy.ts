/** With what a command is written that a request asks for, and one that follows from an event. */
import { decodeMetadata, uuidFromParts } from '@coffer/kernel';
import type { CommandContext, Deadline } from './commands.ts';
import type { EventStore, StreamEvent } from './port.ts';

/** Who asks, under which request, and until when the answer is awaited. */
export interface Requester extends Deadline {
  readonly requestId: string;
  readonly actor: string;
}

/** Context of a command that a request asks for. */
export const requestedBy = (
  { requestId, actor, deadlineMs }: Requester,
  /** ISO 8601 UTC with milliseconds. */
  occurredAt: string,
): CommandContext => ({ metadata: { correlationId: requestId, actor, occurredAt }, deadlineMs });

/**
 * Context of a command on `targetStream` that follows from `cause`. Ids, time, actor and correlation are a
 * pure function of the cause, so that the request and the process that finishes it after a crash write the
 * very same events, and the store recognizes the second of them.
 */
export function causedBy(cause: StreamEvent, targetStream: string, deadlineMs: number): CommandContext {
  const { correlationId, actor, occurredAt } = decodeMetadata(cause.metadata);
  return {
    metadata: { correlationId, causationId: cause.id, actor, occurredAt },
    deadlineMs,
    eventIdOf: (index) => uuidFromParts(targetStream, cause.stream, cause.id, String(index)),
  };
}

/** The event at a revision that is known to be there. */
export async function readEvent(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  revision: number,
): Promise<StreamEvent> {
  for await (const page of store.readStream(stream, { fromRevision: revision, limit: 1 })) {
    if (page[0]) return page[0];
  }
  throw new Error(`Stream ${stream} has no event at revision ${revision}.`);
}
