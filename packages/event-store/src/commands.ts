/** What the command handler is asked, and what it answers. */
import type { EventMetadata, StreamType } from '@coffer/kernel';
import type { StreamEvent } from './port.ts';

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
  /** Given where the event follows from a cause: the same ids on every path. Default: fresh ones. */
  readonly eventIdOf?: (index: number) => string;
}

export interface Deadline {
  /** Past this time (milliseconds of `performance.now()`) an unknown outcome is answered as such. */
  readonly deadlineMs: number;
}

export interface CommandHandler {
  /** Decides one command on one stream. Throws the decider's `Rejection` or a store error. */
  execute<Command, Event, State, Answer>(
    type: StreamType<Command, Event, State, Answer>,
    stream: string,
    command: Command,
    context: CommandContext,
  ): Promise<Outcome<Answer>>;

  /** Decides the commands in order and appends what they decide at once; one result per command. */
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
    context: Deadline,
  ): Promise<State>;

  /** Drops every cached state: the log is known to have been rewritten. Nothing in flight is disturbed. */
  forget(): void;

  /** For metrics. */
  stats(): { readonly pending: number; readonly cachedBytes: number; readonly cachedStreams: number };
}
