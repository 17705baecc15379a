import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import type { Cli } from '../cli.ts';
import { isRow, type Row, rowsTable, tableOf } from '../output.ts';

export function registerProjections(program: Command, { api, print, runTask }: Cli): void {
  const projections = program
    .command('projections')
    .description('what is derived from the log, and how far it is');

  projections
    .command('status')
    .description('show how far each consumer of the log is, and who runs it')
    .action(async (_options: unknown, command: Command) => {
      await print(command, await api.get(pathOf('projections')));
    });

  projections
    .command('rebuild')
    .description(
      'fill the read models again beside the live ones, compare row by row, and switch to the new ones',
    )
    .option('--verify', 'keep the live ones if a row differs, with exit code 1', false)
    .action(({ verify }: { readonly verify: boolean }, command: Command) =>
      runTask(command, pathOf('projections', 'rebuild'), { body: { verify }, table: rebuildTable }),
    );
}

/** The figures, then the tables, then every row that differs. */
function rebuildTable(result: unknown): string {
  if (!isRow(result)) return tableOf(result);
  // The refusal's code and message go to standard error.
  const { tables, code: _code, message: _message, ...figures } = result;
  const compared = Array.isArray(tables) ? tables.filter(isRow) : [];
  const counts = compared.map(({ table, examined, differing }) => ({ table, examined, differing }));
  const differences = compared.flatMap(differencesOf);
  return [tableOf(figures), ...[counts, differences].filter((rows) => rows.length > 0).map(rowsTable)].join(
    '\n',
  );
}

function differencesOf({ table, differences }: Row): readonly Row[] {
  const found = Array.isArray(differences) ? differences.filter(isRow) : [];
  return found.flatMap(({ key, expected, actual }) => {
    if (!isRow(expected)) return [{ table, key, column: 'the row', expected: 'none', actual: 'there' }];
    if (!isRow(actual)) return [{ table, key, column: 'the row', expected: 'there', actual: 'none' }];
    return Object.keys(expected).map((column) => {
      return { table, key, column, expected: expected[column], actual: actual[column] };
    });
  });
}
