/** Measures the routes of the service against the yardsticks, in turns. */
import type { Run } from './children.ts';
import type { HttpBench, RouteName, RouteReport } from './httpBench.ts';
import type { LoadOrder } from './load.ts';
import {
  BATCH_CONNECTIONS,
  BATCHES_PER_TURN,
  BETS_BEFORE_MEMORY,
  BETS_PER_BATCH,
  type BenchPlan,
  HOT_SESSION_MS,
  SIGNED_IN_PLAYERS,
} from './plan.ts';
import type { ServiceUnderTest } from './service.ts';
import { processFigures } from './watch.ts';

/** One route at one number of connections, in every round. */
export interface RouteRow {
  readonly route: RouteName;
  readonly connections: number;
  readonly rounds: readonly RouteReport[];
}

export interface BetFigures {
  readonly rows: readonly RouteRow[];
  readonly memory: {
    readonly bets: number;
    readonly residentMiB: number;
    readonly largestResidentMiB: number;
  };
}

type Turn = readonly [route: RouteName, connections: number];

/** Every route in turn, round after round; then bets until there are enough to read the memory. */
export async function measureBets(
  run: Run,
  service: ServiceUnderTest,
  bench: HttpBench,
  plan: BenchPlan,
): Promise<BetFigures> {
  let memory: Omit<BetFigures['memory'], 'largestResidentMiB'> | undefined;
  // While working: memory that is released at rest was needed before.
  const lookAtMemory = async (): Promise<void> => {
    if (memory || bench.bets() < BETS_BEFORE_MEMORY) return;
    const { residentMiB } = await processFigures(service.origin, run.signal);
    memory = { bets: bench.bets(), residentMiB };
  };
  const turns = (routes: readonly Turn[], rounds: number) =>
    takeTurns(run, bench, plan, routes, rounds, lookAtMemory);

  run.progress('warming up');
  await warmUp(bench, plan, ['express', 'http', 'bet']);
  const rows = [
    ...(await turns(
      [
        ['express', 1],
        ['bet', 1],
      ],
      plan.fewerRounds,
    )),
    ...(await turns(
      [
        ['express', 64],
        ['bet', 64],
        ['hotSession', 64],
        ['batch', BATCH_CONNECTIONS],
        ['http', 256],
        ['express', 256],
        ['bet', 256],
      ],
      plan.rounds,
    )),
  ];
  const missing = Math.max(0, BETS_BEFORE_MEMORY - bench.bets());
  if (missing > 0) {
    run.progress(`${missing} more bets before memory is read`);
    await placeBets(bench, missing);
  }
  await lookAtMemory();
  if (!memory) throw new Error('There were too few bets to read the memory.');
  await bench.rest();
  return { rows, memory: { ...memory, largestResidentMiB: bench.largestResidentMiB() } };
}

/**
 * Verifications and sign-ins of known players. Each turn of sign-ins uses up the challenges of the previous
 * turn.
 */
export async function measureSignIns(
  run: Run,
  bench: HttpBench,
  plan: BenchPlan,
): Promise<readonly RouteRow[]> {
  run.progress('warming up');
  await warmUp(bench, plan, ['express', 'verify']);
  const turns: readonly Turn[] = [
    ['express', 64],
    ['verify', 64],
    ['challenge', 64],
    ['signIn', 64],
  ];
  return takeTurns(run, bench, plan, turns, plan.rounds);
}

/** Quickly: in batches. */
export async function placeBets(bench: HttpBench, bets: number): Promise<void> {
  const answers = Math.ceil(bets / BETS_PER_BATCH);
  await bench.measure('batch', BATCH_CONNECTIONS, { kind: 'answers', answers });
}

async function warmUp(bench: HttpBench, plan: BenchPlan, routes: readonly RouteName[]): Promise<void> {
  for (const route of routes) {
    await bench.measure(route, 64, { kind: 'time', rampMs: 0, measuredMs: plan.warmUpMs });
  }
}

/** Each in turn, round after round. */
export async function takeTurns(
  run: Run,
  bench: HttpBench,
  plan: BenchPlan,
  turns: readonly Turn[],
  rounds: number,
  afterEach: () => Promise<void> = async () => undefined,
): Promise<readonly RouteRow[]> {
  const reports = turns.map((): RouteReport[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, [route, connections]] of turns.entries()) {
      await bench.rest();
      const report = await bench.measure(route, connections, untilOf(route, plan));
      reports[index]?.push(report);
      await afterEach();
      run.progress(
        `${route} at ${connections}: ${Math.round(report.answers / report.measuredSeconds)} requests/s`,
      );
    }
  }
  return turns.map(([route, connections], index) => ({ route, connections, rounds: reports[index] ?? [] }));
}

function untilOf(route: RouteName, { rampMs, measuredMs }: BenchPlan): LoadOrder['until'] {
  switch (route) {
    case 'batch':
      return { kind: 'answers', answers: BATCHES_PER_TURN };
    case 'challenge':
    case 'signIn':
      // One challenge per player, each used once.
      return { kind: 'answers', answers: SIGNED_IN_PLAYERS };
    case 'hotSession':
      return { kind: 'time', rampMs, measuredMs: Math.min(measuredMs, HOT_SESSION_MS) };
    default:
      return { kind: 'time', rampMs, measuredMs };
  }
}
