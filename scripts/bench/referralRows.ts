/** Measures referrals: distributions and withdrawals against bets, and a long chain of referrers. */
import { judge, ratios, type Verdict } from './bars.ts';
import type { Run } from './children.ts';
import { type HttpBench, prepareHttpBench } from './httpBench.ts';
import { inParallel } from './inParallel.ts';
import type { BenchPlan } from './plan.ts';
import { createUser, post } from './players.ts';
import type { ServiceUnderTest } from './service.ts';

/** By round, each a second. */
export interface ReferralFigures {
  readonly bets: readonly number[];
  readonly distributions: readonly number[];
  readonly withdrawals: readonly number[];
  /** Chains of 2 and of 10, from the bottom of the long one. */
  readonly chainsOfTwo: readonly number[];
  readonly chainsOfTen: readonly number[];
  /** At the bottom of the long chain, over its last tenth, one after the other. All users have a code. */
  readonly attributionsPerSecond: number;
}

const CONNECTIONS = 256;
const LEVELS = 10;
/** Each of one user with all levels above. */
const TREES = 100;
const DISTRIBUTIONS_PER_TURN = 2_000;
const WITHDRAWALS_PER_TURN = 6_000;
/** Two seconds or more, so that a collection of garbage counts on both sides. */
const LOOKS_PER_TURN = 30_000;
const LOOK_CONNECTIONS = 64;
/** `CHIP` of the demo app. */
const CURRENCY = 2;

export async function measureReferrals(
  run: Run,
  service: ServiceUnderTest,
  plan: BenchPlan,
): Promise<ReferralFigures> {
  const bench = await prepareHttpBench(run, service);
  const options = { service, signal: run.signal };
  run.progress(`growing ${TREES} chains of ${LEVELS}, and one of ${plan.referralChain}`);
  const trees = await inParallel(TREES, () => growChain(options, LEVELS + 1));
  const long = await growChain(options, plan.referralChain);
  const bets: number[] = [];
  const distributions: number[] = [];
  const withdrawals: number[] = [];
  const chainsOfTwo: number[] = [];
  const chainsOfTen: number[] = [];
  const send = async (path: string, bodies: readonly object[], connections = CONNECTIONS) => {
    await bench.rest();
    const texts = bodies.map((body) => JSON.stringify(body));
    const { answers, measuredSeconds } = await bench.send(`referrals/${path}`, texts, connections);
    return answers / measuredSeconds;
  };
  const distribute = (round: string) =>
    send(
      'distribute',
      Array.from({ length: DISTRIBUTIONS_PER_TURN }, (_, number) => ({
        idemKey: `distribution-${round}-${number}`,
        userId: trees[number % TREES]?.users.at(-1),
        currency: CURRENCY,
        amount: '100000',
        levels: new Array(LEVELS).fill(1_000),
      })),
    );
  const withdraw = (round: string) =>
    send(
      'withdraw',
      Array.from({ length: WITHDRAWALS_PER_TURN }, (_, number) => ({
        idemKey: `withdrawal-${round}-${number}`,
        userId: trees[number % TREES]?.users[Math.floor(number / TREES) % LEVELS],
        currency: CURRENCY,
        amount: '1',
      })),
    );
  const look = (depth: number) =>
    send('chain', new Array(LOOKS_PER_TURN).fill({ userId: long.users.at(-1), depth }), LOOK_CONNECTIONS);
  // Before anything is counted, so that the service runs compiled code.
  await betsPerSecond(bench, plan);
  await distribute('warm');
  await withdraw('warm');
  for (let round = 0; round < plan.referralRounds; round++) {
    await bench.rest();
    bets.push(await betsPerSecond(bench, plan));
    distributions.push(await distribute(`${round}`));
    withdrawals.push(await withdraw(`${round}`));
    chainsOfTwo.push(await look(2));
    chainsOfTen.push(await look(LEVELS));
    run.progress(
      `distributions and withdrawals: ${Math.round(distributions.at(-1) ?? 0)}, ${Math.round(withdrawals.at(-1) ?? 0)}/s`,
    );
  }
  const { attributionsPerSecond } = long;
  return { bets, distributions, withdrawals, chainsOfTwo, chainsOfTen, attributionsPerSecond };
}

async function betsPerSecond(bench: HttpBench, { rampMs, measuredMs }: BenchPlan): Promise<number> {
  const until = { kind: 'time', rampMs, measuredMs } as const;
  const { answers, measuredSeconds } = await bench.measure('bet', CONNECTIONS, until);
  return answers / measuredSeconds;
}

/** Each user was brought by the one before. All have codes before, so that every attribution looks for a circle. */
async function growChain(
  options: { readonly service: ServiceUnderTest; readonly signal: AbortSignal },
  length: number,
): Promise<{ readonly users: readonly string[]; readonly attributionsPerSecond: number }> {
  const { service, signal } = options;
  const call = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const key = service.boot.keys.test.secret;
    return JSON.parse(
      await post(`${service.origin}/v1/referrals/${path}`, key, JSON.stringify(body), signal),
    );
  };
  const users = await inParallel(length, () => createUser(options));
  const codes = await inParallel(
    length,
    async (index) => (await call('code', { userId: users[index] })).code,
  );
  const measuredFrom = Math.floor(length * 0.9);
  let begunMs = performance.now();
  for (let index = 1; index < length; index++) {
    if (index === measuredFrom) begunMs = performance.now();
    const { attributed } = await call('attribute', { userId: users[index], code: codes[index - 1] });
    if (attributed !== true) throw new Error('A link of the chain was refused.');
  }
  const seconds = (performance.now() - begunMs) / 1_000;
  return { users, attributionsPerSecond: (length - measuredFrom) / seconds };
}

export const referralVerdicts = (figures: ReferralFigures): readonly Verdict[] => [
  judge('distribute', ratios(figures.distributions, figures.bets)),
  judge('withdraw', ratios(figures.withdrawals, figures.bets)),
  judge('chainOfTen', ratios(figures.chainsOfTen, figures.chainsOfTwo)),
];
