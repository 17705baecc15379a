/**
 * The path of every write: state from the cache, decide, append at the revision decided on.
 * (Interface; the implementation follows.)
 */
import type { EventMetadata, StreamType } from '@coffer/kernel';
import type { RecordedEvent } from './port.ts';

export interface Outcome<Answer> {
  readonly answer: Answer;
  /** The answer repeats that of an earlier write. */
  readonly replayed: boolean;
}

export type Settled<Answer> =
  | ({ readonly status: 'decided' } & Outcome<Answer>)
  | { readonly status: 'refused'; readonly reason: unknown };

export interface CommandContext {
  readonly metadata: EventMetadata;
  /** Past this time (milliseconds of `performance.now()`) an unknown outcome is answered as such. */
  readonly deadlineMs: number;
  /** Given where the event follows from a cause: the same ids on every path. Default: fresh ones. */
  readonly eventIdOf?: (index: number) => string;
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
    context: Pick<CommandContext, 'deadlineMs'>,
  ): Promise<State>;
}

/** What is given to `load`'s fold for a page of a stream. */
export type RecordedPage = readonly RecordedEvent[];
