/** Measures pools: locks against bets, and the settlement of a full pool with bets beside its credits. */
import { setTimeout as delay } from 'node:timers/promises';
import { judge, ratios, type Verdict } from './bars.ts';
import type { Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { inParallel } from './inParallel.ts';
import type { BenchPlan } from './plan.ts';
import { createPlayer, post } from './players.ts';
import type { ServiceUnderTest } from './service.ts';
import { processFigures } from './watch.ts';

/** By round, each a second unless it says otherwise. */
export interface PoolFigures {
  readonly bets: readonly number[];
  /** Locks on one pool. */
  readonly hot: readonly number[];
  /** Over 1,000 pools. */
  readonly spread: readonly number[];
  readonly settlements: readonly SettlementFigures[];
  /** Of the service, once all are credited. */
  readonly residentMiB: number;
}

interface SettlementFigures {
  readonly decisionMs: number;
  readonly creditsPerSecond: number;
  readonly betsAlone: number;
  /** While a pool is settled and credited. */
  readonly betsBeside: number;
}

const CONNECTIONS = 256;
const BETS_BESIDE_CONNECTIONS = 64;
const PLAYERS = 500;
/** So many that opening the connections does not count. */
const LOCKS_PER_TURN = 12_000;
const SPREAD_POOLS = 1_000;
/** The most that a pool takes. */
const FULL_POOL = 20_000;
/** `CHIP` of the demo app. */
const CURRENCY = 2;
const LOOK_MS = 50;

interface Stake {
  readonly poolId: string;
  readonly betId: string;
  readonly userId: string;
}

export async function measurePools(
  run: Run,
  service: ServiceUnderTest,
  plan: BenchPlan,
): Promise<PoolFigures> {
  const bench = await prepareHttpBench(run, service);
  const options = { service, signal: run.signal };
  const players = await inParallel(PLAYERS, () => createPlayer(options));
  const stakeOf = (poolId: string, number: number): Stake => ({
    poolId,
    betId: `bet-${number}`,
    userId: players[number % players.length] ?? '',
  });
  const bets: number[] = [];
  const hot: number[] = [];
  const spread: number[] = [];
  const numbers = Array.from({ length: LOCKS_PER_TURN }, (_, number) => number);
  const lockInTurn = async (poolOf: (number: number) => string) => {
    await bench.rest();
    return lock(
      bench,
      numbers.map((number) => stakeOf(poolOf(number), number)),
    );
  };
  const lockHot = (round: string) => lockInTurn(() => `hot-${round}`);
  const lockSpread = (round: string) => lockInTurn((number) => `spread-${round}-${number % SPREAD_POOLS}`);
  // Before anything is counted, so that the service runs compiled code.
  await betsPerSecond(bench, plan, CONNECTIONS);
  await lockHot('warm');
  await lockSpread('warm');
  for (let round = 0; round < plan.poolRounds; round++) {
    await bench.rest();
    bets.push(await betsPerSecond(bench, plan, CONNECTIONS));
    hot.push(await lockHot(`${round}`));
    spread.push(await lockSpread(`${round}`));
    run.progress(
      `locks on one pool and over many: ${Math.round(hot.at(-1) ?? 0)}, ${Math.round(spread.at(-1) ?? 0)}/s`,
    );
  }
  const settlements: SettlementFigures[] = [];
  for (let round = 0; round < plan.poolRounds; round++) {
    const [alone, beside] = [`alone-${round}`, `beside-${round}`].map((poolId) =>
      Array.from({ length: FULL_POOL }, (_, number) => stakeOf(poolId, number)),
    );
    if (!alone || !beside) throw new Error('A round settles two pools.');
    await fill(bench, alone);
    await fill(bench, beside);
    const settled = await settle(options, alone);
    await bench.rest();
    const betsAlone = await betsPerSecond(bench, plan, BETS_BESIDE_CONNECTIONS);
    const [betsBeside] = await Promise.all([
      betsPerSecond(bench, plan, BETS_BESIDE_CONNECTIONS),
      settle(options, beside),
    ]);
    settlements.push({ ...settled, betsAlone, betsBeside });
    run.progress(`a pool of ${FULL_POOL} decided in ${Math.round(settled.decisionMs)} ms`);
  }
  const { residentMiB } = await processFigures(service.origin, run.signal);
  return { bets, hot, spread, settlements, residentMiB };
}

async function betsPerSecond(
  bench: HttpBench,
  { rampMs, measuredMs }: BenchPlan,
  connections: number,
): Promise<number> {
  const { answers, measuredSeconds } = await bench.measure('bet', connections, {
    kind: 'time',
    rampMs,
    measuredMs,
  });
  return answers / measuredSeconds;
}

async function lock(bench: HttpBench, stakes: readonly Stake[]): Promise<number> {
  const bodies = stakes.map((stake) => JSON.stringify({ ...stake, currency: CURRENCY, amount: '10' }));
  const { answers, measuredSeconds } = await bench.send('custody/lock', bodies, CONNECTIONS);
  return answers / measuredSeconds;
}

async function fill(bench: HttpBench, stakes: readonly Stake[]): Promise<void> {
  await lock(bench, stakes);
  const bodies = stakes.map(({ poolId, betId }) => JSON.stringify({ poolId, betId }));
  await bench.send('custody/confirm', bodies, CONNECTIONS);
  await bench.rest();
}

/** Every second stake wins twice what was staked. */
async function settle(
  { service, signal }: { readonly service: ServiceUnderTest; readonly signal: AbortSignal },
  stakes: readonly Stake[],
): Promise<Pick<SettlementFigures, 'decisionMs' | 'creditsPerSecond'>> {
  const poolId = stakes[0]?.poolId ?? '';
  const payouts = stakes
    .filter((_, index) => index % 2 === 0)
    .map(({ betId, userId }) => ({ betId, userId, payout: '20' }));
  const key = service.boot.keys.test.secret;
  const base = `${service.origin}/v1/custody`;
  const begunMs = performance.now();
  await post(
    `${base}/settle`,
    key,
    JSON.stringify({ poolId, currency: CURRENCY, rake: '0', payouts }),
    signal,
  );
  const decidedMs = performance.now();
  for (;;) {
    const response = await fetch(`${base}/pools/${poolId}`, {
      headers: { authorization: `Bearer ${key}` },
      signal,
    });
    const { credits } = (await response.json()) as { credits: { done: number; of: number } };
    if (credits.done === credits.of) {
      const seconds = (performance.now() - decidedMs) / 1_000;
      return { decisionMs: decidedMs - begunMs, creditsPerSecond: credits.of / seconds };
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

export function poolVerdicts({ bets, hot, spread, settlements }: PoolFigures): readonly Verdict[] {
  return [
    judge('lockHot', ratios(hot, bets)),
    judge('lockSpread', ratios(spread, bets)),
    judge(
      'settleDecision',
      settlements.map(({ decisionMs }) => decisionMs),
    ),
    judge(
      'credits',
      settlements.map(({ creditsPerSecond }) => creditsPerSecond),
    ),
    judge(
      'betsBesideCredits',
      settlements.map(({ betsBeside, betsAlone }) => betsBeside / betsAlone),
    ),
  ];
}
