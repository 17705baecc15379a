import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { type Cli, environmentOption, wantsJson } from '../cli.ts';
import { isRow, rowsTable, write } from '../output.ts';
import { verificationTable } from '../verificationTable.ts';

interface LogOptions {
  readonly env?: string;
  readonly app?: string;
  readonly after?: string;
}

export function registerStreams(program: Command, { api, stdout, print, runTask, progress }: Cli): void {
  const streams = program.command('streams').description('the events, as they are stored');
  const logCommand = (name: string) =>
    streams
      .command(name)
      .addOption(environmentOption())
      .option('--app <id>', 'only what belongs to this app or its scope')
      .option('--after <position>', 'only what comes after this position in the log');
  const queryOf = ({ env, app, after }: LogOptions) => ({ environment: env, app, after });

  /** Lines are passed through unchanged: parsing and serializing them could change a stored text. */
  const printLines = async (command: Command, lines: AsyncIterable<string>): Promise<void> => {
    if (!wantsJson(command)) {
      for await (const line of lines) await write(stdout, `${line}\n`);
      return;
    }
    let before = '[';
    for await (const line of lines) {
      await write(stdout, `${before}\n${line}`);
      before = ',';
    }
    await write(stdout, before === '[' ? '[]\n' : '\n]\n');
  };

  logCommand('list')
    .description('list the streams, in the order of their first events')
    .action(async (options: LogOptions, command: Command) => {
      const lines = api.lines(pathOf('streams'), queryOf(options));
      if (wantsJson(command)) return printLines(command, lines);
      const rows: unknown[] = [];
      for await (const line of lines) rows.push(JSON.parse(line));
      await write(stdout, `${rowsTable(rows.filter(isRow))}\n`);
    });

  streams
    .command('show')
    .description('print the events of a stream, as JSON lines')
    .argument('<name>', 'the name of the stream')
    .action((name: string, _options: unknown, command: Command) =>
      printLines(command, api.lines(pathOf('streams', name))),
    );

  logCommand('export')
    .description('print the log in order, as JSON lines; resume with the last position and --after')
    .action((options: LogOptions, command: Command) =>
      printLines(command, api.lines(pathOf('log'), queryOf(options))),
    );

  streams
    .command('import')
    .description(
      'with every service stopped: append the lines of an export to the store that the service is configured to use; what is already there is compared, so a killed import continues where it was',
    )
    .argument('[file]', 'the JSON lines; default: standard input')
    .action(async (path: string | undefined, _options: unknown, command: Command) => {
      // Loaded only when needed: every other command starts without a database driver.
      const { importStreamsFrom } = await import('../../importStreams.ts');
      const display = progress();
      const onProgress = (done: number) => display.show({ stage: 'importing', done, of: null });
      const result = await importStreamsFrom(process.env, { path, onProgress }).finally(() => display.end());
      await print(command, result);
    });

  streams
    .command('verify')
    .description('verify the stored events: order, content, rules and chain')
    .addOption(environmentOption())
    .option(
      '--app <id>',
      'check only the events of this app or its scope; the chain is always compared as a whole',
    )
    .action(({ env, app }: LogOptions, command: Command) =>
      runTask(command, pathOf('log', 'verification'), {
        query: { environment: env, app },
        table: verificationTable,
      }),
    );
}
