import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli } from '../cli.ts';
import { isRow, rowsTable, tableOf } from '../output.ts';

interface SetOptions {
  readonly app: string;
  readonly unset: readonly string[];
}

export function registerSettings(program: Command, { api, print }: Cli): void {
  const settings = program.command('settings').description("an app's settings");

  settings
    .command('show')
    .description('show what applies in each environment')
    .addOption(appOption())
    .action(async ({ app }: { readonly app: string }, command: Command) => {
      await print(command, await api.get(pathOf('app', app, 'settings')), settingsTable);
    });

  settings
    .command('set')
    .description('set settings: KEY=VALUE for both environments, test.KEY=VALUE or live.KEY=VALUE for one')
    .argument(
      '[assignments...]',
      'KEY=VALUE, for the keys that "settings show" lists; lists are separated by commas, objects are JSON',
    )
    .addOption(appOption())
    .option('--unset <key>', 'remove the stored value; may be repeated', collected, [])
    .action(async (assignments: readonly string[], { app, unset }: SetOptions, command: Command) => {
      if (assignments.length + unset.length === 0) command.error('error: nothing to set');
      const values = assignments.map((text) => assignmentOf(text, command));
      const removals = unset.map((name) => [name, null] as const);
      const body = { settings: Object.fromEntries([...values, ...removals]) };
      await print(command, await api.post(pathOf('app', app, 'settings'), body), settingsTable);
    });
}

const collected = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

function assignmentOf(text: string, command: Command): readonly [string, string] {
  const equals = text.indexOf('=');
  if (equals < 1) command.error(`error: ${text} is not KEY=VALUE`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}

/** One row per setting, the environments side by side. */
function settingsTable(answer: unknown): string {
  if (!isRow(answer) || !isRow(answer.test) || !isRow(answer.live)) return tableOf(answer);
  const { test, live } = answer;
  return rowsTable(
    Object.keys(test).map((setting) => ({ setting, test: test[setting], live: live[setting] })),
  );
}
