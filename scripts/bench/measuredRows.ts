/** The figures of a run by which it is compared with another one. */
import type { Verdict } from './bars.ts';
import type { MeasuredRow } from './compare.ts';
import type { RouteName } from './httpBench.ts';
import type { RouteRow } from './httpRows.ts';
import type { OpenLoopFigures, OpenLoopRow } from './openLoop.ts';
import type { StoreFigures } from './store.ts';

export const ROUTE_WORDS: Readonly<Record<RouteName, string>> = {
  express: 'plain Express',
  http: 'bare node:http',
  bet: 'POST /ledger/bet, 1,000 sessions',
  hotSession: 'POST /ledger/bet, one session',
  batch: 'POST /ledger/batch, 1,000 bets each',
  verify: 'POST /sessions/verify, 1,000 sessions',
  challenge: 'POST /auth/siws/challenge',
  signIn: 'POST /auth/siws/verify, known users',
};

export const perSecond = (row: RouteRow): readonly number[] =>
  row.rounds.map(({ answers, measuredSeconds }) => answers / measuredSeconds);

/** A verdict on a single figure has no rounds to compare. */
export const measuredRows = (
  verdicts: readonly Verdict[],
  routes: readonly RouteRow[],
  {
    openLoop,
    store,
  }: { readonly openLoop?: OpenLoopFigures | undefined; readonly store?: StoreFigures | undefined },
): readonly MeasuredRow[] => [
  ...verdicts.filter(({ rounds }) => rounds.length > 1).map(rowOfVerdict),
  ...routes.flatMap(rowsOfRoute),
  ...(openLoop?.rows ?? [])
    .slice(0, -1)
    .filter(({ rounds }) => rounds.length > 0)
    .flatMap(rowsOfOpenLoop),
  ...(store ? rowsOfStore(store) : []),
];

const rowOfVerdict = ({ name, rounds, better }: Verdict): MeasuredRow => ({ name, better, rounds });

function rowsOfRoute(row: RouteRow): readonly MeasuredRow[] {
  const name = `${ROUTE_WORDS[row.route]}, ${row.connections} connections`;
  return [
    { name: `${name}: requests/s`, better: 'more', rounds: perSecond(row) },
    { name: `${name}: p99 ms`, better: 'less', rounds: row.rounds.map(({ p99Ms }) => p99Ms) },
  ];
}

/** The row at half of the most is left out: it is at another rate in another run. */
function rowsOfOpenLoop({ perSecond: rate, rounds }: OpenLoopRow): readonly MeasuredRow[] {
  const name = `bets at ${rate.toLocaleString('en-US')}/s`;
  return [{ name: `${name}: p99 ms`, better: 'less', rounds: rounds.map(({ p99Ms }) => p99Ms) }];
}

const rowsOfStore = (store: StoreFigures): readonly MeasuredRow[] => [
  { name: 'conditional append: events/s', better: 'more', rounds: store.appendsPerSecond },
  { name: 'replay: events/s', better: 'more', rounds: store.replayedPerSecond },
];
