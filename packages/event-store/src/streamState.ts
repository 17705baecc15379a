/** The state of a stream as this process has folded it. */
import type { AnyStreamType } from './works.ts';

/** The state folded up to an event. */
export interface StreamState {
  readonly stream: string;
  readonly type: AnyStreamType;
  readonly state: unknown;
  /** Revision of the last event folded; -1 when the stream has none. */
  readonly revision: number;
  /** Id of that event, by which a rewritten stream is detected. */
  readonly lastEventId: string | undefined;
  readonly bytes: number;
  readonly record: StreamRecord;
}

/** Shared by the states that follow one another. */
interface StreamRecord {
  /** Revision of the stream's snapshot; -1 when none is known. */
  savedRevision: number;
  /** How often the state may still be passed over when room is needed. */
  passes: number;
}

export function stateOf(
  { type, stream, record }: Pick<StreamState, 'type' | 'stream' | 'record'>,
  state: unknown,
  revision: number,
  lastEventId: string | undefined,
): StreamState {
  return { stream, type, state, revision, lastEventId, bytes: type.sizeOf(state) + stream.length, record };
}
