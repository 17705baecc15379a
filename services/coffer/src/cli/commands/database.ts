/** The database, for whoever reads the books with a PostgreSQL client. */
import type { Command } from 'commander';
import type { Cli, CliSurroundings } from '../cli.ts';

export function registerDatabase(
  program: Command,
  { print }: Cli,
  { variables, workingFolder }: CliSurroundings,
): void {
  const database = program.command('database').description("the service's database");
  database
    .command('url')
    .description(
      'print its address with the password: DATABASE_URL, or that of the embedded one while it runs',
    )
    .action(async (_options: unknown, command: Command) => {
      // Loaded only when needed: every other command starts without a database driver.
      const { databaseUrlFrom } = await import('../../databaseUrl.ts');
      const url = await databaseUrlFrom(variables, workingFolder);
      await print(command, { url }, () => url);
    });
  database
    .command('folder')
    .description(
      'print where the embedded database is kept: in the data folder, or elsewhere if the service runs as root',
    )
    .action(async (_options: unknown, command: Command) => {
      const { databaseFolderFrom } = await import('../../databaseUrl.ts');
      const folder = await databaseFolderFrom(variables, workingFolder);
      await print(command, { folder }, () => folder);
    });
}
