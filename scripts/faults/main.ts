/**
 * `npm run faults`: deposits and withdrawals over a chain that goes wrong, with workers and services that are killed.
 * What it does and how to read it: docs/operating/faults.md.
 *
 * Ends with 0 when nothing was lost or doubled, 1 with the evidence, 2 when it could not be run.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { stopSharedServer } from '@coffer/testing';
import { FULL_PLAN, SMALL_PLAN } from './plan.ts';
import { reportOf } from './report.ts';
import { runFaults } from './runFaults.ts';

const USAGE = `npm run faults -- [--small] [--faults N]

  --small      500 faults and 21 deaths: what npm test does
  --faults N   at least so many

COFFER_FAULTS_SEED=N chooses what is random; each run prints its own.
`;

const { values: flags } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    faults: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) process.stdout.write(USAGE);
else process.exitCode = await main();

async function main(): Promise<number> {
  const plan = flags.small ? SMALL_PLAN : FULL_PLAN;
  const seed = Number(process.env.COFFER_FAULTS_SEED ?? randomInt(2 ** 31));
  const startedAtMs = performance.now();
  const progress = (line: string) => {
    const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
    process.stderr.write(`faults: ${String(seconds).padStart(4)} s  ${line}\n`);
  };
  progress(`seed ${seed}`);
  const timer = setTimeout(() => {
    progress(`the run was not over after ${plan.limitMs / 60_000} minutes`);
    process.exit(2);
  }, plan.limitMs);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(2));
  try {
    const faults = flags.faults === undefined ? plan.faults : Number(flags.faults);
    const outcome = await runFaults({ plan: { ...plan, faults }, seed, progress });
    process.stdout.write(reportOf(seed, outcome));
    return outcome.violations.length === 0 ? 0 : 1;
  } catch (error) {
    progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 2;
  } finally {
    clearTimeout(timer);
    await stopSharedServer();
  }
}
