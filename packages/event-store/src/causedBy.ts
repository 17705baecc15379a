/** The write context of a command: one that a request asks for, or one that follows from an event. */
import { decodeMetadata, type EventMetadata, uuidFromParts } from '@coffer/kernel';
import type { CommandContext, Deadline, EventIds } from './commands.ts';
import type { StreamEvent } from './port.ts';

/** Who asks, in which request, and how long the answer is awaited. */
export interface Requester extends Deadline {
  readonly requestId: string;
  readonly actor: string;
}

export const requestedBy = (
  { requestId, actor, deadlineMs }: Requester,
  /** ISO 8601 UTC with milliseconds. */
  occurredAt: string,
): CommandContext => ({ metadata: { correlationId: requestId, actor, occurredAt }, deadlineMs });

/**
 * The context of a command on `targetStream` that follows from `cause`. Ids, time, actor and correlation are a pure
 * function of the cause, so the request and the reaction that finishes it after a crash write identical events, and the
 * store recognizes the second write.
 */
export function causedBy(
  cause: StreamEvent,
  targetStream: string,
  deadlineMs: number,
  /** Tells the commands apart that follow from one cause on one stream. */
  nth = 0,
  /** What the cause was just written with, which need not be read from it. */
  metadata: Omit<EventMetadata, 'causationId'> = decodeMetadata(cause.metadata),
): CommandContext {
  const { correlationId, actor, occurredAt } = metadata;
  return {
    metadata: { correlationId, causationId: cause.id, actor, occurredAt },
    deadlineMs,
    eventIds: { parts: [targetStream, cause.stream, cause.id], first: nth },
  };
}

export function eventIdAt({ parts, first, within }: EventIds, index: number): string {
  const id = uuidFromParts(...parts, String(first + index));
  return within === undefined ? id : uuidFromParts(within, id);
}
