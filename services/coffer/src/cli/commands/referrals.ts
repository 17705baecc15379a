import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, wholeNumber } from '../cli.ts';

interface UserOptions {
  readonly app: string;
  readonly env: string;
  readonly user: string;
}

interface PageOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

export function registerReferrals(program: Command, { api, print }: Cli): void {
  const referrals = program.command('referrals').description('who brought whom, and what that has earned');
  const userCommand = (name: string) =>
    referrals
      .command(name)
      .addOption(appOption())
      .addOption(environmentOption().makeOptionMandatory())
      .requiredOption('--user <id>', 'the user')
      .option('--limit <number>', 'at most this many (1 to 200)', wholeNumber);
  const pagedCommand = (name: string) =>
    userCommand(name).option('--cursor <cursor>', 'the nextCursor of the previous page');
  const pathTo = ({ app, env, user }: UserOptions, ...rest: readonly string[]) =>
    pathOf('app', app, env, 'referrals', 'users', user, ...rest);

  pagedCommand('show')
    .description("show a user's code, referrer, referees and earnings")
    .action(async ({ limit, cursor, ...user }: UserOptions & PageOptions, command: Command) => {
      await print(command, await api.get(pathTo(user), { limit: limit?.toString(), cursor }));
    });

  userCommand('tree')
    .description('show whom a user brought, whom they brought, and so on')
    .option('--depth <levels>', 'at most this many levels (1 to 10)', wholeNumber)
    .action(
      async (
        { limit, depth, ...user }: UserOptions & PageOptions & { readonly depth?: number },
        command: Command,
      ) => {
        const query = { limit: limit?.toString(), depth: depth?.toString() };
        await print(command, await api.get(pathTo(user, 'tree'), query));
      },
    );

  pagedCommand('history')
    .description("list a user's accruals and withdrawals, newest first")
    .option('--currency <id>', 'only those in this currency', wholeNumber)
    .action(
      async (
        { limit, cursor, currency, ...user }: UserOptions & PageOptions & { readonly currency?: number },
        command: Command,
      ) => {
        const query = { limit: limit?.toString(), cursor, currency: currency?.toString() };
        await print(command, await api.get(pathTo(user, 'history'), query));
      },
    );
}
