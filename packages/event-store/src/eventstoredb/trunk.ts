/** The subscription that consumers share, with the latest events of it. */
import type { Position, RecordedEvent, SubscriptionMessage } from '../port.ts';
import { comparePositions } from './wire.ts';

export interface Trunk {
  readonly messages: AsyncIterator<SubscriptionMessage>;
  readonly ending: AbortController;
  /** The most events in one of its pages: such a page says that it has fallen behind. */
  readonly pageSize: number;
  readonly maxKept: number;
  /** The latest events, in order; `first` is the number of the first of them, counted from the beginning of the trunk. */
  readonly kept: RecordedEvent[];
  first: number;
  /** The place before the first event kept; undefined at the beginning of the log. */
  base: Position | undefined;
  isLive: boolean;
  hasEnded: boolean;
  /** The number of the next event of each consumer. */
  readonly cursors: Map<object, number>;
  change: PromiseWithResolvers<void>;
}

export function beginTrunk(
  messages: AsyncIterator<SubscriptionMessage>,
  ending: AbortController,
  pageSize: number,
  base: Position | undefined,
  maxKept: number,
): Trunk {
  const begun: Trunk = {
    messages,
    ending,
    pageSize,
    maxKept,
    kept: [],
    first: 0,
    base,
    isLive: true,
    hasEnded: false,
    cursors: new Map(),
    change: Promise.withResolvers<void>(),
  };
  void run(begun);
  return begun;
}

async function run(running: Trunk): Promise<void> {
  try {
    for (;;) {
      await roomIn(running);
      const next = await running.messages.next();
      if (next.done) return;
      if (next.value.kind === 'caughtUp') running.isLive = true;
      else keep(running, next.value.events);
      changed(running);
    }
  } catch {
    // The log was rewritten: each consumer finds out by itself whether it still holds its own place.
  } finally {
    running.hasEnded = true;
    changed(running);
  }
}

function keep(running: Trunk, events: readonly RecordedEvent[]): void {
  running.kept.push(...events);
  if (events.length >= running.pageSize) running.isLive = false;
  const surplus = running.kept.length - running.maxKept;
  if (surplus <= 0) return;
  running.base = running.kept[surplus - 1]?.position;
  running.first += surplus;
  running.kept.splice(0, surplus);
}

/** The fastest consumer has taken everything, so that nothing is read for nobody. */
async function roomIn(running: Trunk): Promise<void> {
  for (;;) {
    const fastest = Math.max(...running.cursors.values());
    if (running.ending.signal.aborted || fastest >= running.first + running.kept.length) return;
    await running.change.promise;
  }
}

/** Nobody follows it any longer. */
export async function endTrunk(ended: Trunk): Promise<void> {
  ended.hasEnded = true;
  ended.ending.abort();
  changed(ended);
  await ended.messages.return?.();
}

export function covers({ base }: Trunk, place: Position | undefined): boolean {
  if (base === undefined) return true;
  return place !== undefined && comparePositions(base, place) <= 0;
}

export function changed(trunk: Trunk): void {
  const { resolve } = trunk.change;
  trunk.change = Promise.withResolvers<void>();
  resolve();
}

/** How many of the events stand at the place or before it. */
export function countUpTo(events: readonly RecordedEvent[], place: Position | undefined): number {
  if (place === undefined) return 0;
  const after = events.findIndex(({ position }) => comparePositions(position, place) > 0);
  return after < 0 ? events.length : after;
}
