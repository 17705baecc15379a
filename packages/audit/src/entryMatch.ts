/** An event of the log next to the chain entry that should be its own. */
import type { RecordedEvent } from '@coffer/event-store';
import { entryHash, type Ordinal } from './chain.ts';
import { isHashOf, ofChain, ofEntry } from './chainFaults.ts';
import type { Expected, TakenEntry } from './expectedEntries.ts';
import type { Fault, FaultList } from './faults.ts';
import type { Numbered } from './logCheck.ts';

/** One time is hashed with the event, the other is not: their distance bounds what can be forged. */
export interface FurthestTimes {
  readonly ordinal: Ordinal;
  readonly id: string;
  /** The event's own time, and the chain's; ISO 8601. */
  readonly occurredAt: string;
  readonly recordedAt: string;
}

export function createEntryMatch({
  carriedUntil,
  faults,
}: {
  readonly carriedUntil: Ordinal;
  readonly faults: FaultList;
}) {
  /** The last event whose hash differs from the chain's: it may be the chain that was altered. */
  let suspect: { readonly fault: Fault; readonly ordinal: Ordinal; readonly hash: Buffer } | undefined;
  let furthest:
    | { readonly apartMs: number; readonly entry: TakenEntry; readonly occurredAtMs: number }
    | undefined;

  return {
    /** The event was found to be that of the entry. */
    took(entry: TakenEntry, event: RecordedEvent): void {
      suspect = undefined;
      compareTimes(entry, event);
    },

    /** Whether the hash shows the expected event; if so, also reports unhashed facts that disagree. */
    recognize(next: Expected, found: Numbered): boolean {
      const { event } = found;
      if (!isHashOf(next, event)) {
        if (suspect?.ordinal !== next.ordinal - 1) return false;
        if (!entryHash(suspect.hash, next.ordinal, event).equals(next.hash)) return false;
        // The chain continues from the hash that the log gives for the previous event: that event is intact.
        const reason = 'the hash that is kept is not the one that the chain goes on from';
        faults.replace(suspect.fault, ofChain(suspect.ordinal, reason));
      }
      suspect = undefined;
      if (next.id !== event.id || next.stream !== event.stream || next.revision !== event.revision) {
        faults.add(ofChain(next.ordinal, 'what its block says of the event is not what its hash says'));
      }
      compareUnhashed(next, found);
      return true;
    },

    /** It is where the expected event was, with something altered. */
    tellAltered(next: Expected, { event }: Numbered): void {
      const fault = ofEntry('altered', next, alterationOf(next, event));
      faults.add(fault);
      const [previous] = next.previous;
      if (previous) {
        suspect = { fault, ordinal: next.ordinal, hash: entryHash(previous, next.ordinal, event) };
      }
    },

    furthestTimes: (): FurthestTimes | undefined =>
      furthest && {
        ordinal: furthest.entry.ordinal,
        id: furthest.entry.id,
        occurredAt: new Date(furthest.occurredAtMs).toISOString(),
        recordedAt: new Date(furthest.entry.recordedAtMs).toISOString(),
      },
  };

  function compareTimes(entry: TakenEntry, { metadata }: RecordedEvent): void {
    const occurredAtMs = occurredAtMsIn(metadata);
    const apartMs = Math.abs(entry.recordedAtMs - occurredAtMs);
    if (apartMs > (furthest?.apartMs ?? -1)) furthest = { apartMs, entry, occurredAtMs };
  }

  /** Compares what both the log and the chain have but no hash covers. */
  function compareUnhashed(next: Expected, { event, ordinal }: Numbered): void {
    const { recordedAt, position } = event;
    compareTimes(next, event);
    if (next.ordinal > carriedUntil && recordedAt.getTime() !== next.recordedAtMs) {
      const chained = new Date(next.recordedAtMs).toISOString();
      const reason = `the log has it recorded at ${recordedAt.toISOString()}, the chain at ${chained}`;
      faults.add(ofEntry('misdated', next, reason));
    }
    // If an earlier event is missing or was inserted, that has been reported, and may have shifted this one.
    if (next.position !== undefined && next.position !== position && next.ordinal === ordinal) {
      const reason = `its block ends at position ${next.position}, and the event stands at ${position}`;
      faults.add(ofChain(next.ordinal, reason));
    }
  }
}

/** In the metadata as we write it; parsing all of it for each event would cost more than its hash. */
const OCCURRED_AT = '"occurredAt":"';
const TO_THE_SECOND = 'yyyy-mm-ddThh:mm:ss'.length;
const MILLISECONDS_AND_ZONE = /^\.\d{3}Z$/;

/** The last second seen: neighbours in the log mostly share it. */
let second = { text: '', ms: 0 };
/** What follows from one request has the same metadata. */
let last = { metadata: '', ms: Number.NaN };

function occurredAtMsIn(metadata: string): number {
  if (metadata !== last.metadata) last = { metadata, ms: occurredAtMsOf(metadata) };
  return last.ms;
}

function occurredAtMsOf(metadata: string): number {
  const from = metadata.indexOf(OCCURRED_AT) + OCCURRED_AT.length;
  if (from < OCCURRED_AT.length) return Number.NaN;
  const to = metadata.indexOf('"', from);
  if (to < 0) return Number.NaN;
  const text = metadata.slice(from, to);
  const rest = text.slice(TO_THE_SECOND);
  if (!MILLISECONDS_AND_ZONE.test(rest)) return Date.parse(text);
  const upToSecond = text.slice(0, TO_THE_SECOND);
  if (upToSecond !== second.text) second = { text: upToSecond, ms: Date.parse(`${upToSecond}Z`) };
  return second.ms + Number(rest.slice(1, -1));
}

/** Whether it is the expected event despite an alteration: of its names only the id is compared. */
export const isSameEvent = (next: Expected, event: RecordedEvent): boolean =>
  next.id === event.id || isHashOf(next, { ...event, id: next.id });

function alterationOf(next: Expected, { stream, revision, id }: RecordedEvent): string {
  if (stream !== next.stream || revision !== next.revision) {
    return `it stands in the log as ${stream} revision ${revision}`;
  }
  return id === next.id
    ? 'its type, data or metadata are not those that were chained'
    : `it stands in the log under the id ${id}`;
}
