/**
 * The pure trio of an event-sourced stream. `decide` and `evolve` take everything as arguments: time, ids and facts of
 * other streams arrive in the command.
 */
import type { EventCodec, StoredEvent } from './eventCodec.ts';

export interface Decision<Event, Answer> {
  /** What happened; empty when nothing new did. */
  readonly events: readonly Event[];
  readonly answer: Answer;
  /**
   * True when the answer repeats one whose write is already in the stream. Such an answer may come from cached state;
   * any other answer without an event is first confirmed to be current.
   */
  readonly replayed?: boolean;
  /**
   * True for a replay that a later write can undo (a bet, by its rollback). It is confirmed current as well, since
   * another process may have undone it.
   */
  readonly revocable?: boolean;
}

interface Decider<Command, Event, State, Answer> {
  readonly initialState: State;
  /** Throws a `Rejection` when the rules refuse the command. */
  readonly decide: (state: State, command: Command) => Decision<Event, Answer>;
  /** Copies facts into the state. Asserts, never rejects, so that old streams always fold. */
  readonly evolve: (state: State, event: Event) => State;
}

/** A decider, and what is needed to store, cache and snapshot its streams. */
export interface StreamType<Command, Event, State, Answer> extends Decider<Command, Event, State, Answer> {
  readonly category: string;
  /** Raised when `evolve` or the state's shape changes: snapshots of another version are ignored. */
  readonly version: number;
  readonly codec: EventCodec<Event>;
  /** Approximate size of the state in memory, in bytes. */
  readonly sizeOf: (state: State) => number;
  /** Whether the stream rests from now on, apart from late repeats: its state is the first to leave the cache. */
  readonly isEnded?: (state: State) => boolean;
  /**
   * Its commands and answers are plain data, apart from a refusal in a field of an answer: where several threads serve,
   * one of them decides for all.
   */
  readonly crossesThreads?: true;
  /** Present when streams can grow so long that a cold fold is slow. */
  readonly snapshot?: {
    readonly encode: (state: State) => EncodedState;
    /** Keeps none of the bytes: their memory is used again. */
    readonly decode: (stored: EncodedState) => State;
  };
  /** Present where most decisions need little of a large state: that much stays in memory when it leaves the cache. */
  readonly outlines?: Outlines<State>;
}

interface Outlines<State> {
  /** Undefined of a state from whose outline too little could be decided. */
  readonly of: (state: State) => Outline | undefined;
  /**
   * On what it gives, `decide` and `evolve` do what they would do on the whole state, or throw `WholeStateNeeded`. Other
   * readers get it only if they say that its facts suffice.
   */
  readonly restore: (outline: Outline) => State;
  readonly isWhole: (state: State) => boolean;
}

/** Two texts, since they are quick to keep in a few bytes, and to search. */
export interface Outline {
  /** Well-formed, as JSON is. */
  readonly facts: string;
  /** Of any UTF-16 units. */
  readonly marks: string;
}

/** Thrown by a decider that was given a state from an outline, and has to know what that left out. */
export class WholeStateNeeded extends Error {
  override readonly name = 'WholeStateNeeded';
}

/** A state as it is kept in a snapshot. */
export interface EncodedState {
  /** Plain JSON in which every array is a map or a set: its order means nothing. */
  readonly facts: unknown;
  /** What would be large as JSON. */
  readonly bytes?: Uint8Array;
}

export function fold<Event, State>(
  type: { readonly codec: EventCodec<Event>; readonly evolve: (state: State, event: Event) => State },
  state: State,
  stored: Iterable<StoredEvent>,
): State {
  let folded = state;
  for (const event of stored) folded = type.evolve(folded, type.codec.decode(event));
  return folded;
}
