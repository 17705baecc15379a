/** Brings every move to its end: from `MoveRequested` to `MoveConfirmed` or `MoveFailed`. */
import type { Reaction, ReactorOptions } from '@coffer/consumers';
import { move } from './domain/move.ts';
import { parseMoveStream } from './domain/moveIds.ts';
import type { MoveDriver } from './driver.ts';

/**
 * Nothing else carries moves out, so fresh causes need no grace period; and each move mostly waits for its chain, so
 * thousands run at once.
 */
export const MOVE_REACTOR: ReactorOptions = { graceMs: 0, parallelTargets: 5_000, mostPending: 20_000 };

export function carriesMoves(driver: Pick<MoveDriver, 'drive'>): Reaction {
  return {
    name: 'carryMove',
    causeOf(event) {
      if (event.type !== 'MoveRequested' || !parseMoveStream(event.stream)) return undefined;
      // A request that this release cannot read stops the consumer here, and not on each attempt to carry it out.
      move.codec.decode(event);
      return { key: event.stream, target: event.stream };
    },
    effectOf(event) {
      const isEnd = event.type === 'MoveConfirmed' || event.type === 'MoveFailed';
      return isEnd && parseMoveStream(event.stream) ? event.stream : undefined;
    },
    act: (cause, signal) => driver.drive(cause, signal),
  };
}
