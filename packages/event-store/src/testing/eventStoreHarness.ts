/** What a spec needs of an event store to hold it to the contract. */
import type { EventStore, Position } from '../port.ts';

export interface EventStoreHarness {
  readonly store: EventStore;
  /** Another store on the same log, like that of another process. */
  another(options?: { readonly maxQueuedAppends?: number }): EventStore;
  /** A well-formed position that the log has not reached. */
  readonly positionBeyondEnd: Position;
  /** True for a store that accepts only JSON as `JSON.stringify` writes it. */
  readonly refusesOtherJsonTexts?: boolean;
  /** False for a server that answers a repeat like the first append: of two at once, both may be told they were first. */
  readonly tellsSimultaneousRetriesApart?: boolean;
  /** Truncates the log to its first events, as restoring an old backup does. */
  rewindTo(length: number): Promise<void>;
  /** Closes every store it opened and removes the log. */
  close(): Promise<void>;
}

export interface ContractOptions {
  /** False for the log of an existing server: it is not empty at first, and cannot be rewound. */
  readonly ownsItsLog?: boolean;
}

export type MakeHarness = () => Promise<EventStoreHarness>;
