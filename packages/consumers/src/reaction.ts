/** What must follow from which events, on another stream. `reactor.ts` explains the terms. */
import type { RecordedEvent } from '@coffer/event-store';

export interface Reaction {
  /** Shown when it fails; unique among the reactions of a consumer. */
  readonly name: string;
  /** How long fresh causes are left to others. Default: the consumer's. 0 if nobody else acts on them. */
  readonly graceMs?: number;
  /** The key under which the event's effect is awaited, if it is a cause. Throws if it cannot be understood. */
  readonly causeOf: (event: RecordedEvent) => { readonly key: string; readonly target: string } | undefined;
  /** The key that this event completes. */
  readonly effectOf: (event: RecordedEvent) => string | undefined;
  /**
   * Brings the effect about; when it returns, the effect is in the log. Idempotent: it may run again, or at the same time
   * as the request that does the same. Throws on temporary trouble, and a `NotYetError` if it only has to wait. A long act
   * throws when the signal aborts; the next runner acts again.
   */
  readonly act: (cause: RecordedEvent, signal: AbortSignal) => Promise<void>;
}

export interface Noticed {
  readonly reaction: Reaction;
  /** The key that the event completes. */
  readonly completed: string | undefined;
  readonly cause: ReturnType<Reaction['causeOf']>;
}

const NOTHING: readonly Noticed[] = [];

/**
 * What the event is to those of the reactions to which it is something; nearly all events are nothing to any. Throws if one
 * of them cannot understand it, so that an event is taken or skipped as a whole.
 */
export function noticedIn(event: RecordedEvent, reactions: readonly Reaction[]): readonly Noticed[] {
  let noticed: Noticed[] | undefined;
  for (const reaction of reactions) {
    const completed = reaction.effectOf(event);
    const cause = reaction.causeOf(event);
    if (completed === undefined && !cause) continue;
    noticed ??= [];
    noticed.push({ reaction, completed, cause });
  }
  return noticed ?? NOTHING;
}

/** How long one attempt of an act may take; then the next one begins. */
const ACT_WITHIN_MS = 10_000;

export const actDeadlineMs = (): number => performance.now() + ACT_WITHIN_MS;
