/** The example of a consumer of topics, run as its README says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(import.meta.resolve('../../../../docs/examples/kafka-balances/balances.ts'));

interface Example {
  readonly brokers: string;
  /** The prefix with the environment. */
  readonly topics: string;
  readonly baseUrl: string;
  /** `app_…=sk_…`, with commas between. */
  readonly keys: string;
}

export async function balancesByTopics({ brokers, topics, baseUrl, keys }: Example) {
  const child = spawn(process.execPath, [PROGRAM, brokers, topics, baseUrl], {
    env: { ...process.env, COFFER_SECRET_KEYS: keys },
  });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
  const [exitCode] = await ended;
  return { exitCode, stdout: stdout.join(''), stderr: stderr.join('') };
}
