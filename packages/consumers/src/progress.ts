/** A consumer's progress, for metrics, readiness and the operator. */
import type { EventStore, LogPlace, Position, RecordedEvent } from '@coffer/event-store';
import { transitionsOf } from '@coffer/kernel';
import { type MonotonicClock, monotonicClock } from './monotonicClock.ts';
import type { PendingFigures } from './pendingCauses.ts';

/** `standby`: another runner has the lease, or the database is away. `stopped`: for good, see `reason`. */
export type ConsumerState = 'standby' | 'catchingUp' | 'live' | 'stopped';

const advance = transitionsOf<ConsumerState>('a consumer', {
  standby: ['standby', 'catchingUp', 'stopped'],
  catchingUp: ['live', 'standby'],
  // The end of the log is reached repeatedly.
  live: ['live', 'standby'],
  // Resumes once told to skip the event at which it stopped.
  stopped: ['standby', 'catchingUp', 'stopped'],
});

export interface ConsumerStatus {
  readonly name: string;
  readonly state: ConsumerState;
  /** The position of the last event taken (on standby: the checkpoint); undefined at the start of the log. */
  readonly position: Position | undefined;
  /** The end of the log as it was when this runner started has been reached, here or by the lease's holder. */
  readonly caughtUpOnce: boolean;
  /** Undefined when the store cannot count, or is unreachable. */
  readonly lagEvents: number | undefined;
  /** Undefined before anything was read. */
  readonly lagSeconds: number | undefined;
  /** Why it stopped, or its current problem. */
  readonly reason: string | undefined;
  /** Only for a consumer that reacts, and only while it holds the lease. */
  readonly pending: PendingFigures | undefined;
}

type Log = Pick<EventStore, 'comparePositions' | 'distance'>;

/** Whether a checkpoint is at or past a place in the log; the place of an empty log is always reached. */
export function hasReached(
  log: Pick<EventStore, 'comparePositions'>,
  checkpoint: Pick<LogPlace, 'position'> | undefined,
  target: LogPlace | undefined,
): boolean {
  if (!target) return true;
  return checkpoint !== undefined && log.comparePositions(checkpoint.position, target.position) >= 0;
}

/** How many events the checkpoint is behind a place in the log; undefined where the store cannot count. */
export function lagOf(
  log: Log,
  checkpoint: Pick<LogPlace, 'position'> | undefined,
  target: LogPlace | undefined,
): number | undefined {
  if (!target || hasReached(log, checkpoint, target)) return 0;
  return log.distance(checkpoint?.position, target.position);
}

export type Progress = ReturnType<typeof createProgress>;

/** Whoever has stood still for longer, short of the end, is not live; nor is an end known that was last seen before. */
const LIVE_WITHIN_MS = 10_000;

export function createProgress(
  name: string,
  log: Log,
  { nowMs }: Pick<MonotonicClock, 'nowMs'> = monotonicClock,
) {
  const consumer: { state: ConsumerState } = { state: 'standby' };
  let position: Position | undefined;
  let lastRecordedAt: Date | undefined;
  let caughtUpOnce = false;
  let reason: string | undefined;
  /** Undefined: not known. An empty log is known to have no head. */
  let head: { readonly place: LogPlace | undefined; readonly seenAtMs: number } | undefined;
  let atHeadMs: number | undefined;
  let movedAtMs = 0;

  const isRecent = (atMs: number) => nowMs() - atMs <= LIVE_WITHIN_MS;
  const reachedHead = () => {
    atHeadMs = nowMs();
    movedAtMs = atHeadMs;
  };

  const lagEvents = () => (head && isRecent(head.seenAtMs) ? lagTo(head.place) : undefined);

  return {
    reading(from: LogPlace | undefined): void {
      advance(consumer, 'catchingUp');
      position = from?.position;
      reason = undefined;
    },
    took(last: RecordedEvent): void {
      position = last.position;
      lastRecordedAt = last.recordedAt;
      movedAtMs = nowMs();
      reason = undefined;
    },
    caughtUp(): void {
      advance(consumer, 'live');
      caughtUpOnce = true;
      reachedHead();
    },
    standingBy(checkpoint: LogPlace | undefined, headAtStart: LogPlace | undefined): void {
      advance(consumer, 'standby');
      position = checkpoint?.position;
      reason = undefined;
      caughtUpOnce ||= hasReached(log, checkpoint, headAtStart);
    },
    troubled(message: string): void {
      reason = message;
    },
    interrupted(): void {
      advance(consumer, 'standby');
    },
    stopped(why: string | undefined): void {
      advance(consumer, 'stopped');
      reason = why;
    },
    sawHead(place: LogPlace | undefined): void {
      head = { place, seenAtMs: nowMs() };
      if (lagTo(place) === 0) reachedHead();
    },
    lostSightOfHead(): void {
      head = undefined;
    },
    /** One that does not read is not: its lag is nothing that it could shorten. */
    isBehindBy(ms: number): boolean {
      const isReading = consumer.state === 'live' || consumer.state === 'catchingUp';
      return isReading && (lagSeconds(lagEvents()) ?? 0) * 1_000 > ms;
    },
    status(pending: PendingFigures | undefined): ConsumerStatus {
      const events = lagEvents();
      return {
        name,
        state: consumer.state === 'live' && !isRecent(movedAtMs) ? 'catchingUp' : consumer.state,
        position,
        caughtUpOnce,
        lagEvents: events,
        lagSeconds: lagSeconds(events),
        reason,
        pending,
      };
    },
  };

  function lagTo(place: LogPlace | undefined): number | undefined {
    return lagOf(log, position === undefined ? undefined : { position }, place);
  }

  /** The age of the last event taken or the time since the end was last reached, whichever is shorter. */
  function lagSeconds(events: number | undefined): number | undefined {
    if (events === 0) return 0;
    const ages = [
      lastRecordedAt && Date.now() - lastRecordedAt.getTime(),
      atHeadMs === undefined ? undefined : nowMs() - atHeadMs,
    ].filter((age) => age !== undefined);
    return ages.length === 0 ? undefined : Math.max(0, Math.min(...ages)) / 1000;
  }
}
