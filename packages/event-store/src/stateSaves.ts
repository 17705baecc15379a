/** States to be saved, of which those from an outline are read first: behind the commands, and as far as there is room. */
import type { SnapshotQueue } from './snapshotQueue.ts';
import { isWhole } from './stateOutlines.ts';
import type { StreamState } from './streamState.ts';
import type { WholeStates } from './wholeStates.ts';

export interface StateSavesOptions {
  readonly queue: SnapshotQueue;
  readonly wholes: Pick<WholeStates, 'wholeOf' | 'meanBytes'>;
  readonly onSnapshotError: (error: unknown) => void;
}

const MOST_READ_AT_A_TIME = 64;

export function createStateSaves({ queue, wholes, onSnapshotError }: StateSavesOptions) {
  const reading = new Set<string>();

  /** What is read should not find the queue full. */
  const hasRoom = (): boolean =>
    reading.size < MOST_READ_AT_A_TIME &&
    queue.hasRoomFor(wholes.meanBytes(), reading.size * wholes.meanBytes());

  async function readAndSave(outlined: StreamState): Promise<void> {
    const { stream, record } = outlined;
    reading.add(stream);
    try {
      const { state } = await wholes.wholeOf(outlined);
      if (reading.has(stream)) queue.offer({ ...state, record });
    } catch (error) {
      if (reading.has(stream)) onSnapshotError(error);
    } finally {
      reading.delete(stream);
    }
  }

  return {
    /** Where there is no room, the next state of the stream is another occasion. */
    save(state: StreamState): void {
      if (isWhole(state)) queue.offer(state);
      else if (!reading.has(state.stream) && hasRoom()) void readAndSave(state);
    },
    isOnItsWay: (stream: string): boolean => reading.has(stream) || queue.find(stream) !== undefined,
    /** What is being read of it is not wanted. */
    cancel(stream: string): void {
      reading.delete(stream);
    },
    cancelAll(): void {
      reading.clear();
    },
    get reading() {
      return reading.size;
    },
  };
}
