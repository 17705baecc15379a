/** What the figures are compared with, and how a verdict is reached. Source: docs/benchmarks.md, The bars. */

/** One comparison: a figure, or a ratio of two figures of the same round. */
interface Bar {
  readonly name: string;
  /** The ratio (or figure) must be at least, or at most, the limit. */
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly unit: 'x' | 'bets/s' | 'credits/s' | 'deliveries/s' | 'events/s' | 'ms' | 'MiB';
}

const BARS = {
  betAt256: { name: 'bet / plain Express, 256 connections', atLeast: 0.36, unit: 'x' },
  betAt64: { name: 'bet, 64 / 256 connections', atLeast: 0.85, unit: 'x' },
  hotSession: { name: 'bet, one session / 1,000 sessions', atLeast: 0.9, unit: 'x' },
  batch: { name: 'bets in batches', atLeast: 40_000, unit: 'bets/s' },
  batchLater: { name: 'bets in batches after 1,000,000 events', atLeast: 40_000, unit: 'bets/s' },
  batchKept: { name: 'bets in batches after 1,000,000 events / few', atLeast: 0.9, unit: 'x' },
  openLoop: { name: 'p99 of bets at 2,000/s / bare inserts', atMost: 5, unit: 'x' },
  openLoopP99: { name: 'p99 at half of the most', atMost: 20, unit: 'ms' },
  openLoopP999: { name: 'p99.9 at half of the most', atMost: 40, unit: 'ms' },
  loopDelay: { name: 'p99 delay of the API thread at 256', atMost: 15, unit: 'ms' },
  stateInCache: { name: 'bets with many live bets / with few', atLeast: 0.85, unit: 'x' },
  stateBeyondCache: { name: 'the same, ten times the cache', atLeast: 0.5, unit: 'x' },
  stateMemory: { name: 'memory with 3,000,000 live bets', atMost: 700, unit: 'MiB' },
  soakRate: { name: 'soak: rate at the end / at the beginning', atLeast: 0.95, unit: 'x' },
  soakP99: { name: 'soak: p99 at the end / at the beginning', atMost: 1.2, unit: 'x' },
  soakMemory: { name: 'soak: memory at the end / at the beginning', atMost: 1.1, unit: 'x' },
  logVerify: { name: 'verification of the log / bare select', atLeast: 0.3, unit: 'x' },
  logReconcile: { name: 'full reconciliation / bare select', atLeast: 0.2, unit: 'x' },
  verifyAt64: { name: 'verify / plain Express, 64 connections', atLeast: 0.4, unit: 'x' },
  lockHot: { name: 'locks on one pool / bets', atLeast: 0.35, unit: 'x' },
  lockSpread: { name: 'locks over 1,000 pools / bets', atLeast: 0.45, unit: 'x' },
  settleDecision: { name: 'decision over 20,000 stakes', atMost: 1_000, unit: 'ms' },
  credits: { name: 'credits of 20,000 stakes', atLeast: 8_000, unit: 'credits/s' },
  betsBesideCredits: { name: 'bets beside them / alone', atLeast: 0.5, unit: 'x' },
  distribute: { name: 'distributions over 10 levels / bets', atLeast: 0.05, unit: 'x' },
  withdraw: { name: 'withdrawals of earnings / bets', atLeast: 0.3, unit: 'x' },
  chainOfTen: { name: 'chains of 10 / of 2, below 10,000 users', atLeast: 0.5, unit: 'x' },
  oneDead: { name: 'p99 of webhooks, 1 dead of 100 / none', atMost: 1.1, unit: 'x' },
  tenDead: { name: 'p99 of webhooks, 10 dead of 100 / none', atMost: 1.25, unit: 'x' },
  deliveries: { name: 'deliveries of webhooks', atLeast: 2_000, unit: 'deliveries/s' },
  deliveriesBare: { name: 'deliveries of webhooks / bare posts', atLeast: 0.5, unit: 'x' },
  emitLag: { name: 'p99 from event to webhook at 500/s', atMost: 250, unit: 'ms' },
  betsBesideWebhooks: { name: 'bets with webhooks / without', atLeast: 0.9, unit: 'x' },
  relay: { name: 'catching up with Kafka', atLeast: 20_000, unit: 'events/s' },
  relayBare: { name: 'catching up / bare kafkajs', atLeast: 0.5, unit: 'x' },
  relayLag: { name: 'p99 from event to Kafka at 1,000/s', atMost: 500, unit: 'ms' },
  betsBesideRelay: { name: 'bets with the relay / without', atLeast: 0.95, unit: 'x' },
  append: { name: 'conditional append / bare insert', atLeast: 0.6, unit: 'x' },
  replay: { name: 'replay / bare select', atLeast: 0.6, unit: 'x' },
} as const satisfies Readonly<Record<string, Bar>>;

export type BarName = keyof typeof BARS;

export interface Verdict {
  readonly bar: BarName;
  readonly name: string;
  readonly value: number;
  /** The value of each round; the verdict is on their median. */
  readonly rounds: readonly number[];
  readonly better: 'more' | 'less';
  readonly bound: number;
  readonly limit: string;
  readonly passed: boolean;
}

/** The verdict on the median of the rounds. Throws if there are none: measuring nothing is not a pass. */
export function judge(bar: BarName, rounds: readonly number[]): Verdict {
  const { name, atLeast, atMost, unit }: Bar = BARS[bar];
  const value = median(rounds);
  const passed = (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost);
  const limit = [
    ...(atLeast === undefined ? [] : [`at least ${atLeast.toLocaleString('en-US')}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost}`]),
  ].join(', ');
  const better = atLeast === undefined ? 'less' : 'more';
  return {
    bar,
    name,
    value,
    rounds,
    better,
    bound: atLeast ?? atMost ?? Number.NaN,
    limit: `${limit} ${unit}`,
    passed,
  };
}

/** Round by round, so that a slow moment of the machine affects both sides of a ratio. */
export function ratios(measured: readonly number[], yardstick: readonly number[]): readonly number[] {
  if (measured.length !== yardstick.length)
    throw new Error('The two sides were not measured in the same rounds.');
  return measured.map((value, round) => value / (yardstick[round] ?? Number.NaN));
}

/** Throws on an empty list and on anything that is not a finite number. */
export function median(values: readonly number[]): number {
  if (values.length === 0 || !values.every(Number.isFinite)) throw new Error('Nothing was measured.');
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
