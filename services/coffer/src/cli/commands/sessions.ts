import { type Command, Option } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, userOption, wholeNumber } from '../cli.ts';

interface ListOptions {
  readonly app: string;
  readonly env: string;
  readonly user?: string;
  readonly status?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface SettleOptions {
  readonly app: string;
  readonly env: string;
  readonly session: string;
  readonly transactionUuid?: string;
}

export function registerSessions(program: Command, { api, print }: Cli): void {
  const sessions = program
    .command('sessions')
    .description('play sessions, including those that a game left open');
  const sessionCommand = (name: string) =>
    sessions.command(name).addOption(appOption()).addOption(environmentOption().makeOptionMandatory());

  sessionCommand('list')
    .description('list play sessions')
    .addOption(userOption())
    .addOption(new Option('--status <status>', 'only these').choices(['open', 'settled']))
    .option('--limit <number>', 'at most this many (1 to 200)', wholeNumber)
    .option('--cursor <cursor>', 'the nextCursor of the previous page')
    .action(async ({ app, env, user, limit, ...options }: ListOptions, command: Command) => {
      const { status, cursor } = options;
      const query = { userId: user, status, limit: limit?.toString(), cursor };
      await print(command, await api.get(pathOf('app', app, env, 'sessions'), query));
    });

  sessionCommand('settle')
    .description('settle a play session; open bets count as lost')
    .requiredOption('--session <id>', 'the play session')
    .option('--transaction-uuid <uuid>', 'the idempotency key of the settlement')
    .action(async ({ app, env, session, transactionUuid }: SettleOptions, command: Command) => {
      const path = pathOf('app', app, env, 'sessions', session, 'settle');
      await print(command, await api.post(path, { transactionUuid }));
    });
}
