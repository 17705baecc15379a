/**
 * Appends to one stream that wait at the same time go to the database as one, where that comes to the same as one after
 * the other. A group that is not written as one is no answer to any of its appends: each is then sent alone.
 */
import type { AppendRequest, ExpectedRevision } from '../port.ts';

interface Waiting {
  readonly request: AppendRequest;
}

/** At least one append, all to one stream. */
export interface Combined<Entry extends Waiting> {
  readonly stream: string;
  readonly expectedRevision: ExpectedRevision;
  readonly expectedLastEventId: string | undefined;
  readonly entries: Entry[];
  /** The revision behind the last event, as the first append expects it; of words it is not known. */
  nextRevision: number | undefined;
  /** The ids of all events, in small letters, and that of the last one. */
  readonly ids: Set<string>;
  lastEventId: string | undefined;
  /** Ids by which the appends are known, where the database has to find that none of them stands there. */
  freshIds(): readonly string[];
}

export function combinedOf<Entry extends Waiting>(entry: Entry): Combined<Entry> {
  const { stream, expectedRevision, expectedLastEventId } = entry.request;
  const entries: Entry[] = [];
  const group: Combined<Entry> = {
    stream,
    expectedRevision,
    expectedLastEventId,
    entries,
    nextRevision: lastRevisionOf(expectedRevision),
    ids: new Set(),
    lastEventId: undefined,
    // Behind an exact revision ids mean nothing, and one append alone is decided by the rules for it.
    freshIds: () =>
      isExact(expectedRevision) || entries.length === 1
        ? []
        : entries.flatMap(({ request }) => request.events.slice(0, 1).map(({ id }) => id)),
  };
  join(group, entry);
  return group;
}

export function join<Entry extends Waiting>(group: Combined<Entry>, entry: Entry): void {
  const { events } = entry.request;
  group.entries.push(entry);
  if (group.nextRevision !== undefined) group.nextRevision += events.length;
  for (const { id } of events) {
    group.lastEventId = id.toLowerCase();
    group.ids.add(group.lastEventId);
  }
}

/** Whether the append, sent alone behind the written group, would be written as well for all that is known here. */
export function canJoin<Entry extends Waiting>(group: Combined<Entry>, { request }: Entry): boolean {
  const { expectedRevision, expectedLastEventId, events } = request;
  if (isExact(expectedRevision)) {
    return (
      expectedRevision === group.nextRevision &&
      (expectedLastEventId === undefined || expectedLastEventId.toLowerCase() === group.lastEventId)
    );
  }
  // A retry is told by its first id.
  return !isExact(group.expectedRevision) && !group.ids.has(`${events[0]?.id.toLowerCase()}`);
}

const isExact = (expected: ExpectedRevision): boolean => expected !== 'any' && expected !== 'streamExists';

function lastRevisionOf(expected: ExpectedRevision): number | undefined {
  if (expected === 'noStream') return -1;
  return typeof expected === 'number' ? expected : undefined;
}
