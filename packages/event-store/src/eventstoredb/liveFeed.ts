/** One subscription of the client to all streams, read in batches. */
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
  /** How far the server has scanned since the last call, once everything up to there has been taken. */
  takeCheckpoint(): Position | undefined;
  /** Ends the call. Later errors are ignored. */
  close(): void;
}

/** The server reports how far it has scanned after this many windows of 32 events. */
const CHECKPOINT_INTERVAL = 8;
/** The server's own streams begin with `$`: this filter keeps it from sending them. */
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
        // Nobody would catch an error here, so it only takes note, which cannot throw.
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
      // A checkpoint from before these items is out of date.
      if (items.length > 0) checkpoint = undefined;
      return items;
    },
    takeCheckpoint() {
      const taken = checkpoint;
      checkpoint = undefined;
      return taken;
    },
    close() {
      // The call may never have been made.
      subscribed.unsubscribe().catch(() => undefined);
    },
  };
}
