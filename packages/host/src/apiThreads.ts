/** Several threads that serve the API at one port, each with contexts, caches and connections of its own. */
import type { ThreadPlace } from '@coffer/event-store';
import type { TakeToken } from '@coffer/http';

/** What one of them needs to act as a part of the whole. The first, of index 0, is the main thread. */
export interface ApiThreads {
  readonly place: ThreadPlace;
  /** Shared memory: requests being served, over all threads. */
  readonly requestsInFlight: Int32Array;
  /** Asks the first thread, which counts for all; undefined in the first. */
  readonly takeToken?: TakeToken;
}
