/** What a verification finds, with enough detail to look the event up. */
import type { RecordedEvent } from '@coffer/event-store';
import type { Ordinal } from './chain.ts';

export type FaultKind =
  /** Its bytes are not those that were chained: data, metadata, type, stream or revision. */
  | 'altered'
  /** Chained, but no longer in the log. */
  | 'missing'
  /** In the log among chained events, but never chained there. */
  | 'inserted'
  /** Chained, but now at another place in the log. */
  | 'moved'
  /** Its recorded time is not the one that the chain keeps for it. */
  | 'misdated'
  /** The chain itself: a block is missing, contradicts itself, or does not follow from the previous one. */
  | 'chain_broken'
  /** Positions are not dense. */
  | 'position_gap'
  /** Revisions of a stream are not dense. */
  | 'revision_gap'
  /** Its stream, type or version is not known to this release. */
  | 'unknown_event'
  /** Known, but its content does not have the right form. */
  | 'undecodable'
  /** It does not follow from the earlier events of its stream. */
  | 'unfoldable'
  /** The snapshot taken at it is not what the stream folds to, or was not written by the service. */
  | 'false_snapshot';

export interface Fault {
  readonly kind: FaultKind;
  /** The event's number in the chain; for an event that was never chained, its number in the log. */
  readonly ordinal: Ordinal;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly id: string | null;
  /** In words. */
  readonly reason: string;
}

export const MAX_LISTED_FAULTS = 100;

/** At one ordinal, the most informative kind comes first. */
const KINDS: readonly FaultKind[] = [
  'chain_broken',
  'missing',
  'inserted',
  'moved',
  'altered',
  'misdated',
  'unknown_event',
  'undecodable',
  'unfoldable',
  'revision_gap',
  'position_gap',
  'false_snapshot',
];

export interface FaultList {
  readonly add: (fault: Fault) => void;
  readonly replace: (fault: Fault, by: Fault) => void;
  readonly count: () => number;
  /** The first faults, in the order of the log. */
  readonly listed: () => readonly Fault[];
}

/** Counts all faults and keeps the first: the checks of one event do not report at the same time. */
export function createFaultList(): FaultList {
  let kept: Fault[] = [];
  let count = 0;
  const first = () =>
    kept
      .toSorted(
        (left, right) => left.ordinal - right.ordinal || KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind),
      )
      .slice(0, MAX_LISTED_FAULTS);
  return {
    add(fault) {
      count += 1;
      kept.push(fault);
      if (kept.length >= 4 * MAX_LISTED_FAULTS) kept = first();
    },
    replace(fault, by) {
      kept = kept.map((one) => (one === fault ? by : one));
    },
    count: () => count,
    listed: first,
  };
}

export const ofEvent = (
  kind: FaultKind,
  { stream, revision, id }: RecordedEvent,
  ordinal: Ordinal,
  reason: string,
): Fault => ({ kind, ordinal, stream, revision, id, reason });
