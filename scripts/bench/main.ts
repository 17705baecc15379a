/**
 * `npm run bench`: measures Coffer against plain Express and a bare Postgres, in one run on one machine, and
 * says which bars it passes. What is measured and how to read it: docs/benchmarks.md.
 *
 * Exits with 0 if all bars are passed, with 1 if one is missed, with 2 if it could not measure all it was to.
 */
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { measureAgainst } from './against.ts';
import type { Run } from './children.ts';
import { type Comparison, compareRows, comparisonRows, readRows } from './compare.ts';
import { prepareHttpBench } from './httpBench.ts';
import { measureBets, measureSignIns } from './httpRows.ts';
import { measureKafka } from './kafkaRows.ts';
import { measureBatches, measureState } from './largeState.ts';
import { measureLogReading } from './logReading.ts';
import { machineFacts } from './machine.ts';
import { measureMoves } from './moveRows.ts';
import { measureOpenLoop } from './openLoop.ts';
import {
  type BenchPlan,
  FULL_PLAN,
  PARTS,
  type Part,
  SHORT_PLAN,
  SOAK_MINUTES,
  USUAL_PARTS,
} from './plan.ts';
import { measurePools } from './poolRows.ts';
import { type ProfiledPart, profileRoutes } from './profileRoutes.ts';
import { measureReferrals } from './referralRows.ts';
import { type Figures, resultOf } from './report.ts';
import { table, textOf } from './reportText.ts';
import { type ServiceUnderTest, startService } from './service.ts';
import { measureSoak } from './soak.ts';
import { measureStore } from './store.ts';
import { underControl } from './underControl.ts';
import { measureWebhooks } from './webhookRows.ts';

const USAGE = `npm run bench -- [--full] [--json] [--html <file>] [--only <part>] [--minutes <n>] [--profile <file>]
npm run bench -- --compare <before.json> --compare <after.json> [--fail-on-worse]
npm run bench -- --against <folder> [--full] [--fail-on-worse]

  --full             longer and more rounds, for figures to keep
  --json             the result as JSON on standard output
  --html <file>      also writes the result to the file, as a page with plots
  --only <part>      one part and its bars, may be given again: ${PARTS.join(', ')}
  --minutes <n>      how long the part soak takes: ${SOAK_MINUTES}, unless given
  --profile <file>   no bars: bets at 64 and 256 connections under a CPU profiler, the profile in <file>;
                     with --only signIns verifications, challenges and sign-ins, with --only moves deposits
  --compare <file>   twice: says of two results, row by row, whether the second is better, worse or within noise
  --against <folder> no bars: bets here in turns with another checkout, which needs its node_modules
  --fail-on-worse    exits with 1 if a row is worse
`;

/** What is measured of one service. */
const SERVED_PARTS: readonly Part[] = [
  'bets',
  'openLoop',
  'signIns',
  'moves',
  'pools',
  'referrals',
  'webhooks',
];

const { values: flags } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    html: { type: 'string' },
    only: { type: 'string', multiple: true },
    minutes: { type: 'string', default: String(SOAK_MINUTES) },
    profile: { type: 'string' },
    compare: { type: 'string', multiple: true },
    against: { type: 'string' },
    'fail-on-worse': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const plan = flags.full ? FULL_PLAN : SHORT_PLAN;
const soakMs = flags.only?.includes('soak') ? Number(flags.minutes) * 60_000 : 0;

if (flags.help) process.stdout.write(USAGE);
else process.exitCode = await underControl('bench', plan.limitMs + soakMs, bench);

