import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption } from '../cli.ts';
import { isRow, type Row, rowsTable } from '../output.ts';

interface ReconcileOptions {
  readonly app: string;
  readonly env: string;
  readonly full?: boolean;
  readonly chain?: boolean;
}

export function registerReconcile(program: Command, { runTask }: Cli): void {
  program
    .command('reconcile')
    .description("compare an app's rows and books with the log; exits with 1 if they differ")
    .addOption(appOption())
    .addOption(environmentOption().makeOptionMandatory())
    .option('--full', 'derive the books again from the first event, instead of continuing from the last run')
    .option(
      '--chain',
      'also compare the books with the chain; exits with 1 if money is missing or nodes can no longer tell',
    )
    .action(async ({ app, env, full = false, chain = false }: ReconcileOptions, command: Command) => {
      const path = pathOf('app', app, env, 'reconcile');
      await runTask(command, path, { body: { full, chain }, table: reportTables });
    });
}

/** The parts of a report that are not empty, one below the other. */
function reportTables(report: unknown): string {
  if (!isRow(report)) return '';
  const { position, mode, verifiedFrom, checkedAt } = report;
  const lines: string[] = [];
  if (position !== undefined) {
    const from = verifiedFrom === null ? '' : `, from position ${verifiedFrom} on`;
    lines.push(`At position ${position}, ${checkedAt} (${mode}${from}).`);
    lines.push(...partsOf(report, ['checks', 'totals', 'inFlight', 'warnings', 'discrepancies']));
  }
  if (isRow(report.chain)) lines.push(...chainLines(report.chain));
  return lines.join('\n');
}

/** Without figures, if the chain could not be covered: the code and why. */
function chainLines(chain: Row): readonly string[] {
  const { treasury, mode, checkedAt, code, message, reason } = chain;
  const notCovered = `\nThe chain: ${code}: ${message} (${reason})`;
  if (checkedAt === undefined) return [notCovered];
  return [
    ...(reason === undefined ? [] : [notCovered]),
    `\nThe chain, ${checkedAt} (${mode}). Treasury: ${treasury ?? 'none yet'}.`,
    ...partsOf(chain, ['currencies', 'checks', 'warnings', 'unattributed', 'notCovered', 'discrepancies']),
  ];
}

const partsOf = (report: Row, parts: readonly string[]): readonly string[] =>
  parts.flatMap((part) => {
    const rows = rowsOf(report[part]);
    return rows.length === 0 ? [] : [`\n${part}\n${rowsTable(rows)}`];
  });

const rowsOf = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
