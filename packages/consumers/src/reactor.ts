/**
 * Makes sure that what one event owes to another stream comes about: keeps the causes whose effect has not appeared yet,
 * and carries out those that nobody else has carried out in time. It knows no database.
 *
 *  cause     an event from which something must follow, on another stream
 *  effect    the event that shows in the log that it did
 *  target    the thing whose acts are kept in order
 */
import type { RecordedEvent } from '@coffer/event-store';
import type { Clock } from '@coffer/kernel';
import type { Checkpoint } from './consumersTable.ts';
import { NotYetError, PoisonEventError } from './errors.ts';
import { createLanes } from './lanes.ts';
import { backOffMs, type MonotonicClock } from './monotonicClock.ts';
import { advanceCause, type PendingCause, type PendingFigures, waitingCause } from './pendingCauses.ts';
import { noticedIn, type Reaction } from './reaction.ts';
import { checkpointAt } from './work.ts';

export interface ReactorOptions {
  /** How long a fresh cause is left to the request that also drives it. Default 2,000 ms. */
  readonly graceMs?: number;
  /** How many targets are acted on at a time. Default 64. */
  readonly parallelTargets?: number;
  /** Reading pauses while more causes than this are pending. Default 10,000. */
  readonly mostPending?: number;
  readonly firstRetryMs?: number;
  readonly mostRetryMs?: number;
}

