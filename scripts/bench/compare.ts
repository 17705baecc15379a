/** Says of two results, row by row, whether the second is better, worse or within noise. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { median } from './bars.ts';

const measuredRow = z.object({
  name: z.string(),
  better: z.enum(['more', 'less']),
  rounds: z.array(z.number()).min(1).readonly(),
});

/** The value of each round. */
export type MeasuredRow = z.infer<typeof measuredRow>;

export interface Comparison {
  readonly name: string;
  readonly before: number;
  readonly after: number;
  /** After ÷ before: estimate, and the interval that contains it with a confidence of at least 95 %. */
  readonly ratio: number;
  /** Undefined if there are too few rounds for that confidence. */
  readonly interval: readonly [number, number] | undefined;
  readonly verdict: 'better' | 'worse' | 'within noise' | 'too few rounds';
}

const CONFIDENCE = 0.95;

export async function readRows(path: string): Promise<readonly MeasuredRow[]> {
  const result = z.object({ rows: z.array(measuredRow) }).safeParse(JSON.parse(await readFile(path, 'utf8')));
  if (!result.success)
    throw new Error(`${path} is not a result of the bench with rows: run it again with --json.`);
  return result.data.rows;
}

/** Rows of both results. Rounds are paired if both sides took turns in each. */
export function compareRows(
  before: readonly MeasuredRow[],
  after: readonly MeasuredRow[],
  { paired }: { readonly paired: boolean },
): readonly Comparison[] {
  return after.flatMap((row) => {
    const other = before.find(({ name }) => name === row.name);
    return other ? [compareRow(other, row, paired)] : [];
  });
}

function compareRow(before: MeasuredRow, after: MeasuredRow, paired: boolean): Comparison {
  const { ratio, interval } = paired
    ? pairedRatio(before.rounds, after.rounds)
    : unpairedRatio(before.rounds, after.rounds);
  return {
    name: after.name,
    before: median(before.rounds),
    after: median(after.rounds),
    ratio,
    interval,
    verdict: verdictOf(interval, after.better),
  };
}

function verdictOf(interval: Comparison['interval'], better: MeasuredRow['better']): Comparison['verdict'] {
  if (!interval) return 'too few rounds';
  const [low, high] = interval;
  if (low <= 1 && high >= 1) return 'within noise';
  return low > 1 === (better === 'more') ? 'better' : 'worse';
}

type Ratio = Pick<Comparison, 'ratio' | 'interval'>;

/** The median of the rounds' ratios, with order statistics as limits: how often would a fair coin fall so? */
function pairedRatio(before: readonly number[], after: readonly number[]): Ratio {
  if (before.length !== after.length) throw new Error('The two sides were not measured in the same rounds.');
  const ratios = after.map((value, round) => value / (before[round] ?? Number.NaN));
  const heads = Array.from({ length: ratios.length + 1 }, (_, count) => choose(ratios.length, count));
  return between(ratios, heads);
}

/** The median of all ratios of one of these to one of those (Hodges and Lehmann), with the limits of Mann and Whitney. */
function unpairedRatio(before: readonly number[], after: readonly number[]): Ratio {
  const ratios = after.flatMap((value) => before.map((other) => value / other));
  return between(ratios, waysOfWins(after.length, before.length));
}

/** Limits so far inside the sorted values as the counted ways, symmetric ones, allow on either side. */
function between(values: readonly number[], ways: readonly number[]): Ratio {
  const sorted = values.toSorted((left, right) => left - right);
  const all = ways.reduce((sum, count) => sum + count, 0);
  const allowed = ((1 - CONFIDENCE) / 2) * all;
  let [outside, seen] = [0, 0];
  for (const count of ways) {
    seen += count;
    if (seen > allowed) break;
    outside += 1;
  }
  const [low, high] = [sorted[outside - 1], sorted[sorted.length - outside]];
  return {
    ratio: median(sorted),
    interval: low === undefined || high === undefined ? undefined : [low, high],
  };
}

const choose = (all: number, some: number): number =>
  some === 0 ? 1 : (choose(all, some - 1) * (all - some + 1)) / some;

/** How many orders of `a` and `b` values have 0, 1, … pairs in which the one of `a` is larger. */
function waysOfWins(a: number, b: number): readonly number[] {
  // Ways to choose sums of at most `a` parts of at most `b`: the partitions that the orders are.
  let ways: number[] = [1, ...Array.from({ length: a * b }, () => 0)];
  for (let part = 1; part <= a; part++) {
    // The Gaussian binomial of b + part and part, from that of one less: times (1 - q^(b + part)), by (1 - q^part).
    const times = ways.map((count, wins) => count - (ways[wins - b - part] ?? 0));
    const divided: number[] = [];
    for (const [wins, count] of times.entries()) divided.push(count + (divided[wins - part] ?? 0));
    ways = divided;
  }
  return ways;
}

export function comparisonRows(comparisons: readonly Comparison[]): readonly (readonly string[])[] {
  const short = (value: number) =>
    value < 1_000 ? value.toPrecision(3) : Math.round(value).toLocaleString('en-US');
  return [
    ['row', 'before', 'after', 'after / before', '95 % interval', ''],
    ...comparisons.map(({ name, before, after, ratio, interval, verdict }) => [
      name,
      short(before),
      short(after),
      ratio.toFixed(2),
      interval ? `${interval[0].toFixed(2)} to ${interval[1].toFixed(2)}` : '',
      verdict,
    ]),
  ];
}
