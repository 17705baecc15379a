/**
 * `npm run faults`: deposits, withdrawals and commissions over a faulty chain, with workers and services being killed.
 * What it does and how to read it: docs/operating/faults.md.
 *
 * Exits with 0 if nothing was lost or doubled, with 1 and the evidence if something was, with 2 if it could
 * not run.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startKafkaBroker, stopSharedServer, whyNoBroker } from '@coffer/testing';
import { FULL_PLAN, SMALL_PLAN } from './plan.ts';
import { reportOf } from './report.ts';
import { runFaults } from './runFaults.ts';

const USAGE = `npm run faults -- [--small] [--faults N] [--ledger]

  --small      500 faults and 19 deaths: what npm test does
  --faults N   at least that many
  --ledger     no chain: random histories of bets and settlements, by the executable model of the ledger

COFFER_FAULTS_SEED=N chooses what is random, COFFER_LEDGER_SEED=N with --ledger; each run prints its own.
`;

const LEDGER_SPECS = [
  'packages/ledger/src/deciders.property.spec.ts',
  'packages/ledger/src/twoNodes.property.spec.ts',
  'services/coffer/src/conformance.e2e.spec.ts',
];

const { values: flags } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    faults: { type: 'string' },
    ledger: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) process.stdout.write(USAGE);
else process.exitCode = flags.ledger ? await playLedger() : await main();

/** The specs that npm test runs on the same histories each time, here on random ones. */
async function playLedger(): Promise<number> {
  const seed = process.env.COFFER_LEDGER_SEED ?? String(randomInt(2 ** 31));
  process.stderr.write(`faults: COFFER_LEDGER_SEED=${seed}\n`);
  const why = whyNoBroker();
  if (why) process.stderr.write(`faults: without topics of Kafka: ${why}\n`);
  await using stack = new AsyncDisposableStack();
  const broker = why === undefined ? await startKafkaBroker() : undefined;
  stack.defer(() => broker?.stop());
  const mocha = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...LEDGER_SPECS], {
    env: {
      ...process.env,
      COFFER_LEDGER_SEED: seed,
      ...(broker && { KAFKA_TEST_BROKERS: broker.brokers }),
    },
    stdio: 'inherit',
  });
  const [code] = await once(mocha, 'exit');
  return code === 0 ? 0 : 1;
}

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
