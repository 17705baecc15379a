import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, userOption } from '../cli.ts';

interface AccountOptions {
  readonly app: string;
  readonly env: string;
  readonly user: string;
  readonly currency: string;
}

interface AdjustOptions extends AccountOptions {
  readonly amount: string;
  readonly ref: string;
  readonly reason?: string;
}

interface TotalsOptions {
  readonly app: string;
  readonly env: string;
  readonly at?: string;
}

const AT = 'an ordinal (as `audit head` prints it), a time (ISO 8601) or a position in the log';

export function registerAccounts(program: Command, { api, print }: Cli): void {
  const accounts = program.command('accounts').description("players' off-chain funds");
  const accountCommand = (name: string) =>
    accounts
      .command(name)
      .addOption(appOption())
      .addOption(environmentOption().makeOptionMandatory())
      .addOption(userOption().makeOptionMandatory())
      .requiredOption('--currency <code>', "the currency's code");

  accountCommand('show')
    .description("show a player's funds, now or at a past moment")
    .option('--at <moment>', AT)
    .action(async ({ at, ...account }: AccountOptions & { readonly at?: string }, command: Command) => {
      const { app, env, user, currency } = account;
      const path = pathOf('app', app, env, 'users', user, 'accounts');
      await print(command, await api.get(path, { currency, at }));
    });

  accounts
    .command('totals')
    .description("show the trial balance of an app's books, now or at a past moment")
    .addOption(appOption())
    .addOption(environmentOption().makeOptionMandatory())
    .option('--at <moment>', AT)
    .action(async ({ app, env, at }: TotalsOptions, command: Command) => {
      await print(command, await api.get(pathOf('app', app, env, 'totals'), { at }));
    });

  for (const direction of ['credit', 'debit'] as const) {
    accountCommand(direction)
      .description(`adjust a player's funds: ${direction}; once per --ref`)
      .requiredOption('--amount <units>', 'in base units')
      .requiredOption('--ref <ref>', 'your key: the same adjustment under the same ref is made only once')
      .option('--reason <text>', 'why, without personal data: it is kept for ever')
      .action(async ({ app, env, user, ...adjustment }: AdjustOptions, command: Command) => {
        const { currency, amount, ref, reason } = adjustment;
        const path = pathOf('app', app, env, 'users', user, 'accounts', direction);
        await print(command, await api.post(path, { currency, amount, ref, reason }));
      });
  }
}
