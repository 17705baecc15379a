/** What every command uses: the admin API, and where it prints. */
import type { Writable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AdminApi, createAdminApi, type TaskOptions } from './adminApi.ts';
import { type Connection, findConnection, type Variables } from './connection.ts';
import { CommandFailure, EXIT } from './failure.ts';
import { tableOf, write } from './output.ts';
import { displayProgress, type ProgressDisplay } from './progress.ts';

/** What the process passes to the command line; a spec passes its own. */
export interface CliSurroundings {
  readonly variables: Variables;
  readonly workingFolder: string;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export interface Cli {
  readonly api: AdminApi;
  readonly connect: () => Promise<Connection>;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Prints the answer as JSON with `--json`, otherwise as a table. */
  readonly print: (command: Command, answer: unknown, table?: (answer: unknown) => string) => Promise<void>;
  /** Shows a long task's progress on standard error. */
  readonly progress: () => ProgressDisplay;
  /**
   * Runs a long task of the service, with its progress on standard error, and prints the result. Throws a
   * `CommandFailure` with the result's code if that is not ok.
   */
  readonly runTask: (
    command: Command,
    path: string,
    options: Omit<TaskOptions, 'onProgress'> & { readonly table?: (result: unknown) => string },
  ) => Promise<void>;
}

export function createCli({ variables, workingFolder, stdout, stderr }: CliSurroundings): Cli {
  const connect = () => findConnection(variables, workingFolder);
  const api = createAdminApi(connect);
  const print: Cli['print'] = (command, answer, table = tableOf) =>
    write(stdout, `${wantsJson(command) ? JSON.stringify(answer, null, 2) : table(answer)}\n`);

  return {
    api,
    connect,
    stdout,
    stderr,
    print,
    progress: () => displayProgress(stderr),
    runTask: async (command, path, { table, ...options }) => {
      const display = displayProgress(stderr);
      const result = await api
        .longTask(path, { ...options, onProgress: display.show })
        .finally(() => display.end());
      await print(command, result, table);
      if (!result.ok) throw new CommandFailure(EXIT.refused, `${result.code}: ${result.message}`);
    },
  };
}

export const wantsJson = (command: Command): boolean => command.optsWithGlobals().json === true;

export const appOption = (): Option => new Option('--app <id>', 'the app').makeOptionMandatory();

export const environmentOption = (): Option =>
  new Option('--env <environment>', 'the environment').choices(['test', 'live']);

export const userOption = (): Option => new Option('--user <id>', 'the user');

/** For options that take a whole number: anything else is wrong usage. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
