import { type Command, Option } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, wholeNumber } from '../cli.ts';

interface Place {
  readonly app: string;
  readonly env: string;
}

interface PageOptions {
  readonly status?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export function registerPools(program: Command, { api, print }: Cli): void {
  const pools = program
    .command('pools')
    .description('pools of stakes, including those that a game left open');
  const poolCommand = (name: string) =>
    pools.command(name).addOption(appOption()).addOption(environmentOption().makeOptionMandatory());
  const onePool = (name: string) => poolCommand(name).requiredOption('--pool <id>', 'the pool');
  const paged = (command: Command, statuses: readonly string[]) =>
    command
      .addOption(new Option('--status <status>', 'only these').choices(statuses))
      .option('--limit <number>', 'at most this many (1 to 200)', wholeNumber)
      .option('--cursor <cursor>', 'the nextCursor of the previous page');
  const pageOf = ({ status, limit, cursor }: PageOptions) => ({ status, limit: limit?.toString(), cursor });

  paged(poolCommand('list'), ['open', 'settled', 'refunded'])
    .description('list pools')
    .option('--currency <id>', 'only those in this currency', wholeNumber)
    .action(
      async (
        { app, env, currency, ...page }: Place & PageOptions & { readonly currency?: number },
        command: Command,
      ) => {
        const query = { ...pageOf(page), currency: currency?.toString() };
        await print(command, await api.get(pathOf('app', app, env, 'pools'), query));
      },
    );

  onePool('show')
    .description('show a pool, and how many of its credits are done')
    .action(async ({ app, env, pool }: Place & { readonly pool: string }, command: Command) => {
      await print(command, await api.get(pathOf('app', app, env, 'pools', pool)));
    });

  paged(onePool('stakes'), ['locked', 'confirmed', 'released', 'settled', 'refunded'])
    .description('list the stakes of a pool')
    .action(
      async (
        { app, env, pool, ...page }: Place & PageOptions & { readonly pool: string },
        command: Command,
      ) => {
        await print(command, await api.get(pathOf('app', app, env, 'pools', pool, 'stakes'), pageOf(page)));
      },
    );

  onePool('refund')
    .description('refund every stake of a pool')
    .option('--reason <text>', 'why, for the log')
    .action(
      async (
        { app, env, pool, reason }: Place & { readonly pool: string; readonly reason?: string },
        command: Command,
      ) => {
        await print(command, await api.post(pathOf('app', app, env, 'pools', pool, 'refund'), { reason }));
      },
    );
}