const GRACE_MS = 2_000;
const PARALLEL_TARGETS = 64;
const MOST_PENDING = 10_000;
const FIRST_RETRY_MS = 100;
const MOST_RETRY_MS = 30_000;

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
  const { reactions, options, clock, wallClock, signal, onTrouble, isSkipped } = dependencies;
  const { graceMs = GRACE_MS, parallelTargets = PARALLEL_TARGETS, mostPending = MOST_PENDING } = options;
  const { firstRetryMs = FIRST_RETRY_MS, mostRetryMs = MOST_RETRY_MS } = options;

  /** In the order of the log. */
  const pending = new Map<string, PendingCause>();
  const lanes = createLanes({ parallelTargets, clock, signal, waitMsOf, act });
  const reached = placeReached(dependencies.place);
  let caughtUp = false;
  let crowded = false;
  let failures = 0;
  let makeRoom: () => void = () => undefined;

  signal.addEventListener('abort', () => makeRoom());

  return {
    /** Takes events in the order of the log; returns when there is room for more. */
    async take(events: readonly RecordedEvent[]): Promise<void> {
      for (let failed = firstFailure(events, notice); failed; failed = firstFailure(failed.rest, notice)) {
        if (!(await isSkipped(failed.event))) throw new PoisonEventError(failed.event, failed.error);
        passOver();
        reached.took(failed.event);
      }
      if (pending.size > mostPending) await thinOut();
    },

    /** From now on a cause without an effect has none in the log: overdue causes are acted on at once. */
    caughtUp(): void {
      if (caughtUp) return;
      caughtUp = true;
      lanes.reschedule();
    },

    /** Where to resume after a crash: just before the oldest pending cause. */
    place(): Checkpoint | undefined {
      const [oldest] = pending.values();
      return oldest ? oldest.before : reached.checkpoint();
    },

    figures(): PendingFigures {
      const [oldest] = pending.values();
      const ageMs = oldest ? wallClock().getTime() - oldest.event.recordedAt.getTime() : 0;
      return { count: pending.size, oldestSeconds: Math.max(0, ageMs) / 1000, failures };
    },

    /** Resolves when all running acts have ended. After an abort none begins. */
    idle: lanes.idle,
  };

  function notice(event: RecordedEvent): void {
    // All reactions must understand it before any takes it.
    for (const { reaction, completed, cause } of noticedIn(event, reactions)) {
      const known = completed === undefined ? undefined : pending.get(idOf(reaction, completed));
      if (known) settle(known);
      if (cause) add(reaction, cause.key, cause.target, event);
    }
    reached.took(event);
  }

  function add(reaction: Reaction, key: string, target: string, event: RecordedEvent): void {
    const id = idOf(reaction, key);
    if (pending.has(id)) return;
    const dueMs = clock.nowMs() + (caughtUp ? (reaction.graceMs ?? graceMs) : 0);
    const cause = waitingCause({ id, reaction, target, event, before: reached.checkpoint(), dueMs });
    pending.set(id, cause);
    lanes.add(cause);
  }

  function settle(cause: PendingCause): void {
    advanceCause(cause, 'settled');
    pending.delete(cause.id);
    if (pending.size <= mostPending) makeRoom();
    lanes.remove(cause);
  }

  /**
   * The event that was skipped may be the effect of any cause before it, and is not read again: an act that returned has
   * its effect in the log, so nothing is lost if that counts.
   */
  function passOver(): void {
    for (const cause of [...pending.values()]) {
      cause.mayBeSkipped = true;
      if (cause.state === 'acted') settle(cause);
    }
  }

  function waitMsOf(cause: PendingCause): number | undefined {
    if (crowded && cause.failures === 0) return 0;
    // Before the end of the log is reached, the effect may come later in it: acting would be wasted.
    return caughtUp || crowded ? cause.dueMs - clock.nowMs() : undefined;
  }

  async function act(cause: PendingCause): Promise<void> {
    advanceCause(cause, 'acting');
    try {
      await cause.reaction.act(cause.event, signal);
    } catch (error) {
      failed(cause, error);
      return;
    }
    // Its effect may have been read during the act.
    if (cause.state === 'settled') return;
    advanceCause(cause, 'acted');
    if (crowded || cause.mayBeSkipped) settle(cause);
    else lanes.remove(cause);
  }

  function failed(cause: PendingCause, error: unknown): void {
    if (cause.state !== 'settled') advanceCause(cause, 'waiting');
    // An act that was aborted has not failed.
    if (signal.aborted) return;
    cause.failures += 1;
    cause.dueMs = clock.nowMs() + backOffMs(cause.failures, firstRetryMs, mostRetryMs);
    if (error instanceof NotYetError) return;
    failures += 1;
    onTrouble(new Error(`Reaction ${cause.reaction.name} to ${cause.id} failed.`, { cause: error }));
  }

  /**
   * Too many causes are pending to read on, so their effects cannot be seen. Until there is room, an act that returned
   * counts as its effect, and nothing waits for its grace period or for the end of the log. It may act although the effect
   * comes later in the log, which is harmless.
   */
  async function thinOut(): Promise<void> {
    crowded = true;
    for (const cause of [...pending.values()]) if (cause.state === 'acted') settle(cause);
    lanes.reschedule();
    if (pending.size > mostPending && !signal.aborted) {
      await new Promise<void>((resolve) => {
        makeRoom = resolve;
      });
    }
    makeRoom = () => undefined;
    crowded = false;
    // What was made due early waits for its own time again.
    lanes.reschedule();
  }
}

/** Takes one event after the other. Where it could wait in between, each would leave garbage, and nearly all are nothing to anybody. */
function firstFailure(events: readonly RecordedEvent[], take: (event: RecordedEvent) => void) {
  let tried = 0;
  for (const event of events) {
    tried += 1;
    try {
      take(event);
    } catch (error) {
      return { event, error, rest: events.slice(tried) };
    }
  }
  return undefined;
}

const idOf = (reaction: Reaction, key: string) => `${reaction.name} ${key}`;

/** Where reading is in the log. A checkpoint is made only when it is asked for: most events are nobody's cause. */
function placeReached(begun: Checkpoint | undefined) {
  let last: RecordedEvent | undefined;
  let ordinal = begun?.ordinal ?? 0;
  return {
    took(event: RecordedEvent): void {
      last = event;
      ordinal += 1;
    },
    checkpoint: (): Checkpoint | undefined => (last ? checkpointAt(last, ordinal) : begun),
  };
}
