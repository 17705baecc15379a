/** One subscription of the client to all streams, taken from in batches. */
import {
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import type { Position } from '../port.ts';
import { createInlet, type Inlet } from './inlet.ts';
import { positionOf, wirePosition } from './wire.ts';

export interface LiveFeed extends Inlet<AllStreamResolvedEvent> {
  isConfirmed(): boolean;
  /** How far the server has looked since this was asked last, once everything up to there has been taken. */
  takeCheckpoint(): Position | undefined;
  /** Ends the call. Errors that come after it are nobody's. */
  close(): void;
}

/** The server says how far it has looked after so many times its window, which is 32 events. */
const CHECKPOINT_INTERVAL = 8;
/** The streams that the server keeps for itself begin with `$`: it does not even send them. */
const OURS = '^[^$]';

export function openLiveFeed(
  client: EventStoreDBClient,
  after: Position | undefined,
  bufferSize: number,
): LiveFeed {
  let isConfirmed = false;
  let checkpoint: Position | undefined;
  const subscribed = client.subscribeToAll(
    {
      fromPosition: after === undefined ? START : wirePosition(after),
      filter: streamNameFilter({
        regex: OURS,
        checkpointInterval: CHECKPOINT_INTERVAL,
        // Whatever this throws nobody catches; so it only takes note, and nothing in it can throw.
        checkpointReached: (_subscription, position) => {
          if (subscribed.readableLength > 0) return;
          checkpoint = positionOf(position);
          inlet.wake();
        },
      }),
      requiresLeader: true,
    },
    { highWaterMark: bufferSize },
  );
  const inlet = createInlet<AllStreamResolvedEvent>(subscribed);
  subscribed.once('confirmation', () => {
    isConfirmed = true;
    inlet.wake();
  });

  return {
    ...inlet,
    isConfirmed: () => isConfirmed,
    async take(limit) {
      const items = await inlet.take(limit);
      // What was looked at before these came is no news any more.
      if (items.length > 0) checkpoint = undefined;
      return items;
    },
    takeCheckpoint() {
      const taken = checkpoint;
      checkpoint = undefined;
      return taken;
    },
    close() {
      // There may never have been a call to end.
      subscribed.unsubscribe().catch(() => undefined);
    },
  };
}
