/** The report at the end of a run. */
import type { Outcome } from './runFaults.ts';
import type { Tally } from './tally.ts';

export function reportOf(seed: number, outcome: Outcome): string {
  const { askedCommissions, commissions } = outcome;
  const { faults, deaths, asked, moves, transactions, unanswered, violations, webhooks, seconds } = outcome;
  const ended = (type: string) => moves.filter(({ ends: [end] }) => end?.type === type).length;
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0);
  return [
    '',
    ...table('faults', faults),
    ...table('killed at', deaths),
    ...rows([
      ['requests', asked.length],
      ['  not answered at first', unanswered],
      ['  refused', asked.filter(({ accepted }) => accepted === undefined).length],
      ['moves', moves.length],
      ['  confirmed', ended('MoveConfirmed')],
      ['  failed', ended('MoveFailed')],
      ['transactions signed', sum(moves.map(({ attempts }) => attempts))],
      ['  expired', sum(moves.map(({ expired }) => expired))],
      ['  in a block', transactions],
      ['commissions requested', askedCommissions.length],
      ['  uncertain', askedCommissions.filter(({ isUncertain }) => isUncertain).length],
      ['  booked', commissions],
      ['facts told by webhooks', webhooks],
    ]),
    '',
    violations.length === 0
      ? `Nothing lost, nothing doubled. Seed ${seed}, ${Math.round(seconds)} s.`
      : `${violations.length} violations. Seed ${seed}, ${Math.round(seconds)} s.`,
    ...violations.map((violation) => `  ${violation}`),
    '',
  ].join('\n');
}

const table = (title: string, tally: Tally): readonly string[] => [
  ...rows([[title, tally.total()], ...tally.rows().map(([name, count]) => [`  ${name}`, count] as const)]),
  '',
];

const rows = (lines: readonly (readonly [string, number])[]): readonly string[] =>
  lines.map(([name, count]) => `${name.padEnd(40)}${String(count).padStart(8)}`);
