import type { RecordedEvent } from '@coffer/event-store';
import type { Ordinal } from './chain.ts';

/** An event with its number in the log. */
export interface Numbered {
  readonly event: RecordedEvent;
  readonly ordinal: Ordinal;
}

/** One aspect of the log to verify, in a single pass over it. */
export interface LogCheck {
  /** Called with a page before its events are taken, for work that is better done for many at once. */
  readonly prepare?: (events: readonly Numbered[]) => Promise<void>;
  /** Returns a promise only if something must be waited for. */
  readonly take: (event: RecordedEvent, ordinal: Ordinal) => Promise<void> | undefined;
  /** The log has ended. */
  readonly end: () => Promise<void> | undefined;
}
