/** The report at the end of a run. */
import type { Tally } from '../faults/tally.ts';
import type { Outcome } from './runFuzz.ts';

export function reportOf(seed: number, outcome: Outcome): string {
  const { operations, kinds, statuses, successes, unavailable, replays, idle, findings, seconds } = outcome;
  return [
    '',
    ...table('requests', kinds),
    ...table('answers', statuses),
    ...(unavailable.total() > 0 ? table('not available', unavailable) : []),
    row('operations', operations),
    row('  of which succeeded', successes.rows().length),
    ...idle.map((id) => `    not ${id}`),
    row('repeats compared', replays),
    '',
    findings.length === 0
      ? `Nothing found. Seed ${seed}, ${Math.round(seconds)} s.`
      : `${findings.length} findings. Seed ${seed}, ${Math.round(seconds)} s.`,
    ...findings.map((finding) => `  ${finding}`),
    '',
  ].join('\n');
}

const table = (title: string, tally: Tally): readonly string[] => [
  row(title, tally.total()),
  ...tally.rows().map(([name, count]) => row(`  ${name}`, count)),
  '',
];

const row = (name: string, count: number): string => `${name.padEnd(60)}${String(count).padStart(8)}`;
