/** The hot paths under a CPU profiler: the profile, and a list of the functions where the time goes. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Run } from './children.ts';
import { busyTimes, type CpuProfile, type Share } from './cpuProfile.ts';
import { type HttpBench, prepareHttpBench, type RouteName } from './httpBench.ts';
import type { LoadReport } from './load.ts';
import { prepareMoves } from './moveRows.ts';
import { type BenchPlan, type Part, SIGNED_IN_PLAYERS } from './plan.ts';
import { profileFolder, type ServiceUnderTest, startService } from './service.ts';

const FUNCTIONS_SHOWN = 40;
const PACKAGES_SHOWN = 15;
const SIGN_IN_TURNS = 3;

/** What ran between two moments of the machine's monotonic clock. */
interface Stretch {
  readonly what: string;
  readonly fromUs: number;
  readonly toUs: number;
}

export type ProfiledPart = Extract<Part, 'bets' | 'signIns' | 'moves'>;

export async function profileRoutes(
  run: Run,
  plan: BenchPlan,
  file: string,
  part: ProfiledPart,
): Promise<string> {
  const path = resolve(file);
  const folder = await profileFolder(dirname(path));
  const service = await startService(run, { profile: { folder, name: basename(path) } });
  const stretches = await STRETCHES[part](run, service, plan);
  await service.stop();

  const profile: CpuProfile = JSON.parse(await readFile(path, 'utf8'));
  const lines = stretches.flatMap(({ what, fromUs, toUs }) => {
    const { functions, packages, idleShare } = busyTimes(profile, fromUs, toUs);
    return [
      `${what}, main thread idle ${(idleShare * 100).toFixed(1)} %`,
      ...linesOf(packages.slice(0, PACKAGES_SHOWN)),
      '',
      ...linesOf(functions.slice(0, FUNCTIONS_SHOWN)),
      '',
    ];
  });
  return `${lines.join('\n')}The profile is in ${path}\n`;
}

const STRETCHES: Readonly<
  Record<ProfiledPart, (run: Run, service: ServiceUnderTest, plan: BenchPlan) => Promise<readonly Stretch[]>>
> = { bets, signIns, moves };

async function moves(run: Run, service: ServiceUnderTest, plan: BenchPlan): Promise<readonly Stretch[]> {
  const bench = await prepareMoves(run, service);
  await bench.rest();
  const { confirmedPerSecond, fromUs, toUs } = await bench.deposits(plan.movesPerRound);
  return [{ what: `deposits: ${Math.round(confirmedPerSecond)} moves/s`, fromUs, toUs }];
}

async function bets(run: Run, service: ServiceUnderTest, plan: BenchPlan): Promise<readonly Stretch[]> {
  const bench = await prepareHttpBench(run, service);
  await bench.measure('bet', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  return [await stretch(bench, plan, 'bet', 64), await stretch(bench, plan, 'bet', 256)];
}

/** Challenges and their sign-ins are limited in number, so the last of several turns is used. */
async function signIns(run: Run, service: ServiceUnderTest, plan: BenchPlan): Promise<readonly Stretch[]> {
  const bench = await prepareHttpBench(run, service);
  await bench.measure('verify', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  const stretches = [await stretch(bench, plan, 'verify', 64)];
  const until = { kind: 'answers', answers: SIGNED_IN_PLAYERS } as const;
  for (let turn = 1; turn <= SIGN_IN_TURNS; turn++) {
    await bench.rest();
    const challenge = await bench.measure('challenge', 64, until);
    const signIn = await bench.measure('signIn', 64, until);
    if (turn < SIGN_IN_TURNS) continue;
    stretches.push(stretchOf('challenge', 64, challenge), stretchOf('signIn', 64, signIn));
  }
  return stretches;
}

async function stretch(
  bench: HttpBench,
  { rampMs, warmUpMs }: BenchPlan,
  route: RouteName,
  connections: number,
): Promise<Stretch> {
  await bench.rest();
  const report = await bench.measure(route, connections, { kind: 'time', rampMs, measuredMs: warmUpMs * 2 });
  return stretchOf(route, connections, report);
}

const stretchOf = (
  route: RouteName,
  connections: number,
  { answers, measuredSeconds, fromUs, toUs }: LoadReport,
): Stretch => ({
  what: `${route} at ${connections} connections: ${Math.round(answers / measuredSeconds)} requests/s`,
  fromUs,
  toUs,
});

const linesOf = (shares: readonly Share[]) =>
  shares.map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
