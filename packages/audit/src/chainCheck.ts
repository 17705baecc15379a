/**
 * Compares the log with its chain, in lock-step. Each event is hashed onto the hash that the chain HOLDS for
 * the one before it, so that one fault does not make every later event look like another.
 */
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import type { Block, ChainHead } from './blocks.ts';
import { entryHash, type Ordinal } from './chain.ts';
import { type Expected, expectedEntries, type Unknown } from './expectedEntries.ts';
import type { Fault, FaultKind, FaultList } from './faults.ts';
import type { LogCheck, Numbered } from './logCheck.ts';

/** How far ahead an event is looked for in the log and in the chain, by its id. */
const LOOK_AHEAD = 1_000;
/** Events held back for that are not many when they are large. */
const LOOK_AHEAD_BYTES = 32 * 1024 * 1024;

export interface ChainCheck extends LogCheck {
  /** Events behind the end of the chain: not chained yet, so nothing is said about them. */
  readonly unchained: () => number;
  /** The chained event whose own time and recorded time are the furthest apart; undefined without any. */
  readonly furthestTimes: () => FurthestTimes | undefined;
}

/** The one time is hashed with the event, the other is not: how far apart they are bounds what can be forged. */
export interface FurthestTimes {
  readonly ordinal: Ordinal;
  readonly id: string;
  /** What the event says of itself, and what the chain has of it; ISO 8601. */
  readonly occurredAt: string;
  readonly recordedAt: string;
}

