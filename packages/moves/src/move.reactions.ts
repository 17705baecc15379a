/** Brings every move to its end: from `MoveRequested` to `MoveConfirmed` or `MoveFailed`. */
import type { Reaction, ReactorOptions } from '@coffer/consumers';
import type { Environment } from '@coffer/kernel';
import { move } from './domain/move.ts';
import { parseMoveStream } from './domain/moveIds.ts';
import type { MoveDriver } from './driver.ts';

/**
 * Nothing else carries moves out, so fresh causes need no grace period; and each move in flight mostly waits for its
 * chain, so thousands run at once. One that waits with nothing in flight is looked at once a minute.
 */
export const MOVE_REACTOR = {
  graceMs: 0,
  parallelTargets: 5_000,
  mostPending: 100_000,
  firstRetryMs: 500,
  mostRetryMs: 60_000,
} satisfies ReactorOptions;

/** Each environment has its own: what happens in one never keeps the other waiting. */
export function carriesMoves(driver: Pick<MoveDriver, 'drive'>, environment: Environment): Reaction {
  const isOurs = (stream: string): boolean => parseMoveStream(stream)?.environment === environment;
  return {
    name: 'carryMove',
    causeOf(event) {
      if (event.type !== 'MoveRequested' || !isOurs(event.stream)) return undefined;
      // A request that this release cannot read stops the consumer here, and not on each attempt to carry it out.
      move.codec.decode(event);
      return { key: event.stream, target: event.stream };
    },
    effectOf(event) {
      const isEnd = event.type === 'MoveConfirmed' || event.type === 'MoveFailed';
      return isEnd && isOurs(event.stream) ? event.stream : undefined;
    },
    act: (cause, signal) => driver.drive(cause, signal),
  };
}
