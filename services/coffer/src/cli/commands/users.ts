import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, userOption } from '../cli.ts';

interface CreateOptions {
  readonly app: string;
  readonly env: string;
  readonly user?: string;
  readonly idempotencyKey?: string;
}

interface UserOptions {
  readonly app: string;
  readonly env: string;
  readonly user: string;
  readonly reason?: string;
}

interface ComplianceOptions extends UserOptions {
  readonly decision: string;
}

export function registerUsers(program: Command, { api, print }: Cli): void {
  const users = program.command('users').description('users, without sign-in');
  const userCommand = (name: string) =>
    users.command(name).addOption(appOption()).addOption(environmentOption().makeOptionMandatory());

  userCommand('create')
    .description('register a user')
    .addOption(userOption())
    .option('--idempotency-key <key>', 'makes it safe to repeat the command')
    .action(async ({ app, env, user, idempotencyKey }: CreateOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users');
      await print(command, await api.post(path, { userId: user }, { idempotencyKey }));
    });

  userCommand('show')
    .description("show a user's standing")
    .addOption(userOption().makeOptionMandatory())
    .action(async ({ app, env, user }: UserOptions, command: Command) => {
      await print(command, await api.get(pathOf('app', app, env, 'users', user)));
    });

  userCommand('suspend')
    .description('suspend a user')
    .addOption(userOption().makeOptionMandatory())
    .option('--reason <text>', 'why, without personal data: it is kept for ever')
    .action(async ({ app, env, user, reason }: UserOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users', user, 'suspend');
      await print(command, await api.post(path, { reason }));
    });

  userCommand('reinstate')
    .description('reinstate a suspended user')
    .addOption(userOption().makeOptionMandatory())
    .action(async ({ app, env, user }: UserOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users', user, 'reinstate');
      await print(command, await api.post(path, {}));
    });

  userCommand('compliance')
    .description('record what a compliance check has found')
    .addOption(userOption().makeOptionMandatory())
    .requiredOption('--decision <decision>', 'passed, failed or review_required')
    .requiredOption('--reason <text>', 'why, without personal data: it is kept for ever')
    .action(async ({ app, env, user, decision, reason }: ComplianceOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users', user, 'compliance');
      await print(command, await api.post(path, { decision, reason }));
    });

  userCommand('erase')
    .description('forget the person behind a user, for good; funds and play stay under the id')
    .addOption(userOption().makeOptionMandatory())
    .action(async ({ app, env, user }: UserOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users', user, 'erase');
      await print(command, await api.post(path, {}));
    });
}
