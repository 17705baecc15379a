/** What must follow from which events, on another stream. The words: `reactor.ts`. */
import type { RecordedEvent } from '@coffer/event-store';

export interface Reaction {
  /** Shown where it fails; apart from those of the other reactions of the same consumer. */
  readonly name: string;
  /** How long its fresh causes are left to others. Default: that of the consumer. 0 where nobody else acts on them. */
  readonly graceMs?: number;
  /** The key under which the event's effect is awaited, if it is a cause. Throws on one it cannot understand. */
  readonly causeOf: (event: RecordedEvent) => { readonly key: string; readonly target: string } | undefined;
  /** The key that this event completes. */
  readonly effectOf: (event: RecordedEvent) => string | undefined;
  /**
   * Brings the effect about; when it returns, the effect is in the log. Idempotent: it may run again, or at
   * the same time as the request that does the same. Throws on passing trouble. One that may take long ends
   * early when the signal aborts, by throwing: whoever goes on acts again.
   */
  readonly act: (cause: RecordedEvent, signal: AbortSignal) => Promise<void>;
}

/** How long one attempt of an act may take; the next one begins anew. */
const ACT_WITHIN_MS = 10_000;

/** Until when an act that begins now may take. */
export const actDeadlineMs = (): number => performance.now() + ACT_WITHIN_MS;
