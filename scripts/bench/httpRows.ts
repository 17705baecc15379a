/** Measures the routes of the service against the no-op route, in turns. */
import { join } from 'node:path';
import { askChild, type Child, forkChild, nextMessage, type Run } from './children.ts';
import type { LoadOrder, LoadOutcome, LoadReport } from './load.ts';
import { NOOP_PATH } from './noop.ts';
import {
  BATCH_CONNECTIONS,
  BATCHES_PER_TURN,
  BETS_BEFORE_MEMORY,
  BETS_PER_BATCH,
  type BenchPlan,
  OPEN_SESSIONS,
} from './plan.ts';
import { openSessions } from './players.ts';
import type { Target } from './preparedRequest.ts';
import { cleanEnvironment, type ServiceUnderTest } from './service.ts';
import { comeToRest, processFigures } from './watch.ts';

export type RouteName = 'noop' | 'bet' | 'hotSession' | 'batch';

/** One route at one number of connections, in every round. */
export interface RouteRow {
  readonly route: RouteName;
  readonly connections: number;
  readonly rounds: readonly LoadReport[];
}

export interface HttpFigures {
  readonly rows: readonly RouteRow[];
  readonly memory: {
    readonly bets: number;
    readonly residentMiB: number;
    readonly largestResidentMiB: number;
  };
}

const STOP_LIMIT_MS = 5_000;
const ANSWER_MARGIN_MS = 60_000;
const FILL_LIMIT_MS = 180_000;

export interface HttpBench {
  measure(route: RouteName, connections: number, until: LoadOrder['until']): Promise<LoadReport>;
  /** Waits until the service has nothing left to do, and notes its memory. */
  rest(): Promise<void>;
  readonly bets: () => number;
  readonly largestResidentMiB: () => number;
}

/** The no-op server, the load generator and the sessions beside a running service. */
export async function prepareHttpBench(run: Run, service: ServiceUnderTest): Promise<HttpBench> {
  const noop = await startNoopServer(run, service.databaseUrl);
  const generator = forkChild(run, join(import.meta.dirname, 'loadGenerator.ts'), {
    name: 'The load generator',
    env: cleanEnvironment(),
    stopLimitMs: STOP_LIMIT_MS,
  });
  run.progress(`opening ${OPEN_SESSIONS} sessions`);
  const sessionIds = await openSessions({ service, signal: run.signal }, OPEN_SESSIONS);
  const secretKey = service.boot.keys.test.secret;
  const ledger = (path: string): Target => ({ port: service.port, path: `/v1/ledger/${path}`, secretKey });
  const noopTarget: Target = { port: noop.port, path: `/v1${NOOP_PATH}`, secretKey };
  let bets = 0;
  let requests = 0;
  let largestResidentMiB = 0;

  /** Each turn goes on where the one before it stopped, or the first sessions would get most of the bets. */
  const sessionsInTurn = (): readonly string[] => {
    const next = requests % sessionIds.length;
    return [...sessionIds.slice(next), ...sessionIds.slice(0, next)];
  };
  const orderOf = async (route: RouteName): Promise<Omit<LoadOrder, 'connections' | 'until'>> => {
    switch (route) {
      case 'noop':
        return { target: noopTarget, sessionIds: sessionsInTurn(), betsPerRequest: 1 };
      case 'bet':
        return { target: ledger('bet'), sessionIds: sessionsInTurn(), betsPerRequest: 1 };
      case 'batch':
        return { target: ledger('batch'), sessionIds: sessionsInTurn(), betsPerRequest: BETS_PER_BATCH };
      case 'hotSession':
        // A new one each time: a session takes a bounded number of writes.
        return {
          target: ledger('bet'),
          sessionIds: await openSessions({ service, signal: run.signal }, 1),
          betsPerRequest: 1,
        };
    }
  };

  return {
    async measure(route, connections, until) {
      const order: LoadOrder = { ...(await orderOf(route)), connections, until };
      const durationMs =
        until.kind === 'time' ? until.rampMs + until.measuredMs + ANSWER_MARGIN_MS : FILL_LIMIT_MS;
      const answer = askChild(generator, order, durationMs);
      const report = reportOf(await Promise.race([answer, noop.child.ended, service.child.ended]), route);
      requests += report.answersInAll;
      if (route !== 'noop') bets += report.answersInAll * order.betsPerRequest;
      return report;
    },
    async rest() {
      const { residentMiB } = await processFigures(service.origin, run.signal);
      largestResidentMiB = Math.max(largestResidentMiB, residentMiB);
      await comeToRest(service.origin, run.signal);
    },
    bets: () => bets,
    largestResidentMiB: () => largestResidentMiB,
  };
}

