import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import type { Cli } from '../cli.ts';

interface CreateOptions {
  readonly name: string;
  readonly scope?: string;
  readonly idempotencyKey?: string;
}

export function registerApps(program: Command, { api, print }: Cli): void {
  const apps = program.command('apps').description('apps, and the scopes in which they share users');

  apps
    .command('create')
    .description('create an app')
    .requiredOption('--name <name>', 'its name, for people')
    .option('--scope <id>', 'the scope of an existing app, to share its users and wallets')
    .option('--idempotency-key <key>', 'makes it safe to repeat the command')
    .action(async ({ name, scope, idempotencyKey }: CreateOptions, command: Command) => {
      await print(command, await api.post(pathOf('apps'), { name, scope }, { idempotencyKey }));
    });

  apps
    .command('list')
    .description('list the apps')
    .action(async (_options: unknown, command: Command) => {
      await print(command, await api.get(pathOf('apps')));
    });
}
