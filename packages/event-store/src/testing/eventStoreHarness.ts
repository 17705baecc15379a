/** What a spec needs of an event store to hold it to the contract. */
import type { EventStore, Position } from '../port.ts';

export interface EventStoreHarness {
  readonly store: EventStore;
  /** Another store on the same log, as another process has it. */
  another(options?: { readonly maxQueuedAppends?: number }): EventStore;
  /** A well-formed position that the log has not reached. */
  readonly positionBeyondEnd: Position;
  /** True for a store that takes no JSON but what `JSON.stringify` writes. */
  readonly refusesOtherJsonTexts?: boolean;
  /** False for a server that answers a repeat as it answers the first: two at once may both be told to be it. */
  readonly tellsSimultaneousRetriesApart?: boolean;
  /** Puts the log back to its first so many events, as the restore of an old backup does. */
  rewindTo(length: number): Promise<void>;
  /** Closes every store it gave and removes the log. */
  close(): Promise<void>;
}

export interface ContractOptions {
  /** False for the log of a server that was there before: it is not empty at first, and cannot be put back. */
  readonly ownsItsLog?: boolean;
}

export type MakeHarness = () => Promise<EventStoreHarness>;
