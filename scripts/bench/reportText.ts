/** A run as text. */
import { median } from './bars.ts';
import { ROUTE_WORDS } from './measuredRows.ts';
import { moveTables } from './moveReport.ts';
import { isInTime } from './openLoop.ts';
import type { BenchResult } from './report.ts';

/** A practically idle machine stays below it. */
const BUSY_SPREAD = 1.3;

const MINUTES_OF_A_TREND = 5;

export function textOf(result: BenchResult): string {
  const {
    machine,
    plan,
    routes,
    openLoop,
    fileSyncs,
    batches,
    state,
    soak,
    yardstickOfSoak,
    store,
    logReading,
    memory,
    signIns,
    moves,
    spreadOfYardstick,
    unmeasured,
    verdicts,
    passed,
  } = result;
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  const states = state ? [state.few, state.inCache, state.beyondCache] : [];
  const short = (value: number) => (value < 1_000 ? value.toFixed(value < 10 ? 2 : 1) : whole(value));
  return [
    `${plan} run of ${machine.commit}`,
    `on ${machine.cores} cores of ${machine.model}, ${whole(machine.memoryMiB)} MiB, ${machine.kernel}, ${machine.fileSystem}`,
    `Node ${machine.node}, PostgreSQL ${machine.postgres.version}`,
    `load average ${machine.loadAtStart.map(short).join(' ')} at the start, ${machine.loadAtEnd.map(short).join(' ')} at the end`,
    '',
    ...section(routes, [
      ['route', 'connections', 'requests/s', 'bets/s', 'p50 ms', 'p99 ms', 'loop p99 ms'],
      ...routes.map((row) => [
        ROUTE_WORDS[row.route],
        String(row.connections),
        row.route === 'batch' ? short(row.requestsPerSecond) : whole(row.requestsPerSecond),
        row.betsPerSecond === null ? '' : whole(row.betsPerSecond),
        short(row.p50Ms),
        short(row.p99Ms),
        row.loopDelayP99Ms === null ? '' : short(row.loopDelayP99Ms),
      ]),
    ]),
    ...section(spentLines(routes), [
      ['processor time of a bet, 256 connections', 'us'],
      ...spentLines(routes),
    ]),
    ...section(openLoop, [
      ['bets at a fixed rate', 'p50 ms', 'p99 ms', 'p99.9 ms', 'bare p99 ms', 'generator late p99 ms'],
      ...openLoop.map((line) => [
        `${whole(line.perSecond)}/s`,
        ...[line.p50Ms, line.p99Ms, line.p999Ms, line.bareP99Ms, line.lateP99Ms].map(short),
      ]),
    ]),
    ...(fileSyncs
      ? [`fdatasync of 8 KiB: p50 ${short(fileSyncs.p50Ms)} ms, p99 ${short(fileSyncs.p99Ms)} ms`, '']
      : []),
    ...(batches
      ? [
          `batches of 1,000 bets: ${whole(median(batches.short))} bets/s into a short log, ` +
            `${whole(median(batches.long))} after ${whole(batches.eventsBefore)} bets`,
          '',
        ]
      : []),
    ...section(states, [
      ['live bets', 'sessions', 'MiB for states', 'bets/s', 'MiB in all'],
      ...states.map((one) => [
        whole(one.liveBets),
        whole(one.sessions),
        one.cacheMiB === undefined ? 'default' : whole(one.cacheMiB),
        whole(median(one.perSecond)),
        one.residentMiB === undefined ? '' : whole(one.residentMiB),
      ]),
    ]),
    ...section(soak, [
      ['soak, minute', 'bets/s', 'p99 ms', 'generator late p99 ms', 'live bets', 'MiB in all'],
      ...soak.map((one, index) => [
        String(index + 1),
        whole(one.perSecond),
        short(one.p99Ms),
        short(one.lateP99Ms),
        whole(one.liveBets),
        one.residentMiB === undefined ? '' : whole(one.residentMiB),
      ]),
    ]),
    ...trendOf(soak),
    ...(yardstickOfSoak.length > 0
      ? [
          'plain Express at the same share of its most, before and after, p99 ms of short turns: ' +
            yardstickOfSoak.map(short).join(' '),
          '',
        ]
      : []),
    ...section(store, [
      ['event store', 'per second'],
      ...store.map((line) => [line.what, whole(line.perSecond)]),
    ]),
    ...(logReading
      ? [
          `log of ${whole(logReading.events)} events, a second: bare select ${whole(median(logReading.bare))}, ` +
            `verification ${whole(median(logReading.verify))}, full reconciliation ${whole(median(logReading.reconcile))}`,
          '',
        ]
      : []),
    ...(memory
      ? [
          `memory of the service: ${whole(memory.residentMiB)} MiB with ${whole(memory.bets)} live bets, ` +
            `${whole(memory.largestResidentMiB)} MiB at the most`,
          '',
        ]
      : []),
    ...(signIns
      ? [
          `sign-ins of known users, challenge and verification: ${whole(signIns.perSecond)} a second, ` +
            `${short(signIns.shareOfYardstick)} of plain Express`,
          '',
        ]
      : []),
    ...(moves
      ? [
          ...moveTables(moves, whole).flatMap((rows) => [...table(rows), '']),
          `processor time of the service per deposit: ${short(moves.cpuMsPerMove)} ms`,
          `deposits to the last one confirmed / bare transfers to the last one final: ${short(moves.shareOfBare)}`,
          '',
        ]
      : []),
    ...section(verdicts, [
      ['bar', 'measured', 'rounds', 'limit', ''],
      ...verdicts.map((verdict) => [
        verdict.name,
        short(verdict.value),
        verdict.rounds.map(short).join(' '),
        verdict.limit,
        verdict.passed ? 'pass' : 'MISS',
      ]),
    ]),
    ...(spreadOfYardstick !== undefined && spreadOfYardstick > BUSY_SPREAD
      ? [
          `The machine was busy with something else: plain Express varied by a factor of ${short(spreadOfYardstick)}.`,
        ]
      : []),
    ...unmeasured.map((what) => `Not measured: ${what}.`),
    ...(verdicts.length === 0 ? [] : [passed ? 'All bars are passed.' : 'Not all bars are passed.']),
    '',
  ].join('\n');
}

const spentLines = (routes: BenchResult['routes']): readonly (readonly string[])[] => {
  const row = routes.find(({ route, connections }) => route === 'bet' && connections === 256);
  return Object.entries(row?.spentUs ?? {}).map(([what, us]) => [what, us.toFixed(1)]);
};

/** Two minutes differ by chance; the verdict on them stays. */
function trendOf(soak: BenchResult['soak']): readonly string[] {
  const p99Ms = soak
    .slice(1)
    .filter(isInTime)
    .map((minute) => minute.p99Ms);
  if (p99Ms.length < 2 * MINUTES_OF_A_TREND) return [];
  const trend = median(p99Ms.slice(-MINUTES_OF_A_TREND)) / median(p99Ms.slice(0, MINUTES_OF_A_TREND));
  return [
    `p99 of the last ${MINUTES_OF_A_TREND} minutes / of the ${MINUTES_OF_A_TREND} behind the first, medians: ${trend.toFixed(2)}`,
    '',
  ];
}

/** Empty if nothing was measured. */
const section = (measured: readonly unknown[], rows: readonly (readonly string[])[]): readonly string[] =>
  measured.length === 0 ? [] : [...table(rows), ''];

export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
