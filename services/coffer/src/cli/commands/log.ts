/** The log that the service is configured to use, and its user. */
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CommandFailure, EXIT } from '../failure.ts';

export function registerLog(program: Command, cli: Cli): void {
  const log = program
    .command('log')
    .description('the log that the service is configured to use, and its user');
  log
    .command('check')
    .description(
      'show what the user of EVENTSTORE_URL, or of DATABASE_URL, may and may not do with the log; writes nothing',
    )
    .action(async (_options: unknown, command: Command) => {
      // Loaded only when needed: every other command starts without a database driver.
      const { checkLogFrom } = await import('../../checkLog.ts');
      const rights = await checkLogFrom(process.env);
      await cli.print(command, { items: rights });
      const missing = rights.filter(({ given }) => !given).map(({ right }) => right);
      if (missing.length > 0) {
        throw new CommandFailure(EXIT.refused, `The user of the log may not ${missing.join(' or ')}.`);
      }
    });
  log
    .command('grant')
    .description(
      'on EventStoreDB, once: create the user of EVENTSTORE_URL and let it read the whole log, acting as the administrator of EVENTSTORE_ADMIN_URL',
    )
    .action(async (_options: unknown, command: Command) => {
      const { grantLogFrom } = await import('../../checkLog.ts');
      await cli.print(command, await grantLogFrom(process.env));
    });
}