/** Every route in turn, round after round; then bets until there are enough of them to look at the memory. */
export async function measureHttp(
  run: Run,
  service: ServiceUnderTest,
  plan: BenchPlan,
): Promise<HttpFigures> {
  const bench = await prepareHttpBench(run, service);
  const { rampMs, measuredMs, warmUpMs, rounds, fewerRounds } = plan;
  let memory: Omit<HttpFigures['memory'], 'largestResidentMiB'> | undefined;
  // At work: what is let go of when all is quiet was still needed before.
  const lookAtMemory = async (): Promise<void> => {
    if (memory || bench.bets() < BETS_BEFORE_MEMORY) return;
    const { residentMiB } = await processFigures(service.origin, run.signal);
    memory = { bets: bench.bets(), residentMiB };
  };
  const turns = async (
    routes: readonly [RouteName, number][],
    count: number,
  ): Promise<readonly RouteRow[]> => {
    const reports = routes.map((): LoadReport[] => []);
    for (let round = 0; round < count; round++) {
      for (const [index, [route, connections]] of routes.entries()) {
        await bench.rest();
        const report = await bench.measure(
          route,
          connections,
          route === 'batch'
            ? { kind: 'answers', answers: BATCHES_PER_TURN }
            : { kind: 'time', rampMs, measuredMs },
        );
        reports[index]?.push(report);
        await lookAtMemory();
        run.progress(
          `${route} at ${connections}: ${Math.round(report.answers / report.measuredSeconds)} requests/s`,
        );
      }
    }
    return routes.map(([route, connections], index) => ({
      route,
      connections,
      rounds: reports[index] ?? [],
    }));
  };

  run.progress('warming up');
  for (const route of ['noop', 'bet'] as const) {
    await bench.measure(route, 64, { kind: 'time', rampMs: 0, measuredMs: warmUpMs });
  }
  const rows = [
    ...(await turns(
      [
        ['noop', 1],
        ['bet', 1],
      ],
      fewerRounds,
    )),
    ...(await turns(
      [
        ['noop', 64],
        ['bet', 64],
        ['hotSession', 64],
        ['batch', BATCH_CONNECTIONS],
      ],
      rounds,
    )),
    ...(await turns(
      [
        ['noop', 256],
        ['bet', 256],
      ],
      rounds,
    )),
  ];
  const missing = Math.max(0, BETS_BEFORE_MEMORY - bench.bets());
  if (missing > 0) {
    run.progress(`${missing} more bets before memory is looked at`);
    const answers = Math.ceil(missing / BETS_PER_BATCH);
    await bench.measure('batch', BATCH_CONNECTIONS, { kind: 'answers', answers });
  }
  await lookAtMemory();
  if (!memory) throw new Error('There were too few bets to look at the memory.');
  await bench.rest();
  return { rows, memory: { ...memory, largestResidentMiB: bench.largestResidentMiB() } };
}

async function startNoopServer(run: Run, databaseUrl: string): Promise<{ child: Child; port: number }> {
  const child = forkChild(run, join(import.meta.dirname, 'noopServer.ts'), {
    name: 'The no-op server',
    env: { ...cleanEnvironment(), DATABASE_URL: databaseUrl },
    stopLimitMs: STOP_LIMIT_MS,
  });
  const message = await nextMessage(child, ANSWER_MARGIN_MS);
  if (typeof message === 'object' && message && 'port' in message && typeof message.port === 'number') {
    return { child, port: message.port };
  }
  throw new Error('The no-op server did not tell its port.');
}

function reportOf(message: unknown, route: RouteName): LoadReport {
  // The load generator is ours and sends nothing else.
  const outcome = message as LoadOutcome;
  if (outcome.kind === 'failure') throw new Error(`${route}: ${outcome.message}`);
  if (outcome.report.answers === 0)
    throw new Error(`${route}: nothing was answered within the measured time.`);
  return outcome.report;
}
