/** Figures for moves: medians over the rounds, and where the time of all deposits in a run went. */
import { median, ratios } from './bars.ts';
import type { MoveFigures, MoveTimes } from './moveRows.ts';

export interface MoveReport {
  readonly movesPerRound: number;
  readonly rates: readonly { readonly what: string; readonly perSecond: number }[];
  /** Deposits to the last one confirmed, against bare transfers to the last one final. */
  readonly shareOfBare: number;
  readonly cpuMsPerMove: number;
  readonly stages: readonly {
    readonly from: MoveInstant;
    readonly to: MoveInstant;
    readonly p50Ms: number;
    readonly p99Ms: number;
  }[];
}

type MoveInstant = keyof MoveTimes;

/** In order; the last ones are sums of earlier ones. */
const STAGES: readonly (readonly [from: MoveInstant, to: MoveInstant])[] = [
  ['requested', 'signed'],
  ['signed', 'submitted'],
  ['submitted', 'final'],
  ['final', 'confirmed'],
  ['confirmed', 'credited'],
  ['final', 'credited'],
  ['requested', 'credited'],
];

export function moveReport({ movesPerRound, rounds }: MoveFigures): MoveReport {
  const times = rounds.flatMap((round) => round.times);
  const confirmed = rounds.map(({ confirmedPerSecond }) => confirmedPerSecond);
  const bareFinal = rounds.map(({ bare }) => bare.finalPerSecond);
  return {
    movesPerRound,
    rates: [
      { what: 'bare transfers, sent', perSecond: median(rounds.map(({ bare }) => bare.sentPerSecond)) },
      { what: 'bare transfers, to the last one final', perSecond: median(bareFinal) },
      {
        what: 'deposits, requested',
        perSecond: median(rounds.map(({ requestedPerSecond }) => requestedPerSecond)),
      },
      { what: 'deposits, to the last one confirmed', perSecond: median(confirmed) },
    ],
    shareOfBare: median(ratios(confirmed, bareFinal)),
    cpuMsPerMove: median(rounds.map(({ cpuMsPerMove }) => cpuMsPerMove)),
    stages: STAGES.map(([from, to]) => {
      const took = times.map((move) => move[to] - move[from]);
      return { from, to, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) };
    }),
  };
}

/** The smallest value that this share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new Error('Nothing was measured.');
  return value;
}

/** What the report says in tables: of rates, and of stages. */
export const moveTables = (
  { movesPerRound, rates, stages }: MoveReport,
  whole: (value: number) => string,
): readonly (readonly (readonly string[])[])[] => [
  [
    [`moves, ${whole(movesPerRound)} at a time`, 'per second'],
    ...rates.map(({ what, perSecond }) => [what, whole(perSecond)]),
  ],
  [
    ['of a deposit', 'p50 ms', 'p99 ms'],
    ...stages.map(({ from, to, p50Ms, p99Ms }) => [`${from} to ${to}`, whole(p50Ms), whole(p99Ms)]),
  ],
];
