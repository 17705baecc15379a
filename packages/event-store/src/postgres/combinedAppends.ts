/**
 * Simultaneous appends to one stream go to the database as one, where the result is the same as one after the other. A
 * group that is not written as one decides none of its appends: each is then sent alone.
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
  /** The revision after the last event, as the first append expects it; unknown if it expects one of the words. */
  nextRevision: number | undefined;
  /** In lower case: the ids of all events, where no exact revision is expected, and the last one. */
  readonly ids: Set<string>;
  lastEventId: string | undefined;
  /** The ids that identify the appends, where the database must check that none of them is in the stream. */
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
    // With an exact revision ids mean nothing, and a single append is decided by its own rules.
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
  group.lastEventId = events.at(-1)?.id.toLowerCase();
  if (isExact(group.expectedRevision)) return;
  for (const { id } of events) group.ids.add(id.toLowerCase());
}

/** Whether the append would also be written if it were sent alone after the group, as far as is known here. */
export function canJoin<Entry extends Waiting>(group: Combined<Entry>, { request }: Entry): boolean {
  const { expectedRevision, expectedLastEventId, events } = request;
  if (isExact(expectedRevision)) {
    return (
      expectedRevision === group.nextRevision &&
      (expectedLastEventId === undefined || expectedLastEventId.toLowerCase() === group.lastEventId)
    );
  }
  // A retry is identified by its first id.
  return !isExact(group.expectedRevision) && !group.ids.has(`${events[0]?.id.toLowerCase()}`);
}

const isExact = (expected: ExpectedRevision): boolean => expected !== 'any' && expected !== 'streamExists';

function lastRevisionOf(expected: ExpectedRevision): number | undefined {
  if (expected === 'noStream') return -1;
  return typeof expected === 'number' ? expected : undefined;
}
