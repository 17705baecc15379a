/**
 * Sees to it that what one event owes to another stream comes about: keeps the causes whose effect has not
 * appeared yet, and carries out those that nobody else has carried out in time. It knows no database.
 *
 *  cause     an event that something must follow from, on another stream
 *  effect    the event by which the log shows that it did
 *  target    what acts are kept in order for
 */
import type { RecordedEvent } from '@coffer/event-store';
import type { Clock } from '@coffer/kernel';
import type { Checkpoint } from './consumersTable.ts';
import { PoisonEventError } from './errors.ts';
import { backOffMs, type MonotonicClock } from './monotonicClock.ts';
import { checkpointAt } from './work.ts';

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

export interface ReactorOptions {
  /** How long a fresh cause is left to the request that also drives it. Default 2,000 ms. */
  readonly graceMs?: number;
  /** How many targets are acted on at a time. Default 64. */
  readonly parallelTargets?: number;
  /** No more events are read while more causes than this are pending. Default 10,000. */
  readonly mostPending?: number;
  readonly firstRetryMs?: number;
  readonly mostRetryMs?: number;
}

export interface PendingFigures {
  readonly count: number;
  /** Since the oldest pending cause was recorded; 0 when there is none. */
  readonly oldestSeconds: number;
  /** Acts that failed, since the lease was taken. */
  readonly failures: number;
}

interface Pending {
  readonly id: string;
  readonly reaction: Reaction;
  readonly cause: RecordedEvent;
  readonly lane: Lane;
  /** The place just before the cause. */
  readonly before: Checkpoint | undefined;
  dueMs: number;
  failures: number;
  acted: boolean;
}

/** The causes of one target that are still to be acted on, oldest first. */
interface Lane {
  readonly target: string;
  readonly queue: Pending[];
  acting: boolean;
  cancelTimer: () => void;
}

