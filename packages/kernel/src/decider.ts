/**
 * The pure trio of an event-sourced stream. `decide` and `evolve` take everything as arguments: time,
 * ids and facts of other streams come in the command.
 */
import type { EventCodec, StoredEvent } from './eventCodec.ts';

export interface Decision<Event, Answer> {
  /** What happened; empty when nothing new did. */
  readonly events: readonly Event[];
  readonly answer: Answer;
  /**
   * True when the answer repeats that of a write that is already in the stream. Such an answer may be
   * given from cached state; every other answer without an event is first confirmed to be current.
   */
  readonly replayed?: boolean;
  /**
   * True for a replay that a later write can take back (a bet, by its rollback): it is confirmed current, too,
   * since another process may have taken it back.
   */
  readonly revocable?: boolean;
}

export interface Decider<Command, Event, State, Answer> {
  readonly initialState: State;
  /** Throws a `Rejection` when the rules refuse the command. */
  readonly decide: (state: State, command: Command) => Decision<Event, Answer>;
  /** Copies facts into the state; asserts, never rejects, so that old streams always fold. */
  readonly evolve: (state: State, event: Event) => State;
}

/** A decider with what its stream needs to be stored, cached and snapshotted. */
export interface StreamType<Command, Event, State, Answer> extends Decider<Command, Event, State, Answer> {
  readonly category: string;
  /** Raised when `evolve` or the state's shape changes: snapshots of another version are ignored. */
  readonly version: number;
  readonly codec: EventCodec<Event>;
  /** About how many bytes the state takes in memory. */
  readonly sizeOf: (state: State) => number;
  /**
   * Present when the streams can grow long enough that a cold fold hurts. `encode` gives plain JSON, in which an
   * array is a map or a set: its order says nothing.
   */
  readonly snapshot?: {
    readonly encode: (state: State) => unknown;
    readonly decode: (stored: unknown) => State;
  };
}

/** Folds stored events from the state given. */
export function fold<Event, State>(
  type: { readonly codec: EventCodec<Event>; readonly evolve: (state: State, event: Event) => State },
  state: State,
  stored: Iterable<StoredEvent>,
): State {
  let folded = state;
  for (const event of stored) folded = type.evolve(folded, type.codec.decode(event));
  return folded;
}
