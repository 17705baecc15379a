/**
 * The log, verified stretch by stretch, as a scrub does in the background. Only a place has to be kept
 * between two stretches, so that a killed process can resume from there.
 */
import type { Queryable } from '@coffer/database';
import type { KeptSnapshots, Position } from '@coffer/event-store';
import type { ChainHead } from './blocks.ts';
import { readHeadBehind, readHeadUpTo } from './blocksTable.ts';
import type { Ordinal } from './chain.ts';
import type { Fault } from './faults.ts';
import { createKeptChain } from './keptChain.ts';
import { createKnownRevisions, type KnownRevisions } from './streamCheck.ts';
import type { StreamRules } from './streamRules.ts';
import { brokenEndFault, type VerifiedLog, verifyStretch } from './verifyLog.ts';

/** The end of a block as a JSON object: what was verified up to here is not read again in this pass. */
interface ScrubPlace {
  readonly ordinal: Ordinal;
  /** Hexadecimal. */
  readonly hash: string;
  readonly position: string;
  readonly eventId: string;
  readonly recordedUntilMs: number;
}

interface ScrubbedStretch {
  readonly reached: ScrubPlace;
  readonly faultCount: number;
  readonly faults: readonly Fault[];
}

interface StretchOptions {
  readonly events: number;
  readonly signal: AbortSignal;
  readonly rest: () => Promise<void>;
}

export interface LogScrub {
  /** How far a pass that begins now has to go, and what is wrong with that end itself. */
  readonly end: () => Promise<{ readonly end: ScrubPlace | undefined; readonly faults: readonly Fault[] }>;
  /** Verifies about this many events after the place, but not beyond the end. Rests at each page that it reads. */
  readonly stretch: (
    after: ScrubPlace | undefined,
    end: ScrubPlace,
    options: StretchOptions,
  ) => Promise<ScrubbedStretch>;
}

export function createLogScrub({
  db,
  store,
  rules,
  snapshots,
}: {
  readonly db: Queryable;
  readonly store: VerifiedLog;
  readonly rules: readonly StreamRules[];
  readonly snapshots: KeptSnapshots | undefined;
}): LogScrub {
  const chain = createKeptChain(db);
  /** From the stretch that this process verified last. */
  let known: { readonly hash: string; readonly revisions: KnownRevisions } | undefined;

  return {
    async end() {
      const brokenEnd = await chain.brokenEnd();
      const head = await chain.head();
      const hasPlace = head && store.parsePosition(head.place.position) !== undefined;
      const reason =
        brokenEnd ?? (head && !hasPlace ? 'the chain ends at no position of the log' : undefined);
      return {
        end: head && hasPlace ? placeOf(head) : undefined,
        faults: reason === undefined ? [] : [brokenEndFault(head, reason)],
      };
    },
    async stretch(afterPlace, endPlace, { events, signal, rest }) {
      const after = afterPlace && headOf(afterPlace);
      const end = headOf(endPlace);
      const revisions =
        known !== undefined && known.hash === afterPlace?.hash ? known.revisions : createKnownRevisions();
      known = undefined;
      const upTo = await nextHead(after, end, events);
      const verification = verifyStretch(
        { store, chain, rules, snapshots, signal },
        { after, upTo, foldedUpTo: end.place.position, revisions, rest },
      );
      let step = await verification.next();
      for (; !step.done; step = await verification.next()) await rest();
      const report = step.value;
      const reached = placeOf(upTo);
      known = upTo.ordinal < end.ordinal ? { hash: reached.hash, revisions } : undefined;
      return { reached, faultCount: report.faultCount, faults: report.faults };
    },
  };

  /**
   * The end of a block this many events on; where blocks are missing, the end of the next one that exists.
   */
  async function nextHead(after: ChainHead | undefined, end: ChainHead, events: number): Promise<ChainHead> {
    const from = after?.ordinal ?? 0;
    const near = await readHeadUpTo(db, from + events);
    const next = near && near.ordinal > from ? near : await readHeadBehind(db, from);
    return next && next.ordinal < end.ordinal && isBetween(after, next, end) ? next : end;
  }

  /**
   * A block whose position was tampered with is skipped here, and found by the verification that spans it.
   */
  function isBetween(after: ChainHead | undefined, next: ChainHead, end: ChainHead): boolean {
    const [position, first] = [store.parsePosition(next.place.position), after?.place.position];
    if (position === undefined || store.comparePositions(position, end.place.position) > 0) return false;
    return first === undefined || store.comparePositions(position, first) > 0;
  }
}

const placeOf = ({ ordinal, hash, place, recordedUntilMs }: ChainHead): ScrubPlace => ({
  ordinal,
  hash: hash.toString('hex'),
  ...place,
  recordedUntilMs,
});

const headOf = ({ ordinal, hash, position, eventId, recordedUntilMs }: ScrubPlace): ChainHead => ({
  ordinal,
  hash: Buffer.from(hash, 'hex'),
  // `placeOf` made this text from a position.
  place: { position: position as Position, eventId },
  recordedUntilMs,
});
