/**
 * How much a topic takes at once, as far as refusals have taught. Kept from session to session: after a refusal nothing else
 * may be sent by the same producer.
 */
import { KafkaFailure } from './failures.ts';
import type { TooLargeError } from './publisher.ts';

/** Less than what a topic takes as one batch unless it is configured otherwise: 1,048,588. */
export const MOST_BATCH_BYTES = 900_000;

/** An event whose message its topic does not take even alone. */
interface Refused<Event> {
  readonly event: Event;
  readonly failure: KafkaFailure;
}

export interface BatchLimit<Event> {
  readonly mostBytes: () => number;
  /** The next session sends less at once than the refused batch, or knows which event does not fit. */
  readonly learn: (refusal: TooLargeError, events: readonly Event[]) => void;
  /** The events before the first that does not fit, and that one. */
  readonly split: (events: readonly Event[]) => {
    readonly page: readonly Event[];
    readonly refused: Refused<Event> | undefined;
  };
}

/** `nameOf` tells events apart, in failures as well. */
export function createBatchLimit<Event>(nameOf: (event: Event) => string): BatchLimit<Event> {
  let mostBytes = MOST_BATCH_BYTES;
  let tooLarge: { readonly name: string; readonly failure: KafkaFailure } | undefined;
  return {
    mostBytes: () => mostBytes,
    learn({ from, count, bytes, code }, events) {
      const [first] = events.slice(from);
      if (count > 1) mostBytes = Math.ceil(bytes / 2);
      else if (first) tooLarge = { name: nameOf(first), failure: new KafkaFailure(code, nameOf(first)) };
    },
    split(events) {
      const end = tooLarge ? events.findIndex((event) => nameOf(event) === tooLarge?.name) : -1;
      const event = events[end];
      if (!tooLarge || !event) return { page: events, refused: undefined };
      return { page: events.slice(0, end), refused: { event, failure: tooLarge.failure } };
    },
  };
}
