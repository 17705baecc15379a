/** The requests to the command handler, and its answers. */
import type { EventMetadata, StreamType } from '@coffer/kernel';
import type { StreamEvent } from './port.ts';
import type { StatesStats } from './stateStats.ts';

export interface Outcome<Answer> {
  readonly answer: Answer;
  /** The answer repeats that of an earlier write. */
  readonly replayed: boolean;
  /** What this command appended; empty when nothing new happened. */
  readonly appended: readonly StreamEvent[];
}

export type Settled<Answer> =
  | ({ readonly status: 'decided' } & Outcome<Answer>)
  | { readonly status: 'refused'; readonly reason: unknown };

export interface CommandContext extends Deadline {
  readonly metadata: EventMetadata;
  /** For events that follow from a cause: the same ids on every path. Default: fresh ones. */
  readonly eventIds?: EventIds;
}

/** What the ids of events are derived from; plain data, as another thread may decide the command. */
export interface EventIds {
  readonly parts: readonly string[];
  /** The number of the first event among those that follow from the same cause. */
  readonly first: number;
  /** The stream, where the ids made of these parts are another stream's. */
  readonly within?: string;
}

export interface Deadline {
  /** After this time (milliseconds of `performance.now()`) an unknown outcome is reported as such. */
  readonly deadlineMs: number;
}

export interface LoadContext extends Deadline {
  /** The state may be from an outline: only its facts are read. */
  readonly outlineSuffices?: true;
}

interface HandlerStats extends StatesStats {
  readonly pending: number;
}

export interface CommandHandler {
  /** Decides one command on one stream. Throws the decider's `Rejection` or a store error. */
  execute<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    command: Command,
    context: CommandContext,
  ): Promise<Outcome<Answer>>;

  /** Decides the commands in order and appends all their events at once; one result per command. */
  executeAll<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    commands: readonly Command[],
    context: CommandContext,
  ): Promise<readonly Settled<Answer>[]>;

  /** The state of a stream, confirmed current. */
  load<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    context: LoadContext,
  ): Promise<State>;

  /** Drops every cached state because the log was rewritten. Does not disturb anything in flight. */
  forget(): void;

  /** Before the process ends, when no command is under way: snapshots spare the next one a fold of every stream. */
  saveStates(withinMs: number): Promise<void>;

  /** For metrics. */
  stats(): HandlerStats;
}
