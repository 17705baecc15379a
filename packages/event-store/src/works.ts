/**
 * A work is one call of the command handler on its way through its stream's lane. It is in exactly one of four states, so
 * an answered work is never carried out, and a waiting work is never answered by an append that it is not part of.
 */
import { type Decision, type StreamType, transitionsOf } from '@coffer/kernel';
import type { CommandContext, Settled } from './commands.ts';

/**
 * `queued`: waits, nothing is decided. `deciding`: in hand, and nothing of it can be in the log. `appending`: its events
 * are on their way to the log. `answered`: its caller was told, once.
 */
export type WorkState = 'queued' | 'deciding' | 'appending' | 'answered';

export const advance = transitionsOf<WorkState>('a work', {
  queued: ['deciding'],
  // Back to the queue when it does not fit into the append of the works before it.
  deciding: ['queued', 'appending', 'answered'],
  // Decided again when nothing of the append was written.
  appending: ['deciding', 'answered'],
  answered: [],
});

/** A call: its commands, decided one after the other and appended together. */
export interface Work {
  readonly decides: readonly ((state: unknown) => Decision<unknown, unknown>)[];
  readonly context: CommandContext | undefined;
  readonly deadlineMs: number;
  readonly resolve: (results: readonly Settled<unknown>[]) => void;
  readonly reject: (reason: unknown) => void;
  state: WorkState;
}

export type AnyStreamType = StreamType<unknown, unknown, unknown, unknown>;

/**
 * Lanes hold streams of every type side by side. A stream's name begins with its type's category, so all works of one
 * lane have one type, and each caller gets back what that type made.
 */
export function anyTypeOf<Command, Event, State, Answer>(
  type: StreamType<Command, Event, State, Answer>,
): AnyStreamType {
  return type as unknown as AnyStreamType;
}

/** The works of one stream, one append of them at a time. */
export interface Lane {
  readonly type: AnyStreamType;
  readonly stream: string;
  readonly queue: Work[];
}

/** Taken from the queue, and its caller still waits. */
export function isInHand({ state }: Work): boolean {
  return state === 'deciding' || state === 'appending';
}

/** The most commands decided for one append; a call with several is never split. */
const MAX_COMMANDS_PER_APPEND = 128;

/** Takes from the queue as many waiting works as one append should carry, in order: they are now in hand. */
export function takeWorks(queue: Work[]): readonly Work[] {
  let commands = 0;
  let count = 0;
  while (count < queue.length) {
    commands += queue[count]?.decides.length ?? 0;
    if (count > 0 && commands > MAX_COMMANDS_PER_APPEND) break;
    count += 1;
  }
  const works = queue.splice(0, count);
  for (const work of works) advance(work, 'deciding');
  return works;
}

/** Works that do not fit into this append are first in the next one. */
export function putBack(queue: Work[], works: readonly Work[]): void {
  for (const work of works) advance(work, 'queued');
  queue.unshift(...works);
}
