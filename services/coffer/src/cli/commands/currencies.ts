import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, wholeNumber } from '../cli.ts';
import { isRow, tableOf } from '../output.ts';

interface AddOptions {
  readonly app: string;
  readonly id: number;
  readonly code: string;
  readonly decimals: number;
  readonly mintTest?: string;
  readonly mintLive?: string;
}

export function registerCurrencies(program: Command, { api, print }: Cli): void {
  const currencies = program.command('currencies').description("an app's currencies");

  currencies
    .command('add')
    .description('add a currency, for ever; its mints are checked on the chains that the service has')
    .addOption(appOption())
    .requiredOption('--id <number>', 'its number, which treasury, custody and referrals use', wholeNumber)
    .requiredOption('--code <code>', 'its code, which the ledger uses, such as CHIP')
    .requiredOption('--decimals <number>', 'the number of decimals between it and its base unit', wholeNumber)
    .option('--mint-test <mint>', '"native" or the mint address in test; if omitted, it is not on that chain')
    .option('--mint-live <mint>', '"native" or the mint address in live; if omitted, it is not on that chain')
    .action(async ({ app, mintTest, mintLive, ...options }: AddOptions, command: Command) => {
      const { id, code, decimals } = options;
      const body = { id, code, decimals, mint: { test: mintTest, live: mintLive } };
      await print(command, await api.post(pathOf('app', app, 'currencies'), body), addedTable);
    });

  currencies
    .command('list')
    .description("list an app's currencies")
    .addOption(appOption())
    .action(async ({ app }: { readonly app: string }, command: Command) => {
      await print(command, await api.get(pathOf('app', app, 'currencies')));
    });
}

/** Says in words which mints nobody has checked. */
function addedTable(answer: unknown): string {
  const unchecked = isRow(answer) && Array.isArray(answer.uncheckedMints) ? answer.uncheckedMints : [];
  const notes = unchecked.map(
    (environment) =>
      `The mint in ${environment} was not checked: the service has no chain there. A currency never changes, so check it before you use it.`,
  );
  return [tableOf(answer), ...notes].join('\n');
}
