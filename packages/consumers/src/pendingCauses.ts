/**
 * The causes whose effect has not appeared yet, in the order of the log, and what each of them is at.
 *
 *  waiting   for its grace, for the causes of its target before it, or to be tried again
 *  acting    its act has begun
 *  acted     its act has returned; its effect is still to be read
 *  settled   its effect was read, or taken for read: nothing is owed any more
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
  /** When it is to be acted on, at the earliest. */
  dueMs: number;
  failures: number;
  state: CauseState;
}

export const advanceCause = transitionsOf<CauseState>('a cause', {
  // The effect may come about by others, before the act and during it.
  waiting: ['acting', 'settled'],
  acting: ['waiting', 'acted', 'settled'],
  acted: ['settled'],
  settled: [],
});

export interface PendingFigures {
  readonly count: number;
  /** Since the oldest pending cause was recorded; 0 when there is none. */
  readonly oldestSeconds: number;
  /** Acts that failed, since the lease was taken. */
  readonly failures: number;
}
