/** Whether a receiver has missed an event. Pure: the receiver keeps the state, best with its own data. */
import type { WebhookEvent } from './webhookEvents.ts';

type Numbered = Pick<WebhookEvent, 'sequence' | 'previousSequence'>;

/** Everything for the receiver that is numbered above `after`, up to `upTo`. */
interface Stretch {
  readonly after: number;
  readonly upTo: number;
}

/** JSON. Of one subscription, or of one feed. */
export interface ReceivedEvents {
  /** Receiving began after this number: what is numbered up to it has not come, but for `earlier`. */
  readonly after: number;
  /** Everything after that and up to this number has come; null before the first event. */
  readonly upTo: number | null;
  /** What has come after a gap, in order. */
  readonly ahead: readonly Numbered[];
  /** What has come of what is numbered up to `after`, in order. */
  readonly earlier: readonly Stretch[];
}

/**
 * `in_order`: it is new, and everything before it since receiving began has come. `gap`: it is new, and something before it
 * is missing: it may still come; until then the feed has it (`after: received.upTo ?? 0`). `earlier`: it is new, and from
 * before receiving began: somebody has had it sent, and nothing is said of others from then. `duplicate`: it has come
 * before. `test`: it tells of nothing.
 */
export type EventOrder = 'in_order' | 'gap' | 'earlier' | 'duplicate' | 'test';

/** Whoever has everything up to a number goes on with `{ ...NOTHING_RECEIVED, upTo }`. */
export const NOTHING_RECEIVED: ReceivedEvents = { after: 0, upTo: null, ahead: [], earlier: [] };

/** What the event is after what has been received, and what has been received with it. */
export function orderOf(
  event: Numbered,
  received: ReceivedEvents = NOTHING_RECEIVED,
): { readonly order: EventOrder; readonly received: ReceivedEvents } {
  const { sequence, previousSequence } = event;
  if (sequence === 0) return { order: 'test', received };
  if (hasCome(sequence, received)) return { order: 'duplicate', received };
  if (sequence <= received.after) {
    const earlier = joined([...received.earlier, { after: startOf(event), upTo: sequence }]);
    return { order: 'earlier', received: { ...received, earlier } };
  }

  const waiting = [...received.ahead, { sequence, previousSequence }].sort(
    (one, other) => one.sequence - other.sequence,
  );
  let reached = received;
  let connected = 0;
  for (const one of waiting) {
    if (!follows(one, reached.upTo)) break;
    reached = extended(reached, one);
    connected += 1;
  }
  const isConnected = reached.upTo !== null && sequence <= reached.upTo;
  return {
    order: isConnected ? 'in_order' : 'gap',
    received: { ...reached, ahead: waiting.slice(connected) },
  };
}

function hasCome(sequence: number, { after, upTo, ahead, earlier }: ReceivedEvents): boolean {
  return (
    (upTo !== null && holds({ after, upTo }, sequence)) ||
    earlier.some((stretch) => holds(stretch, sequence)) ||
    ahead.some((one) => one.sequence === sequence)
  );
}

const holds = ({ after, upTo }: Stretch, sequence: number): boolean => after < sequence && sequence <= upTo;

/** Between this number and the event there is none for this receiver. Without one before it, that is the event alone. */
const startOf = ({ sequence, previousSequence }: Numbered): number => previousSequence ?? sequence - 1;

/** The first of a subscription follows whatever came from one before it. */
const follows = ({ previousSequence }: Numbered, upTo: number | null): boolean =>
  previousSequence === null || (upTo !== null && previousSequence <= upTo);

/** With what follows. What is between it and the end so far, if it is the first of a subscription, has not come. */
function extended({ after, upTo, ahead, earlier }: ReceivedEvents, next: Numbered): ReceivedEvents {
  const start = startOf(next);
  if (upTo !== null && start <= upTo) return { after, upTo: Math.max(upTo, next.sequence), ahead, earlier };
  const former = upTo === null ? [] : [{ after, upTo }];
  return { after: start, upTo: next.sequence, ahead, earlier: joined([...earlier, ...former]) };
}

/** In order, and those that touch as one: the state stays small. */
function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const all: Stretch[] = [];
  for (const next of [...stretches].sort((one, other) => one.upTo - other.upTo)) {
    const last = all.at(-1);
    if (!last || last.upTo < next.after) all.push(next);
    else all.splice(-1, 1, { after: Math.min(last.after, next.after), upTo: next.upTo });
  }
  return all;
}
