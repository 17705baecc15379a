import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, userOption } from '../cli.ts';

interface WalletOptions {
  readonly app: string;
  readonly env: string;
}

interface MigrateOptions extends WalletOptions {
  readonly user: string;
  readonly ref: string;
}

export function registerWallets(program: Command, { api, print }: Cli): void {
  const wallets = program.command('wallets').description("users' wallets, and the app's own");
  const walletCommand = (name: string) =>
    wallets.command(name).addOption(appOption()).addOption(environmentOption().makeOptionMandatory());

  walletCommand('list')
    .description("show the app's own wallets: the treasury, and the fee payer, which needs SOL")
    .action(async ({ app, env }: WalletOptions, command: Command) => {
      await print(command, await api.get(pathOf('app', app, env, 'wallets')));
    });

  walletCommand('migrate')
    .description('give a user a new address, and send what the old one holds to it')
    .addOption(userOption().makeOptionMandatory())
    .requiredOption('--ref <ref>', 'your key: the same ref again only sends on what has arrived since')
    .action(async ({ app, env, user, ref }: MigrateOptions, command: Command) => {
      const path = pathOf('app', app, env, 'users', user, 'wallets', 'migrate');
      await print(command, await api.post(path, { ref }));
    });
}