async function bench(run: Run): Promise<number> {
  if (flags.compare) return told(await comparisonOfFiles(flags.compare));
  if (flags.against !== undefined) return told(await measureAgainst(run, plan, resolve(flags.against)));
  const parts = partsOf(flags.only);
  if (flags.profile !== undefined) {
    process.stdout.write(await profileRoutes(run, plan, flags.profile, profiledPart(flags.only)));
    return 0;
  }
  const facts = await machineFacts(run);
  const store = parts.includes('store') ? await measureStore(run, plan) : undefined;
  const http = await measureHttp(run, plan, parts);
  const batches = parts.includes('batches') ? await measureBatches(run, plan) : undefined;
  const kafka = parts.includes('kafka') ? await measureKafka(run, plan) : undefined;
  const state = parts.includes('state') ? await measureState(run, plan) : undefined;
  const logReading = parts.includes('logReading') ? await measureLogReading(run, plan) : undefined;
  const soak = parts.includes('soak') ? await measureSoak(run, plan, minutesOf(flags.minutes)) : undefined;
  const machine = { ...facts, loadAtEnd: loadavg() };
  const result = resultOf(plan, machine, { store, ...http, kafka, batches, state, logReading, soak });
  if (flags.html !== undefined) {
    const { pageOf } = await import('./page.ts');
    await writeFile(flags.html, pageOf(result));
  }
  process.stdout.write(flags.json ? `${JSON.stringify(result, null, 2)}\n` : `\n${textOf(result)}`);
  if (result.unmeasured.length > 0) return 2;
  return result.passed ? 0 : 1;
}

function told(comparisons: readonly Comparison[]): number {
  process.stdout.write(`${table(comparisonRows(comparisons)).join('\n')}\n`);
  return flags['fail-on-worse'] && comparisons.some(({ verdict }) => verdict === 'worse') ? 1 : 0;
}

async function comparisonOfFiles([before, after, ...more]: readonly string[]): Promise<
  readonly Comparison[]
> {
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error('Two results are compared: --compare before.json --compare after.json');
  }
  return compareRows(await readRows(before), await readRows(after), { paired: false });
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (Number.isInteger(minutes) && minutes >= 3) return minutes;
  throw new Error('A soak takes three minutes or more: the last one is compared with the second.');
}

function partsOf(only: readonly string[] | undefined): readonly Part[] {
  if (only === undefined) return USUAL_PARTS;
  return only.map((name) => {
    const part = PARTS.find((one) => one === name);
    if (!part) throw new Error(`There is no part "${name}": ${PARTS.join(', ')}.`);
    return part;
  });
}

function profiledPart(only: readonly string[] | undefined): ProfiledPart {
  const [part, ...more] = only === undefined ? ['bets' as const] : partsOf(only);
  if (more.length > 0) throw new Error('One part is profiled at a time.');
  if (part === 'bets' || part === 'signIns' || part === 'moves') return part;
  throw new Error('Only bets, signIns and moves can be profiled.');
}

async function measureHttp(
  run: Run,
  plan: BenchPlan,
  parts: readonly Part[],
): Promise<Omit<Figures, 'store' | 'kafka' | 'batches' | 'state' | 'logReading' | 'soak'>> {
  const none = {
    bets: undefined,
    openLoop: undefined,
    signIns: undefined,
    pools: undefined,
    referrals: undefined,
    webhooks: undefined,
    moves: undefined,
  };
  if (!parts.some((part) => SERVED_PARTS.includes(part))) return none;
  run.progress('starting the service');
  const service = await startService(run, {});
  const routes = parts.some((part) => part === 'bets' || part === 'openLoop' || part === 'signIns')
    ? await measureRoutes(run, service, plan, parts)
    : none;
  const pools = parts.includes('pools') ? await measurePools(run, service, plan) : undefined;
  const referrals = parts.includes('referrals') ? await measureReferrals(run, service, plan) : undefined;
  const webhooks = parts.includes('webhooks') ? await measureWebhooks(run, service, plan) : undefined;
  const moves = parts.includes('moves') ? await measureMoves(run, service, plan) : undefined;
  await service.stop();
  return { ...routes, pools, referrals, webhooks, moves };
}

async function measureRoutes(
  run: Run,
  service: ServiceUnderTest,
  plan: BenchPlan,
  parts: readonly Part[],
): Promise<Pick<Figures, 'bets' | 'openLoop' | 'signIns'>> {
  const http = await prepareHttpBench(run, service);
  return {
    bets: parts.includes('bets') ? await measureBets(run, service, http, plan) : undefined,
    openLoop: parts.includes('openLoop') ? await measureOpenLoop(run, service, http, plan) : undefined,
    signIns: parts.includes('signIns') ? await measureSignIns(run, http, plan) : undefined,
  };
}
