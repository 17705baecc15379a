/** The consumers of the log, for an operator: how far they are, and what to do if one has stopped. */
import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import type { Cli } from '../cli.ts';

export function registerConsumers(program: Command, cli: Cli): void {
  const consumers = program.command('consumers').description('the consumers of the log');
  consumers
    .command('list')
    .description('show how far each one is, who runs it, and at which event it has stopped, if it has')
    .action(async (_options: unknown, command: Command) => {
      await cli.print(command, await cli.api.get(pathOf('projections')));
    });

  consumers
    .command('skip')
    .description('the last resort: make a consumer skip the one event at which it has stopped, on record')
    .requiredOption('--consumer <name>', 'the consumer, as `consumers list` names it')
    .requiredOption('--event <id>', 'the id of the event, as `consumers list` shows it')
    .requiredOption('--reason <text>', 'why, for whoever audits the books')
    .action(async ({ consumer, event, reason }: SkipOptions, command: Command) => {
      const path = pathOf('consumers', consumer, 'skips');
      await cli.print(command, await cli.api.post(path, { eventId: event, reason }));
    });

  consumers
    .command('reset')
    .description('after a restore, with the service stopped: have the whole log read again')
    .action(async (_options: unknown, command: Command) => {
      // Loaded only when needed: every other command starts without a database driver.
      const { resetConsumersFrom } = await import('../../resetConsumers.ts');
      await cli.print(command, await resetConsumersFrom(process.env));
    });
}

interface SkipOptions {
  readonly consumer: string;
  readonly event: string;
  readonly reason: string;
}
