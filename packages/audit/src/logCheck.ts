import type { RecordedEvent } from '@coffer/event-store';
import type { Ordinal } from './chain.ts';

/** An event with its number in the log as it stands. */
export interface Numbered {
  readonly event: RecordedEvent;
  readonly ordinal: Ordinal;
}

/** One thing that is verified of the log, in one pass over it. */
export interface LogCheck {
  /** Called with a page before its events are taken, for what is better done for many at once. */
  readonly prepare?: (events: readonly Numbered[]) => Promise<void>;
  /** A promise only where something must be waited for. */
  readonly take: (event: RecordedEvent, ordinal: Ordinal) => Promise<void> | undefined;
  /** The log has ended. */
  readonly end: () => Promise<void> | undefined;
}
