import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption } from '../cli.ts';
import { isRow, type Row, rowsTable } from '../output.ts';

interface ReconcileOptions {
  readonly app: string;
  readonly env: string;
  readonly full?: boolean;
}

export function registerReconcile(program: Command, { runTask }: Cli): void {
  program
    .command('reconcile')
    .description("compare an app's rows and books with the log; ends with 1 where they differ")
    .addOption(appOption())
    .addOption(environmentOption().makeOptionMandatory())
    .option('--full', 'derive everything anew, from the first event on')
    .action(async ({ app, env, full = false }: ReconcileOptions, command: Command) => {
      const path = pathOf('app', app, env, 'reconcile');
      await runTask(command, path, { body: { full }, table: reportTables });
    });
}

/** The parts of a report that hold something, one under the other. */
function reportTables(report: unknown): string {
  if (!isRow(report)) return '';
  const { position, mode, verifiedFrom, checkedAt } = report;
  if (position === undefined) return '';
  const from = verifiedFrom === null ? '' : `, from position ${verifiedFrom} on`;
  const head = `At position ${position}, ${checkedAt} (${mode}${from}).`;
  const parts = ['checks', 'totals', 'inFlight', 'warnings', 'discrepancies'].flatMap((part) => {
    const rows = rowsOf(report[part]);
    return rows.length === 0 ? [] : [`\n${part}\n${rowsTable(rows)}`];
  });
  return [head, ...parts].join('\n');
}

const rowsOf = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
