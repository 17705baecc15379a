/** Where the next event of the log and the next of the chain are, when they differ. */
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import type { Expected, ExpectedEntries } from './expectedEntries.ts';
import type { Numbered } from './logCheck.ts';

/** How far ahead to look for an event by its id, in the log and in the chain. */
export const LOOK_AHEAD = 1_000;

export type Misplacement =
  /** The expected event is this many places further on in the log, and the found one in the chain. */
  | { readonly kind: 'moved'; readonly inLog: number; readonly inChain: number }
  /** The expected event, given here, has already been passed. */
  | { readonly kind: 'passed'; readonly elsewhere: RecordedEvent }
  /** The found event belongs nowhere near. */
  | { readonly kind: 'inserted' }
  /** The found event is expected further on, or the expected one is nowhere. */
  | { readonly kind: 'missing' };

export async function misplacementOf(
  store: Pick<EventStore, 'readStream' | 'comparePositions'>,
  waiting: readonly Numbered[],
  chain: ExpectedEntries,
  next: Expected,
  found: Numbered,
): Promise<Misplacement> {
  const inLog = waiting.findIndex(({ event }) => event.id === next.id);
  const inChain = await chain.find(found.event.id, LOOK_AHEAD);
  if (inLog > 0 && inChain > 0) return { kind: 'moved', inLog, inChain };
  if (inLog > 0) return { kind: 'inserted' };
  if (inChain > 0) return { kind: 'missing' };

  // Neither is near. The expected event, if it exists, is found by its place in its stream.
  const elsewhere = await eventAt(store, next);
  if (elsewhere?.id !== next.id) return { kind: 'missing' };
  const isFurtherOn = store.comparePositions(elsewhere.position, found.event.position) > 0;
  return isFurtherOn ? { kind: 'inserted' } : { kind: 'passed', elsewhere };
}

async function eventAt(
  store: Pick<EventStore, 'readStream'>,
  { stream, revision }: Expected,
): Promise<RecordedEvent | undefined> {
  for await (const [event] of store.readStream(stream, { fromRevision: revision, limit: 1 })) return event;
  return undefined;
}