export function createReactor(dependencies: {
  readonly reactions: readonly Reaction[];
  readonly options: ReactorOptions;
  readonly clock: MonotonicClock;
  readonly wallClock: Clock;
  /** Where reading begins. */
  readonly place: Checkpoint | undefined;
  readonly signal: AbortSignal;
  readonly onTrouble: (error: unknown) => void;
  readonly isSkipped: (event: RecordedEvent) => Promise<boolean>;
}) {
  const { reactions, clock, wallClock, signal, onTrouble, isSkipped } = dependencies;
  const {
    graceMs = 2_000,
    parallelTargets = 64,
    mostPending = 10_000,
    firstRetryMs = 100,
    mostRetryMs = 30_000,
  } = dependencies.options;

  /** In the order of the log. */
  const pending = new Map<string, Pending>();
  const lanes = new Map<string, Lane>();
  const ready = new Set<Lane>();
  const inFlight = new Set<Promise<void>>();
  let last = dependencies.place;
  let caughtUp = false;
  let crowded = false;
  let failures = 0;
  let makeRoom: () => void = () => undefined;

  signal.addEventListener('abort', () => {
    for (const lane of lanes.values()) lane.cancelTimer();
    makeRoom();
  });

  return {
    /** Takes events in the order of the log; returns when there is room for more. */
    async take(events: readonly RecordedEvent[]): Promise<void> {
      for (const event of events) {
        try {
          // All of them understand it before any of them takes it, so that it is taken or skipped as a whole.
          for (const noticed of reactions.map(noticedIn(event))) notice(noticed, event);
        } catch (error) {
          if (!(await isSkipped(event))) throw new PoisonEventError(event, error);
        }
        last = checkpointAt(event, (last?.ordinal ?? 0) + 1);
      }
      if (pending.size > mostPending) await thinOut();
    },

    /** From here on a cause without an effect has none in the log: those of the past are acted on at once. */
    caughtUp(): void {
      if (caughtUp) return;
      caughtUp = true;
      scheduleAll();
    },

    /** Where to read on from after a crash: just before the oldest cause that is still pending. */
    place(): Checkpoint | undefined {
      const [oldest] = pending.values();
      return oldest ? oldest.before : last;
    },

    figures(): PendingFigures {
      const [oldest] = pending.values();
      const ageMs = oldest ? wallClock().getTime() - oldest.cause.recordedAt.getTime() : 0;
      return { count: pending.size, oldestSeconds: Math.max(0, ageMs) / 1000, failures };
    },

    /** When all acts that have begun have ended. After an abort none begins. */
    async idle(): Promise<void> {
      await Promise.all(inFlight);
    },
  };

  function notice({ reaction, completed, cause }: Noticed, event: RecordedEvent): void {
    if (completed !== undefined) drop(pending.get(idOf(reaction, completed)));
    if (cause) add(reaction, cause.key, cause.target, event);
  }

  function add(reaction: Reaction, key: string, target: string, cause: RecordedEvent): void {
    const id = idOf(reaction, key);
    if (pending.has(id)) return;
    const lane = lanes.get(target) ?? { target, queue: [], acting: false, cancelTimer: () => undefined };
    lanes.set(target, lane);
    const dueMs = clock.nowMs() + (caughtUp ? (reaction.graceMs ?? graceMs) : 0);
    const entry: Pending = { id, reaction, cause, lane, before: last, dueMs, failures: 0, acted: false };
    pending.set(id, entry);
    lane.queue.push(entry);
    if (lane.queue.length === 1) schedule(lane);
  }

  function drop(entry: Pending | undefined): void {
    if (!entry) return;
    pending.delete(entry.id);
    if (pending.size <= mostPending) makeRoom();
    leaveLane(entry);
  }

  function leaveLane(entry: Pending): void {
    const { lane } = entry;
    const index = lane.queue.indexOf(entry);
    if (index < 0) return;
    lane.queue.splice(index, 1);
    if (index === 0) schedule(lane);
  }

  function schedule(lane: Lane): void {
    lane.cancelTimer();
    ready.delete(lane);
    const [head] = lane.queue;
    if (!head && !lane.acting) lanes.delete(lane.target);
    // Before the end of the log is reached, the effect may stand further on: acting would be for nothing.
    if (!head || lane.acting || signal.aborted || !(caughtUp || crowded)) return;
    const waitMs = crowded && head.failures === 0 ? 0 : head.dueMs - clock.nowMs();
    if (waitMs > 0) {
      lane.cancelTimer = clock.after(waitMs, () => schedule(lane));
    } else {
      ready.add(lane);
      startReady();
    }
  }

  function scheduleAll(): void {
    for (const lane of [...lanes.values()]) schedule(lane);
  }

  function startReady(): void {
    for (const lane of ready) {
      if (inFlight.size >= parallelTargets) return;
      ready.delete(lane);
      const [head] = lane.queue;
      if (!head) continue;
      lane.acting = true;
      const act: Promise<void> = actOn(head).finally(() => {
        inFlight.delete(act);
        lane.acting = false;
        schedule(lane);
        if (!signal.aborted) startReady();
      });
      inFlight.add(act);
    }
  }

  async function actOn(entry: Pending): Promise<void> {
    try {
      await entry.reaction.act(entry.cause, signal);
      entry.acted = true;
      if (crowded) drop(entry);
      else leaveLane(entry);
    } catch (error) {
      // Whoever was told to stop has not failed.
      if (signal.aborted) return;
      failures += 1;
      entry.failures += 1;
      entry.dueMs = clock.nowMs() + backOffMs(entry.failures, firstRetryMs, mostRetryMs);
      onTrouble(new Error(`Reaction ${entry.reaction.name} to ${entry.id} failed.`, { cause: error }));
    }
  }

  /**
   * Too many are pending to read on, so their effects cannot be seen: until there is room, an act that
   * returned counts as its effect, and nothing waits for its grace or for the end of the log. That may act
   * where the effect already stands further on, which is harmless.
   */
  async function thinOut(): Promise<void> {
    crowded = true;
    for (const entry of [...pending.values()]) if (entry.acted) drop(entry);
    scheduleAll();
    if (pending.size > mostPending && !signal.aborted) {
      await new Promise<void>((resolve) => {
        makeRoom = resolve;
      });
    }
    makeRoom = () => undefined;
    crowded = false;
    // What was made ready early waits for its own time again.
    scheduleAll();
  }
}

interface Noticed {
  readonly reaction: Reaction;
  readonly completed: string | undefined;
  readonly cause: ReturnType<Reaction['causeOf']>;
}

const noticedIn =
  (event: RecordedEvent) =>
  (reaction: Reaction): Noticed => ({
    reaction,
    completed: reaction.effectOf(event),
    cause: reaction.causeOf(event),
  });

const idOf = (reaction: Reaction, key: string) => `${reaction.name} ${key}`;
