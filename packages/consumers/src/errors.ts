import type { RecordedEvent } from '@coffer/event-store';
import { messageOf } from '@coffer/kernel';

/** Another runner has taken over, or the checkpoint is not where this one left it: its writes must not commit. */
export class LostLeaseError extends Error {
  override readonly name = 'LostLeaseError';

  constructor(consumer: string) {
    super(`The lease of consumer ${consumer} is no longer held here.`);
  }
}

/**
 * Thrown by an act that waits for something outside, has told by itself what for, and gives its place to others: it is
 * tried again with growing pauses, and counts as no failure.
 */
export class NotYetError extends Error {
  override readonly name = 'NotYetError';
}

/** An event that a consumer cannot take. It is never skipped unasked: a skipped money event is a wrong balance. */
export class PoisonEventError extends Error {
  override readonly name = 'PoisonEventError';
  readonly code = 'consumer/poison_event';
  readonly event: Pick<RecordedEvent, 'stream' | 'revision' | 'type' | 'id' | 'position'>;

  constructor({ stream, revision, type, id, position }: PoisonEventError['event'], cause: unknown) {
    super(`${type} at revision ${revision} of ${stream} cannot be taken: ${messageOf(cause)}`, { cause });
    this.event = { stream, revision, type, id, position };
  }

  readonly isAbout = ({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): boolean =>
    stream === this.event.stream && revision === this.event.revision;
}

/** A consumer has stopped for good and someone must look: nothing was skipped, and nothing more is done. */
export interface ConsumerStop {
  readonly code: 'store/log_rewritten' | 'consumer/poison_event';
  readonly reason: string;
  /** The event to blame, if there is one. */
  readonly event: PoisonEventError['event'] | undefined;
}
