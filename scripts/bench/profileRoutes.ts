/** The hot paths under a CPU profiler: the profile, and in words which functions the time goes to. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Run } from './children.ts';
import { busyTimes, type CpuProfile, type Share } from './cpuProfile.ts';
import { type HttpBench, prepareHttpBench, type RouteName } from './httpBench.ts';
import type { LoadReport } from './load.ts';
import { type BenchPlan, SIGNED_IN_PLAYERS } from './plan.ts';
import { profileFolder, startService } from './service.ts';

const FUNCTIONS_SHOWN = 40;
const PACKAGES_SHOWN = 15;
const SIGN_IN_TURNS = 3;

interface Stretch {
  readonly route: RouteName;
  readonly connections: number;
  readonly report: LoadReport;
}

export async function profileRoutes(
  run: Run,
  plan: BenchPlan,
  file: string,
  part: 'bets' | 'signIns',
): Promise<string> {
  const path = resolve(file);
  const folder = await profileFolder(dirname(path));
  const service = await startService(run, { profile: { folder, name: basename(path) } });
  const bench = await prepareHttpBench(run, service);
  const stretches = part === 'bets' ? await bets(bench, plan) : await signIns(bench, plan);
  await service.stop();

  const profile: CpuProfile = JSON.parse(await readFile(path, 'utf8'));
  const lines = stretches.flatMap(({ route, connections, report }) => {
    const { functions, packages, idleShare } = busyTimes(profile, report.fromUs, report.toUs);
    return [
      `${route} at ${connections} connections: ${Math.round(report.answers / report.measuredSeconds)} requests/s, ` +
        `main thread idle ${(idleShare * 100).toFixed(1)} %`,
      ...linesOf(packages.slice(0, PACKAGES_SHOWN)),
      '',
      ...linesOf(functions.slice(0, FUNCTIONS_SHOWN)),
      '',
    ];
  });
  return `${lines.join('\n')}The profile is in ${path}\n`;
}

async function bets(bench: HttpBench, plan: BenchPlan): Promise<readonly Stretch[]> {
  await bench.measure('bet', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  return [await stretch(bench, plan, 'bet', 64), await stretch(bench, plan, 'bet', 256)];
}

/** Challenges and the sign-ins with them are of a number, so they are the last of several turns. */
async function signIns(bench: HttpBench, plan: BenchPlan): Promise<readonly Stretch[]> {
  await bench.measure('verify', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  const stretches = [await stretch(bench, plan, 'verify', 64)];
  const until = { kind: 'answers', answers: SIGNED_IN_PLAYERS } as const;
  for (let turn = 1; turn <= SIGN_IN_TURNS; turn++) {
    await bench.rest();
    const challenge = await bench.measure('challenge', 64, until);
    const signIn = await bench.measure('signIn', 64, until);
    if (turn < SIGN_IN_TURNS) continue;
    stretches.push({ route: 'challenge', connections: 64, report: challenge });
    stretches.push({ route: 'signIn', connections: 64, report: signIn });
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
  return { route, connections, report };
}

const linesOf = (shares: readonly Share[]) =>
  shares.map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
