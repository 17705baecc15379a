/**
 * The causes whose effect has not appeared yet, in the order of the log, each in one of these states:
 *
 *  waiting   for its grace period, for earlier causes of its target, or for a retry
 *  acting    its act has begun
 *  acted     its act has returned; its effect has not been read yet
 *  settled   its effect was read, or taken as read: nothing is owed any longer
 */
import type { RecordedEvent } from '@coffer/event-store';
import { transitionsOf } from '@coffer/kernel';
import type { Checkpoint } from './consumersTable.ts';
import type { Reaction } from './reaction.ts';

type CauseState = 'waiting' | 'acting' | 'acted' | 'settled';

export interface PendingCause {
  readonly id: string;
  readonly reaction: Reaction;
  readonly target: string;
  readonly event: RecordedEvent;
  /** The place just before the event. */
  readonly before: Checkpoint | undefined;
  /** The earliest time to act on it. */
  dueMs: number;
  /** How often an act ended without the effect. */
  failures: number;
  state: CauseState;
  /** An event after it was skipped, which may have been its effect: its act counts as its effect. */
  mayBeSkipped: boolean;
}

export const waitingCause = (
  of: Omit<PendingCause, 'failures' | 'state' | 'mayBeSkipped'>,
): PendingCause => ({ ...of, failures: 0, state: 'waiting', mayBeSkipped: false });

export const advanceCause = transitionsOf<CauseState>('a cause', {
  // Others may bring the effect about, before the act or during it.
  waiting: ['acting', 'settled'],
  acting: ['waiting', 'acted', 'settled'],
  acted: ['settled'],
  settled: [],
});

export interface PendingFigures {
  readonly count: number;
  /** Since the oldest pending cause was recorded; 0 when there is none. */
  readonly oldestSeconds: number;
  /** Failed acts since the lease was taken. */
  readonly failures: number;
}
