/** Several threads that serve the API at one port, each with contexts, caches and connections of its own. */
import type { CommandHandler, DividedCommands, ThreadPlace } from '@coffer/event-store';
import { divideCommands } from '@coffer/event-store';
import type { TakeToken } from '@coffer/http';
import type { StreamType } from '@coffer/kernel';
import type { SomeStream } from './context.ts';

/** What one of them needs to act as a part of the whole. The first, of index 0, is the main thread. */
export interface ApiThreads {
  readonly place: ThreadPlace;
  /** Shared memory: requests being served, over all threads. */
  readonly requestsInFlight: Int32Array;
  /** Asks the first thread, which counts for all; undefined in the first. */
  readonly takeToken?: TakeToken;
}

/** Commands on streams that cross threads go to the one thread that decides on them. */
export function dividedAmong(
  { place }: Pick<ApiThreads, 'place'>,
  own: CommandHandler,
  streams: readonly SomeStream[],
): DividedCommands {
  const types = new Map<string, StreamType<unknown, unknown, unknown, unknown>>();
  for (const stream of streams) {
    stream((type) => {
      // Its commands come from the same contexts in another thread, so they are what it takes.
      if (type.crossesThreads)
        types.set(type.category, type as unknown as StreamType<unknown, unknown, unknown, unknown>);
    });
  }
  return divideCommands(own, types, place);
}
