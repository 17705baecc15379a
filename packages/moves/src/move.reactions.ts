/** What sees to it that every move comes to its end: from `MoveRequested` to `MoveConfirmed` or `MoveFailed`. */
import type { Reaction, ReactorOptions } from '@coffer/consumers';
import { move } from './domain/move.ts';
import { parseMoveStream } from './domain/moveIds.ts';
import type { MoveDriver } from './driver.ts';

/**
 * Nothing but this process carries moves out, so none is left to anybody for a while; and each is mostly waiting for
 * its chain, so thousands are carried at once.
 */
export const MOVE_REACTOR: ReactorOptions = { graceMs: 0, parallelTargets: 5_000, mostPending: 20_000 };

export function carriesMoves(driver: Pick<MoveDriver, 'drive'>): Reaction {
  return {
    name: 'carryMove',
    causeOf(event) {
      if (event.type !== 'MoveRequested' || !parseMoveStream(event.stream)) return undefined;
      // One that this release cannot read stops the process here, and not each time it is carried.
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
