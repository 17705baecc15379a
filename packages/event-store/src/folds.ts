/** Folds streams from the log; streams that are needed at the same time are read together. */
import { createBatchingLookup, fold } from '@coffer/kernel';
import type { EventStore, RecordedEvent, StreamTail } from './port.ts';
import { type StreamState, stateOf } from './streamState.ts';
import type { Lane } from './works.ts';

export type Folded = Pick<Lane, 'type' | 'stream'>;

/** Longer tails are read on page by page. */
const MAX_EVENTS_PER_TAIL = 64;
/** Behind a state that is known: short, if not a single event. */
const MAX_TAILS_PER_QUESTION = 128;
const MAX_WHOLE_STREAMS_PER_QUESTION = 32;

export function createFolds(store: Pick<EventStore, 'readStream' | 'readTails'>) {
  const findAll = (tails: readonly StreamTail[]) => store.readTails(tails, MAX_EVENTS_PER_TAIL);
  const tailFrom = createBatchingLookup<StreamTail, readonly RecordedEvent[]>({
    findAll,
    maximumKeys: MAX_TAILS_PER_QUESTION,
  });
  const beginningOf = createBatchingLookup<StreamTail, readonly RecordedEvent[]>({
    findAll,
    maximumKeys: MAX_WHOLE_STREAMS_PER_QUESTION,
  });

  return { foldFrom, foldAll };

  /** Undefined when the stream no longer holds the last event folded: it was rewritten. */
  async function foldFrom(known: StreamState): Promise<StreamState | undefined> {
    const { stream, revision, lastEventId } = known;
    const [first, ...unseen] = await tailFrom({ stream, fromRevision: revision });
    return first && first.id === lastEventId ? foldOn(known, unseen, MAX_EVENTS_PER_TAIL - 1) : undefined;
  }

  async function foldAll(of: Folded): Promise<StreamState> {
    const events = await beginningOf({ stream: of.stream, fromRevision: 0 });
    return foldOn(initialStateOf(of), events, MAX_EVENTS_PER_TAIL);
  }

  /** There is more to read where the next events are as many as were asked for. */
  async function foldOn(
    from: StreamState,
    next: readonly RecordedEvent[],
    asked: number,
  ): Promise<StreamState> {
    let state = folded(from, next);
    if (next.length < asked) return state;
    const { stream, revision } = state;
    for await (const page of store.readStream(stream, { fromRevision: revision + 1 })) {
      state = folded(state, page);
    }
    return state;
  }
}

function folded(from: StreamState, events: readonly RecordedEvent[]): StreamState {
  const last = events.at(-1);
  if (!last) return from;
  return stateOf(from, fold(from.type, from.state, events), from.revision + events.length, last.id);
}

const initialStateOf = (of: Folded): StreamState =>
  stateOf({ ...of, record: { savedRevision: -1, passes: 0 } }, of.type.initialState, -1, undefined);
