/** Whether a receiver has missed an event. Pure: the receiver keeps the state, best with its own data. */
import type { WebhookEvent } from './webhookEvents.ts';

type Numbered = Pick<WebhookEvent, 'sequence' | 'previousSequence'>;

/** JSON. Of one subscription, or of one feed. */
export interface ReceivedEvents {
  /** Everything up to this number has come; null before the first event. */
  readonly upTo: number | null;
  /** What has come after a gap, in order. */
  readonly ahead: readonly Numbered[];
}

/**
 * `in_order`: it is new, and everything before it has come. `gap`: it is new, and something before it is missing: it may
 * still come; until then the feed has it (`after: received.upTo ?? 0`). `duplicate`: it has come before. `test`: it tells
 * of nothing.
 */
export type EventOrder = 'in_order' | 'gap' | 'duplicate' | 'test';

export const NOTHING_RECEIVED: ReceivedEvents = { upTo: null, ahead: [] };

/** What the event is after what has been received, and what has been received with it. */
export function orderOf(
  { sequence, previousSequence }: Numbered,
  received: ReceivedEvents = NOTHING_RECEIVED,
): { readonly order: EventOrder; readonly received: ReceivedEvents } {
  const { upTo, ahead } = received;
  if (sequence === 0) return { order: 'test', received };
  if ((upTo !== null && sequence <= upTo) || ahead.some((one) => one.sequence === sequence)) {
    return { order: 'duplicate', received };
  }
  const waiting = [...ahead, { sequence, previousSequence }].sort(
    (one, other) => one.sequence - other.sequence,
  );
  let reached = upTo;
  let connected = 0;
  for (const one of waiting) {
    if (!follows(one, reached)) break;
    reached = one.sequence;
    connected += 1;
  }
  const isConnected = reached !== null && sequence <= reached;
  return {
    order: isConnected ? 'in_order' : 'gap',
    received: { upTo: reached, ahead: waiting.slice(connected) },
  };
}

/** Between `previousSequence` and the event there is none for this receiver. */
const follows = ({ previousSequence }: Numbered, upTo: number | null): boolean =>
  previousSequence === null || (upTo !== null && previousSequence <= upTo);
