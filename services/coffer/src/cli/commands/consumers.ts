/** What reads the log, from the outside: for an operator who has put the log back to an older state. */
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';

export function registerConsumers(program: Command, cli: Cli): void {
  const consumers = program.command('consumers').description('what reads the log');
  consumers
    .command('reset')
    .description('after a restore, with the service stopped: read the whole log anew')
    .action(async (_options: unknown, command: Command) => {
      // Loaded only when called for: every other command starts without a database driver.
      const { resetConsumersFrom } = await import('../../resetConsumers.ts');
      await cli.print(command, await resetConsumersFrom(process.env));
    });
}
