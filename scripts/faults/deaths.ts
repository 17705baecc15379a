/** Kills workers and services, one after another, at each step and at random instants. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import type { FailPointName } from '@coffer/kernel';
import { expireLeases } from '@coffer/read-models/testing';
import type { Random } from '@coffer/testing';
import type { FaultyChain } from './faultyChain.ts';
import type { Node, Nodes } from './nodes.ts';
import { type FaultPlan, MOVE_STEPS, REQUEST_STEPS } from './plan.ts';
import type { Tally } from './tally.ts';

export const WORKER = ['chain-worker', 'process-manager', 'webhook-emitter', 'webhook-sender'];
const AT_RANDOM = 'random instant';
/** For those that die at a random instant. */
const MOST_CALLS = 200;
/** Two workers carry the same moves for a while: this share of workers takes the lease of a living one. */
const LEASES_TAKEN = 0.25;
const STANDBY_LOOKS_EVERY_MS = 1_000;
/** A step that is not reached within this time is helped along. */
const PATIENCE_MS = 2_000;

interface Death {
  readonly at: FailPointName | typeof AT_RANDOM;
}

export interface DeathsOptions {
  readonly plan: FaultPlan;
  readonly nodes: Nodes;
  readonly chain: FaultyChain;
  readonly pool: Pool;
  readonly random: Random;
  /** By the point of death. */
  readonly deaths: Tally;
  readonly faults: Tally;
  readonly complain: (violation: string) => void;
  /** The nodes serving the API that are about to die. */
  readonly doomedUrls: Set<string>;
  readonly progress: (line: string) => void;
}

/** Each dies as planned, with the next one ready. Leaves one living worker. */
export async function killWorkers(options: DeathsOptions): Promise<Node> {
  const { plan, nodes, chain, random } = options;
  const dying = shuffled(
    [
      ...MOVE_STEPS.flatMap((at) => Array.from({ length: plan.deathsAtEachStep }, (): Death => ({ at }))),
      ...Array.from({ length: plan.deathsAtRandom }, (): Death => ({ at: AT_RANDOM })),
    ],
    random,
  );
  const startWorker = (death: Death | undefined) =>
    nodes.start(WORKER, death === undefined || death.at === AT_RANDOM ? undefined : death.at);

  let next = startWorker(dying[0]);
  for (const [index, death] of dying.entries()) {
    const worker = await next;
    next = startWorker(dying[index + 1]);
    next.catch(() => undefined);
    if (random() < LEASES_TAKEN) {
      await next;
      await takeLease(options, worker);
    }
    if (death.at === AT_RANDOM) {
      const atCall = chain.calls() + random() * MOST_CALLS;
      while (worker.isAlive() && chain.calls() < atCall) await delay(5);
      worker.kill();
    }
    while ((await Promise.race([worker.ended, delay(PATIENCE_MS, 'alive')])) === 'alive') {
      // A worker that has since died may hold the lease.
      await expireLeases(options.pool, 'records');
      if (death.at === 'move.expired') chain.expireSoon();
    }
    await buried(options, worker, death.at);
    await expireLeases(options.pool, 'records');
    options.progress(`worker ${index + 1} of ${dying.length} died: ${death.at}`);
  }
  return next;
}

/** Services that die at a step of a request, while others keep serving. */
export async function killServices(options: DeathsOptions): Promise<void> {
  const { plan, nodes, doomedUrls, random } = options;
  const dying = shuffled(
    REQUEST_STEPS.flatMap((at) => Array.from({ length: plan.deathsOfEachRequest }, () => at)),
    random,
  );
  for (const [index, at] of dying.entries()) {
    const service = await nodes.start(['api'], at);
    if (service.url) doomedUrls.add(service.url);
    await service.ended;
    if (service.url) doomedUrls.delete(service.url);
    await buried(options, service, at);
    options.progress(`service ${index + 1} of ${dying.length} died: ${at}`);
  }
}

async function buried({ deaths, faults, complain }: DeathsOptions, node: Node, at: string): Promise<void> {
  const signal = await node.ended;
  if (signal === 'SIGKILL') {
    deaths.add(at);
    faults.add('process killed');
  } else complain(`a process that should have died at ${at} ended with ${signal}:\n${node.said()}`);
}

/** The lease of a living worker expires: until it notices, two carry the same moves. */
async function takeLease({ pool, faults }: DeathsOptions, worker: Node): Promise<void> {
  const before = await epochOf(pool);
  await expireLeases(pool, 'records');
  await Promise.race([worker.ended, delay(STANDBY_LOOKS_EVERY_MS * 1.5)]);
  if (worker.isAlive() && (await epochOf(pool)) !== before) faults.add('lease taken from a living worker');
}

async function epochOf(pool: Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ epoch: string }>(
    `select epoch from records.consumers where name = 'chainWorkerTest'`,
  );
  return rows[0]?.epoch;
}

function shuffled<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
