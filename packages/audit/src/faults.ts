/** What a verification finds, with enough to look the event up. */
import type { Ordinal } from './chain.ts';

export type FaultKind =
  /** Its bytes are not those that were chained: data, metadata, type, stream or revision. */
  | 'altered'
  /** Chained, and not in the log any more. */
  | 'missing'
  /** In the log among chained events, and never chained there. */
  | 'inserted'
  /** Chained, and now at another place of the log. */
  | 'moved'
  /** The time at which it was recorded is not the one that the chain keeps of it. */
  | 'misdated'
  /** The chain itself: a block is missing, contradicts itself, or does not follow from the one before. */
  | 'chain_broken'
  /** Positions are not dense. */
  | 'position_gap'
  /** Revisions of a stream are not dense. */
  | 'revision_gap'
  /** Of no stream, type or version that this release knows. */
  | 'unknown_event'
  /** Known, but its content does not have the form of it. */
  | 'undecodable'
  /** It does not follow from the events of its stream before it. */
  | 'unfoldable'
  /** The snapshot taken at it is not what the stream folds to, or was not written by the service. */
  | 'false_snapshot';

export interface Fault {
  readonly kind: FaultKind;
  /** The event's number in the chain; for one that was never chained, in the log as it stands. */
  readonly ordinal: Ordinal;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly id: string | null;
  /** In words. */
  readonly reason: string;
}

export const MAX_LISTED_FAULTS = 100;

/** At one ordinal, what says most comes first. */
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
  /** Puts another in the place of one that was added. */
  readonly replace: (fault: Fault, by: Fault) => void;
  readonly count: () => number;
  /** The first ones of the log, in its order. */
  readonly listed: () => readonly Fault[];
}

/** Counts all and keeps the first: the checks of one event do not come to their findings at the same time. */
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
