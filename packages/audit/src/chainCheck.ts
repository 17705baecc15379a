/**
 * Compares the log with its chain, in lock-step. Each event is hashed onto the hash that the chain STORES for
 * the previous one, so that one fault does not make every later event look faulty.
 */
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import type { Block, ChainHead } from './blocks.ts';
import { entryHash, type Ordinal } from './chain.ts';
import { ofChain, ofEntry } from './chainFaults.ts';
import { createEntryMatch, type FurthestTimes, isSameEvent } from './entryMatch.ts';
import { type Expected, expectedEntries, type Unknown } from './expectedEntries.ts';
import type { FaultList } from './faults.ts';
import type { LogCheck, Numbered } from './logCheck.ts';
import { LOOK_AHEAD, misplacementOf } from './misplacement.ts';

/** Limits how many large events are held back for looking ahead. */
const LOOK_AHEAD_BYTES = 32 * 1024 * 1024;

export interface ChainCheck extends LogCheck {
  /** Events after the end of the chain: not chained yet, so nothing is said about them. */
  readonly unchained: () => number;
  /** The chained event whose own time and recorded time are the furthest apart; undefined without any. */
  readonly furthestTimes: () => FurthestTimes | undefined;
}

export function createChainCheck({
  after,
  head,
  blocks,
  carriedUntil,
  store,
  faults,
}: {
  /** What was verified before; undefined for a verification from the first event. */
  readonly after: ChainHead | undefined;
  /** The end of the chain when the verification began; the log must have been read after it. */
  readonly head: ChainHead | undefined;
  /** All blocks after that, up to the head. */
  readonly blocks: AsyncIterable<Block>;
  /** Up to here the log was carried from another store, and only the chain has its recorded times. */
  readonly carriedUntil: Ordinal;
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions' | 'parsePosition'>;
  readonly faults: FaultList;
}): ChainCheck {
  const expected = expectedEntries(
    blocks,
    (ordinal, reason) => faults.add(ofChain(ordinal, reason)),
    carriedUntil,
    after,
  );
  /** Events of the log not yet placed: empty except after a mismatch. */
  const waiting: Numbered[] = [];
  let waitingBytes = 0;
  let unchained = 0;
  const match = createEntryMatch({ carriedUntil, faults });
  const overGap = createGapCheck(faults);

  return {
    take(event, ordinal) {
      if (waiting.length === 0) {
        const taken = expected.takeSame(event);
        if (taken) {
          match.took(taken, event);
          return undefined;
        }
        const next = expected.next();
        if (next?.kind === 'entry' && match.recognize(next, { event, ordinal })) {
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
    furthestTimes: match.furthestTimes,
  };

  /** Places the waiting events, as far as the events at hand allow. */
  async function settle(isEnd: boolean): Promise<void> {
    for (;;) {
      const found = waiting[0];
      if (!found && !isEnd) return;
      const next = await expected.load(0);
      if (!found && !next) return;
      if (!found) missing(next);
      else if (!next) beyondTheChain(found);
      else if (next.kind === 'unknown') take(0, overGap.pass(next, found.event) ? 0 : -1);
      else if (match.recognize(next, found)) take(0, 0);
      else if (isSameEvent(next, found.event)) {
        match.tellAltered(next, found);
        take(0, 0);
      } else if (isEnd || waiting.length > LOOK_AHEAD || waitingBytes > LOOK_AHEAD_BYTES)
        await misplaced(next, found);
      else return;
    }
  }

  function take(inLog: number, inChain: number): void {
    const [found] = waiting.splice(inLog, 1);
    if (found) waitingBytes -= found.event.data.length + found.event.metadata.length;
    if (inChain >= 0) expected.remove(inChain);
  }

  async function misplaced(next: Expected, found: Numbered): Promise<void> {
    const misplacement = await misplacementOf(store, waiting, expected, next, found);
    switch (misplacement.kind) {
      case 'moved':
        return moved(misplacement.inLog, misplacement.inChain);
      case 'inserted':
        return inserted(found);
      case 'missing':
        return missing(next);
      case 'passed':
        faults.add(ofEntry('moved', next, AHEAD, misplacement.elsewhere));
        expected.remove(0);
    }
  }

  /**
   * The next event of the log is expected later in the chain, and the next of the chain comes later in the
   * log: whichever is farther from its place was moved; at equal distances they have changed places.
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
    // From the back, so that the places in front do not shift.
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
    // If the chain's stored end is not a valid position, that has been reported, and nothing is known of what is left.
    const end = head && store.parsePosition(head.place.position);
    if (end !== undefined && store.comparePositions(found.event.position, end) <= 0) {
      inserted(found);
    } else {
      unchained += 1;
      take(0, -1);
    }
  }
}

/** Follows the chain, computed from the log, over ordinals that no block holds. */
function createGapCheck(faults: FaultList) {
  let reached: { readonly ordinal: Ordinal; readonly hash: Buffer } | undefined;
  return {
    /** Nothing is stored for these events, but the chain over all of them must lead to the next block. True: this was the last. */
    pass(gap: Unknown, event: RecordedEvent): boolean {
      reached ??= { ordinal: gap.firstOrdinal, hash: gap.hashBefore };
      const { ordinal } = reached;
      const hash = entryHash(reached.hash, ordinal, event);
      if (ordinal < gap.lastOrdinal) {
        reached = { ordinal: ordinal + 1, hash };
        return false;
      }
      if (!hash.equals(gap.hashAfter)) {
        const range = `from ${gap.firstOrdinal} to ${gap.lastOrdinal}`;
        faults.add(ofChain(ordinal, `the events ${range} do not lead to where the next block begins`));
      }
      reached = undefined;
      return true;
    },
  };
}

const AHEAD = 'it stands before events that were chained before it';
const BEHIND = 'it stands behind events that were chained after it';
