/** The hot path under a CPU profiler: the profile, and in words which functions the time goes to. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Run } from './children.ts';
import { busyTimes, type CpuProfile, type Share } from './cpuProfile.ts';
import { prepareHttpBench } from './httpRows.ts';
import type { BenchPlan } from './plan.ts';
import { profileFolder, startService } from './service.ts';

const FUNCTIONS_SHOWN = 40;
const PACKAGES_SHOWN = 15;
const CONNECTIONS = [64, 256];

export async function profileBets(run: Run, plan: BenchPlan, file: string): Promise<string> {
  const path = resolve(file);
  const folder = await profileFolder(dirname(path));
  const service = await startService(run, { profile: { folder, name: basename(path) } });
  const bench = await prepareHttpBench(run, service);
  await bench.measure('bet', 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  const stretches = [];
  for (const connections of CONNECTIONS) {
    await bench.rest();
    const { rampMs, warmUpMs } = plan;
    const report = await bench.measure('bet', connections, {
      kind: 'time',
      rampMs,
      measuredMs: warmUpMs * 2,
    });
    stretches.push({ connections, report });
  }
  await service.stop();

  const profile: CpuProfile = JSON.parse(await readFile(path, 'utf8'));
  const lines = stretches.flatMap(({ connections, report }) => {
    const { functions, packages, idleShare } = busyTimes(profile, report.fromUs, report.toUs);
    return [
      `bet at ${connections} connections: ${Math.round(report.answers / report.measuredSeconds)} requests/s, ` +
        `main thread idle ${(idleShare * 100).toFixed(1)} %`,
      ...linesOf(packages.slice(0, PACKAGES_SHOWN)),
      '',
      ...linesOf(functions.slice(0, FUNCTIONS_SHOWN)),
      '',
    ];
  });
  return `${lines.join('\n')}The profile is in ${path}\n`;
}

const linesOf = (shares: readonly Share[]) =>
  shares.map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
