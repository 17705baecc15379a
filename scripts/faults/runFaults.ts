/** One run: everything is started, goes wrong, ends, and is judged. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createPool } from '@coffer/database';
import { type Client, createClient } from '@coffer/host/testing';
import { expireLeases } from '@coffer/read-models/testing';
import { createTestDatabase, randomFrom } from '@coffer/testing';
import { delegatingClient } from '../../services/coffer/src/testing/delegatingClient.ts';
import { SPEC_MASTER_KEYS, serviceTemplate } from '../../services/coffer/src/testing/world.ts';
import { type Asked, startCallers } from './callers.ts';
import { type AskedCommission, bringUsers, startCommissionCallers } from './commissions.ts';
import { judgeCommissions } from './commissionVerdict.ts';
import { type DeathsOptions, killServices, killWorkers, WORKER } from './deaths.ts';
import { startFaultyChain } from './faultyChain.ts';
import { createNodes, type Node } from './nodes.ts';
import { putLogBack } from './olderLog.ts';
import type { FaultPlan } from './plan.ts';
import { startReceiver } from './receiver.ts';
import { type Scene, setScene } from './scene.ts';
import { createTally, type Tally } from './tally.ts';
import { judge, type Verdict } from './verdict.ts';

/** A move that has not ended by then never will. */
const ENDED_WITHIN_MS = 90_000;
const MOST_VIOLATIONS = 50;

export interface Outcome extends Verdict {
  readonly faults: Tally;
  readonly deaths: Tally;
  readonly asked: readonly Asked[];
  readonly askedCommissions: readonly AskedCommission[];
  /** How many the log has. */
  readonly commissions: number;
  readonly unanswered: number;
  /** How many facts all receivers were told. */
  readonly webhooks: number;
  readonly violations: readonly string[];
  readonly seconds: number;
}

export interface RunOptions {
  readonly plan: FaultPlan;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

export async function runFaults({ plan, seed, progress }: RunOptions): Promise<Outcome> {
  const startedAtMs = performance.now();
  const random = randomFrom(seed);
  const faults = createTally();
  const deaths = createTally();
  const violations: string[] = [];
  const complain = (violation: string) => {
    if (violations.length < MOST_VIOLATIONS) violations.push(violation);
    progress(`VIOLATION: ${violation}`);
  };
  await using stack = new AsyncDisposableStack();

  const database = await createTestDatabase(serviceTemplate);
  stack.defer(() => database.drop());
  const pool = createPool({
    connectionString: database.connectionString,
    applicationName: 'faults',
    onIdleError() {},
  });
  stack.defer(() => pool.end());
  const folder = await mkdtemp(join(tmpdir(), 'coffer-faults-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const chain = await startFaultyChain(random, faults);
  stack.defer(chain.stop);

  const receiver = await startReceiver({ pool, random, faults, complain });
  stack.defer(receiver.stop);

  const operatorToken = `op_${randomBytes(32).toString('base64url')}`;
  const nodes = createNodes({
    COFFER_DATA_DIR: folder,
    DATABASE_URL: database.connectionString,
    SOLANA_TEST_RPC_URL: chain.url,
    COFFER_CHAIN_POLL_MS: '100',
    COFFER_WEBHOOKS_ALLOW_INSECURE: '1',
    COFFER_REACTION_GRACE_MS: '500',
    COFFER_OPERATOR_TOKEN: operatorToken,
    COFFER_SECRETS_KEY: randomBytes(32).toString('base64'),
    COFFER_IDENTITY_KEY: randomBytes(32).toString('base64'),
    COFFER_MASTER_KEYS: SPEC_MASTER_KEYS,
    COFFER_SIGN_IN_IP_RATE_PER_MINUTE: '1000000',
    COFFER_SIGN_IN_KEY_RATE_PER_MINUTE: '1000000',
  });
  stack.defer(nodes.stop);

  progress('starting the service');
  const clientAt = (url: string) => createClient({ baseUrl: `${url}/v1`, operatorToken });
  let serving = await startService();
  const steady = delegatingClient(() => serving);
  const scene = await setScene(steady, chain, receiver, plan.users);
  await bringUsers(steady, scene);

  const doomedUrls = new Set<string>();
  const anyOf = delegatingClient(() => {
    const [doomed] = doomedUrls;
    return doomed !== undefined && random() < 0.5 ? clientAt(doomed) : steady;
  });
  const callers = startCallers({ client: anyOf, scene, random, atOnce: plan.movesAtOnce, complain });
  const earners = startCommissionCallers({ client: anyOf, scene, random, complain });
  chain.setTrouble(true);
  receiver.setTrouble(true);
  const options: DeathsOptions = {
    ...{ plan, nodes, chain, pool, random, deaths, faults, complain, doomedUrls },
    progress: (line) => progress(`${faults.total()} faults, ${callers.asked.length} requests; ${line}`),
  };
  const [worker] = await Promise.all([killWorkers(options), killServices(options)]);
  let told = faults.total();
  while (faults.total() < plan.faults) {
    await delay(50);
    if (faults.total() - told < 500) continue;
    told = faults.total();
    options.progress('all planned deaths have happened');
  }

  progress('faults are over; waiting for all moves to end');
  chain.setTrouble(false);
  receiver.setTrouble(false);
  await Promise.all([callers.stop(), earners.stop()]);
  // What waits between two attempts starts over with the next worker.
  const last = await replacedBy(worker);
  await allEnded(steady, scene, callers.asked, complain);

  progress('putting the log back to an older state');
  last.kill();
  await last.ended;
  const late = await putLogBack({ nodes, pool, client: steady, scene, faults, deaths });
  serving = await startService();
  await nodes.start(WORKER);
  const asked = [...callers.asked, ...late];
  await allEnded(steady, scene, asked, complain);

  const webhooks = await receiver.judge(steady);
  const commissions = await judgeCommissions({ client: steady, scene, asked: earners.asked, complain });
  const verdict = await judge({ client: steady, chainUrl: chain.url, scene, asked, complain });
  await nodes
    .command(['reconcile', '--app', scene.appId, '--env', 'test', '--full', '--chain'])
    .catch((error: Error) => complain(error.message));
  return {
    ...verdict,
    ...{ faults, deaths, violations, webhooks },
    ...{ asked, commissions },
    askedCommissions: earners.asked,
    unanswered: callers.unanswered() + earners.unanswered(),
    seconds: (performance.now() - startedAtMs) / 1_000,
  };

  async function startService(): Promise<Client> {
    const service = await nodes.start(['api', 'projector']);
    if (!service.url) throw new Error(`The service did not start:\n${service.said()}`);
    return clientAt(service.url);
  }

  async function replacedBy(last: Node): Promise<Node> {
    const next = nodes.start(WORKER);
    last.kill();
    await last.ended;
    await expireLeases(pool, 'records');
    return next;
  }
}

async function allEnded(
  client: Client,
  { secretKey }: Scene,
  asked: readonly Asked[],
  complain: (violation: string) => void,
): Promise<void> {
  const deadlineMs = performance.now() + ENDED_WITHIN_MS;
  for (const { ref, accepted, isUncertain } of asked) {
    if (accepted === undefined && !isUncertain) continue;
    for (;;) {
      const { json, text } = await client.post('/treasury/status', { ref }, { key: secretKey });
      if (json.status === 'confirmed' || json.status === 'failed') break;
      if (isUncertain && json.code === 'treasury/move_not_found') break;
      if (performance.now() > deadlineMs) {
        complain(`${ref} does not end: ${text}`);
        break;
      }
      await delay(50);
    }
  }
}
