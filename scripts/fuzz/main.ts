/**
 * `npm run fuzz`: starts a service and sends it random requests from its OpenAPI documents, right and wrong.
 * What it does and how to read it: docs/operating/fuzz.md.
 *
 * Exits with 0 if every answer was documented and the books reconcile, with 1 and the findings if not, with 2
 * if it could not run.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { underControl } from '../bench/underControl.ts';
import { reportOf } from './report.ts';
import { runFuzz } from './runFuzz.ts';

const USAGE = `npm run fuzz -- [--requests N] [--seed N] [--in-flight N]

  --requests N    at least that many; default 20000
  --seed N        chooses what is random; each run prints its own
  --in-flight N   at a time; default 64
`;
const LIMIT_MS = 60 * 60_000;

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string' },
    'in-flight': { type: 'string', default: '64' },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) process.stdout.write(USAGE);
else {
  process.exitCode = await underControl('fuzz', LIMIT_MS, async (run) => {
    const seed = Number(flags.seed ?? randomInt(2 ** 31));
    run.progress(`seed ${seed}`);
    const options = { seed, requests: Number(flags.requests), inFlight: Number(flags['in-flight']) };
    const outcome = await runFuzz(run, options);
    process.stdout.write(reportOf(seed, outcome));
    return outcome.findings.length === 0 ? 0 : 1;
  });
}
