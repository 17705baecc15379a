/** A studio's night: bets at a fixed rate for a long time, each minute in other sessions, none of which ever ends. */
import type { Run } from './children.ts';
import type { HttpBench } from './httpBench.ts';
import { cacheOf, withService } from './largeState.ts';
import type { LoadOrder, LoadReport } from './load.ts';
import { isInTime } from './openLoop.ts';
import { BETS_PER_MIB_OF_CACHE, type BenchPlan, OPEN_LOOP_CONNECTIONS, OPEN_SESSIONS } from './plan.ts';
import { residentMiBOf } from './processorTimes.ts';

export interface SoakMinute extends LoadReport {
  readonly liveBets: number;
  readonly residentMiB: number | undefined;
}

export interface SoakFigures {
  readonly perSecond: number;
  /** Plain Express at the same share of its own most, before anything and after the last minute: how even the machine is. */
  readonly yardstickP99Ms: readonly number[];
  /** One after another, with a pause only to open the sessions of the next. */
  readonly minutes: readonly SoakMinute[];
}

const MINUTE_MS = 60_000;
/**
 * At such a rate a reconciliation hardly gains on the log, so that one is always under way once the first has begun: here in the
 * first minute, rather than at whichever quarter of an hour comes by.
 */
const ALWAYS_RECONCILING = { COFFER_RECONCILE_CRON: '* * * * *' };
const SHARE_OF_THE_MOST = 0.7;
/** Turns as short as the moments that make a minute's p99. */
const YARDSTICK_MS = 5_000;
const YARDSTICK_TURNS = 8;
/** Of a hundred bets one is placed in a session of an earlier minute. */
const BETS_BEFORE_A_RETURN = 99;
/** Before the same sessions of earlier minutes are returned to. */
const RETURNS = 1_000;

/** With a cache for a tenth of the state at the end. */
export async function measureSoak(run: Run, plan: BenchPlan, minutes: number): Promise<SoakFigures> {
  const before = await measureYardstick(run, plan);
  const most = await withService(run, plan, {}, (_, bench) => mostSustained(run, plan, bench));
  const perSecond = Math.round(SHARE_OF_THE_MOST * most);
  const betsInAll = (perSecond * minutes * MINUTE_MS) / 1_000;
  const cacheMiB = Math.max(1, Math.round(betsInAll / BETS_PER_MIB_OF_CACHE / 10));
  const environment = { ...cacheOf(cacheMiB), ...ALWAYS_RECONCILING };
  const measured = await withService(run, plan, environment, async (service, bench) => {
    const done: SoakMinute[] = [];
    const earlier: string[] = [];
    while (done.length < minutes) {
      const sessions = await bench.openSessions(OPEN_SESSIONS);
      const report = await bench.measure(
        'bet',
        OPEN_LOOP_CONNECTIONS,
        { kind: 'rate', perSecond, measuredMs: MINUTE_MS },
        withReturns(sessions, earlier),
      );
      earlier.push(...sessions);
      done.push({ ...report, liveBets: bench.bets(), residentMiB: await residentMiBOf(service.pid) });
      run.progress(`${perSecond}/s, minute ${done.length} of ${minutes}: p99 ${report.p99Ms.toFixed(1)} ms`);
    }
    return done;
  });
  const after = await measureYardstick(run, plan);
  return { perSecond, yardstickP99Ms: [...before, ...after], minutes: measured };
}

/** Bets a second that are answered while the readers of the log keep up: what they are behind in the end is waited for. */
async function mostSustained(run: Run, plan: BenchPlan, bench: HttpBench): Promise<number> {
  const forTime = (measuredMs: number) =>
    bench.measure('bet', OPEN_LOOP_CONNECTIONS, { kind: 'time', rampMs: 0, measuredMs });
  await forTime(plan.warmUpMs);
  await bench.rest();
  run.progress('a minute of as many bets as are answered');
  const fromMs = performance.now();
  const { answersInAll } = await forTime(MINUTE_MS);
  await bench.rest();
  return (answersInAll / (performance.now() - fromMs)) * 1_000;
}

/** Beside a service that has nothing to do: what a soak leaves to the database and to a reconciliation would be in it. */
function measureYardstick(run: Run, plan: BenchPlan): Promise<readonly number[]> {
  return withService(run, plan, {}, async (_, bench) => {
    await bench.rest();
    run.progress('plain Express at the same share of its most');
    const measure = (until: LoadOrder['until']) => bench.measure('express', OPEN_LOOP_CONNECTIONS, until);
    const most = await measure({ kind: 'time', rampMs: plan.warmUpMs, measuredMs: YARDSTICK_MS });
    const perSecond = Math.round((SHARE_OF_THE_MOST * most.answers) / most.measuredSeconds);
    const p99Ms: number[] = [];
    for (let turn = 0; turn < YARDSTICK_TURNS; turn++) {
      const report = await measure({ kind: 'rate', perSecond, measuredMs: YARDSTICK_MS });
      if (isInTime(report)) p99Ms.push(report.p99Ms);
    }
    return p99Ms;
  });
}

/** The sessions in turn, again and again, and now and then an earlier one. */
function withReturns(sessions: readonly string[], earlier: readonly string[]): readonly string[] {
  if (earlier.length === 0) return sessions;
  return Array.from({ length: RETURNS }, (_, turn) => {
    const own = Array.from({ length: BETS_BEFORE_A_RETURN }, (_, index) => {
      return sessions[(turn * BETS_BEFORE_A_RETURN + index) % sessions.length] ?? '';
    });
    return [...own, earlier[Math.floor((turn / RETURNS) * earlier.length)] ?? ''];
  }).flat();
}