export function createChainCheck({
  after,
  head,
  blocks,
  carriedUntil,
  store,
  faults,
}: {
  /** What was verified before; undefined for a verification from the first event on. */
  readonly after: ChainHead | undefined;
  /** The end of the chain when the verification began; the log must have been looked at after it. */
  readonly head: ChainHead | undefined;
  /** All blocks behind that, up to the head. */
  readonly blocks: AsyncIterable<Block>;
  /** Up to here the log was carried from another store, and its recorded times stand in the chain alone. */
  readonly carriedUntil: Ordinal;
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions' | 'parsePosition'>;
  readonly faults: FaultList;
}): ChainCheck {
  const expected = expectedEntries(blocks, (ordinal, reason) => faults.add(ofChain(ordinal, reason)), after);
  /** What of the log has not found its place yet: empty but for the time after a mismatch. */
  const waiting: Numbered[] = [];
  let waitingBytes = 0;
  let unchained = 0;
  /** The last event of whose hash the chain has another: it may be the chain that was altered. */
  let suspect: { readonly fault: Fault; readonly ordinal: Ordinal; readonly hash: Buffer } | undefined;
  let furthest:
    | { readonly apartMs: number; readonly entry: Expected; readonly occurredAtMs: number }
    | undefined;
  /** The chain as the log has it, over ordinals that no block holds. */
  let overGap: { readonly ordinal: Ordinal; readonly hash: Buffer } | undefined;

  return {
    take(event, ordinal) {
      if (waiting.length === 0) {
        const next = expected.next();
        if (next?.kind === 'entry' && isThatEvent(next, { event, ordinal })) {
          expected.remove(0);
          return undefined;
        }
      }
      waiting.push({ event, ordinal });
      waitingBytes += event.data.length + event.metadata.length;
      return settle(false);
    },
    end: () => settle(true),
    unchained: () => unchained,
    furthestTimes: () =>
      furthest && {
        ordinal: furthest.entry.ordinal,
        id: furthest.entry.id,
        occurredAt: new Date(furthest.occurredAtMs).toISOString(),
        recordedAt: new Date(furthest.entry.recordedAtMs).toISOString(),
      },
  };

  /** Finds the places of what waits, as far as the events at hand allow. */
  async function settle(isEnd: boolean): Promise<void> {
    for (;;) {
      const next = await expected.load(0);
      const found = waiting[0];
      if (!found && !(isEnd && next)) return;
      if (!found) missing(next);
      else if (!next) beyondTheChain(found);
      else if (next.kind === 'unknown') passUnknown(next, found);
      else if (isThatEvent(next, found)) take(0, 0);
      else if (isSameEvent(next, found.event)) altered(next, found);
      else if (isEnd || waiting.length > LOOK_AHEAD || waitingBytes > LOOK_AHEAD_BYTES)
        await misplaced(next, found);
      else return;
    }
  }

  function take(inLog: number, inChain: number): void {
    const [found] = waiting.splice(inLog, 1);
    if (found) waitingBytes -= found.event.data.length + found.event.metadata.length;
    if (inChain >= 0) expected.remove(inChain);
  }

  /** Whether the chain's hash says that it is this very event; its names in the chain then have to agree. */
  function isThatEvent(next: Expected, found: Numbered): boolean {
    const { event } = found;
    if (!isHashOf(next, event)) {
      if (suspect?.ordinal !== next.ordinal - 1) return false;
      if (!entryHash(suspect.hash, next.ordinal, event).equals(next.hash)) return false;
      // The chain goes on from the hash that the log gives for the event before: that one is intact.
      const reason = 'the hash that is kept is not the one that the chain goes on from';
      faults.replace(suspect.fault, ofChain(suspect.ordinal, reason));
    }
    suspect = undefined;
    if (next.id !== event.id || next.stream !== event.stream || next.revision !== event.revision) {
      faults.add(ofChain(next.ordinal, 'what its block says of the event is not what its hash says'));
    }
    compareUnhashed(next, found);
    return true;
  }

  /** What stands both in the log and in the chain, and in no hash. */
  function compareUnhashed(next: Expected, { event, ordinal }: Numbered): void {
    const { recordedAt, position, metadata } = event;
    const occurredAtMs = Date.parse(OCCURRED_AT.exec(metadata)?.[1] ?? '');
    const apartMs = Math.abs(next.recordedAtMs - occurredAtMs);
    if (apartMs > (furthest?.apartMs ?? -1)) furthest = { apartMs, entry: next, occurredAtMs };
    if (next.ordinal > carriedUntil && recordedAt.getTime() !== next.recordedAtMs) {
      const chained = new Date(next.recordedAtMs).toISOString();
      const reason = `the log has it recorded at ${recordedAt.toISOString()}, the chain at ${chained}`;
      faults.add(ofEntry('misdated', next, reason));
    }
    // Where an event before it is missing or was inserted, that has been told, and may have moved this one.
    if (next.position !== undefined && next.position !== position && next.ordinal === ordinal) {
      const reason = `its block ends at position ${next.position}, and the event stands at ${position}`;
      faults.add(ofChain(next.ordinal, reason));
    }
  }

  function altered(next: Expected, found: Numbered): void {
    const { stream, revision, id } = found.event;
    const isRenamed = stream !== next.stream || revision !== next.revision;
    const reason = isRenamed
      ? `it stands in the log as ${stream} revision ${revision}`
      : id !== next.id
        ? `it stands in the log under the id ${id}`
        : 'its type, data or metadata are not those that were chained';
    const fault = ofEntry('altered', next, reason);
    faults.add(fault);
    const [previous] = next.previous;
    if (previous) {
      suspect = { fault, ordinal: next.ordinal, hash: entryHash(previous, next.ordinal, found.event) };
    }
    take(0, 0);
  }

  async function misplaced(next: Expected, found: Numbered): Promise<void> {
    const inLog = waiting.findIndex(({ event }) => event.id === next.id);
    const inChain = await expected.find(found.event.id, LOOK_AHEAD);
    if (inLog > 0 && inChain > 0) return moved(inLog, inChain);
    if (inLog > 0) return inserted(found);
    if (inChain > 0) return missing(next);

    // Neither is near. Whether the expected one is anywhere is known by its place in its stream.
    const elsewhere = await eventAt(next);
    if (elsewhere?.id !== next.id) return missing(next);
    if (store.comparePositions(elsewhere.position, found.event.position) > 0) return inserted(found);
    faults.add(ofEntry('moved', next, AHEAD, elsewhere));
    expected.remove(0);
  }

  async function eventAt({ stream, revision }: Expected): Promise<RecordedEvent | undefined> {
    for await (const [event] of store.readStream(stream, { fromRevision: revision, limit: 1 })) return event;
    return undefined;
  }

  /**
   * The next of the log stands further on in the chain, and the next of the chain further on in the log: what
   * is the farther from its place was moved, and when both are as far they have changed places.
   */
  async function moved(inLog: number, inChain: number): Promise<void> {
    const isBehind = inLog >= inChain;
    const isAhead = inChain >= inLog;
    const next = expected.next();
    const later = await expected.load(inChain);
    if (isBehind && next?.kind === 'entry') {
      faults.add(ofEntry('moved', next, BEHIND, waiting[inLog]?.event));
    }
    if (isAhead && later?.kind === 'entry') {
      faults.add(ofEntry('moved', later, AHEAD, waiting[0]?.event));
    }
    // From the back, so that the places in front stay what they are.
    if (isBehind) take(inLog, -1);
    if (isAhead) expected.remove(inChain);
    if (isBehind) expected.remove(0);
    if (isAhead) take(0, -1);
  }

  function inserted({ event, ordinal }: Numbered): void {
    const { stream, revision, id } = event;
    const reason = 'it stands among chained events and was never chained there';
    faults.add({ kind: 'inserted', ordinal, stream, revision, id, reason });
    take(0, -1);
  }

  function missing(next: Expected | Unknown | undefined): void {
    if (next?.kind === 'entry') faults.add(ofEntry('missing', next, 'it was chained and is not in the log'));
    expected.remove(0);
  }

  function beyondTheChain(found: Numbered): void {
    // Where the chain says that it ends nowhere, that has been told, and nothing is known of what is left.
    const end = head && store.parsePosition(head.place.position);
    if (end !== undefined && store.comparePositions(found.event.position, end) <= 0) {
      inserted(found);
    } else {
      unchained += 1;
      take(0, -1);
    }
  }

  /** Nothing is kept of these events, but the chain over all of them must lead to where the next block begins. */
  function passUnknown(gap: Unknown, { event }: Numbered): void {
    overGap ??= { ordinal: gap.firstOrdinal, hash: gap.hashBefore };
    const { ordinal } = overGap;
    const hash = entryHash(overGap.hash, ordinal, event);
    if (ordinal < gap.lastOrdinal) {
      overGap = { ordinal: ordinal + 1, hash };
      take(0, -1);
      return;
    }
    if (!hash.equals(gap.hashAfter)) {
      const range = `from ${gap.firstOrdinal} to ${gap.lastOrdinal}`;
      faults.add(ofChain(ordinal, `the events ${range} do not lead to where the next block begins`));
    }
    overGap = undefined;
    take(0, 0);
  }
}

/** In the metadata as we write it; to parse all of it for each event would cost more than its hash. */
const OCCURRED_AT = /"occurredAt":"([^"]+)"/;

const AHEAD = 'it stands before events that were chained before it';
const BEHIND = 'it stands behind events that were chained after it';

const isHashOf = ({ previous, ordinal, hash }: Expected, event: RecordedEvent): boolean =>
  previous.some((before) => entryHash(before, ordinal, event).equals(hash));

/** Whether it is the expected event, although something of it was altered: of its names only the id. */
const isSameEvent = (next: Expected, event: RecordedEvent): boolean =>
  next.id === event.id || isHashOf(next, { ...event, id: next.id });

/** `event` is the one found elsewhere, where there is one: its content may be another, too. */
function ofEntry(kind: FaultKind, entry: Expected, reason: string, event?: RecordedEvent): Fault {
  const { ordinal, stream, revision, id } = entry;
  const alteration = event && !isHashOf(entry, event) ? ', and was altered' : '';
  return { kind, ordinal, stream, revision, id, reason: `${reason}${alteration}` };
}

const ofChain = (ordinal: Ordinal, reason: string): Fault => ({
  kind: 'chain_broken',
  ordinal,
  stream: null,
  revision: null,
  id: null,
  reason,
});
