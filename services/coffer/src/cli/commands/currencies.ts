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
  const currencies = program.command('currencies').description('the currencies of an app');

  currencies
    .command('add')
    .description('add a currency; its mints are looked at on the chains there are; it can never be changed')
    .addOption(appOption())
    .requiredOption('--id <number>', 'its number, as treasury, custody and referrals name it', wholeNumber)
    .requiredOption('--code <code>', 'its code, as the ledger names it, such as CHIP')
    .requiredOption('--decimals <number>', 'how many decimals its base unit is away', wholeNumber)
    .option('--mint-test <mint>', '"native" or the mint address in test; left out, it is not on that chain')
    .option('--mint-live <mint>', '"native" or the mint address in live; left out, it is not on that chain')
    .action(async ({ app, mintTest, mintLive, ...options }: AddOptions, command: Command) => {
      const { id, code, decimals } = options;
      const body = { id, code, decimals, mint: { test: mintTest, live: mintLive } };
      await print(command, await api.post(pathOf('app', app, 'currencies'), body), addedTable);
    });

  currencies
    .command('list')
    .description('list the currencies of an app')
    .addOption(appOption())
    .action(async ({ app }: { readonly app: string }, command: Command) => {
      await print(command, await api.get(pathOf('app', app, 'currencies')));
    });
}

/** What nobody has looked at is said in words. */
function addedTable(answer: unknown): string {
  const unchecked = isRow(answer) && Array.isArray(answer.uncheckedMints) ? answer.uncheckedMints : [];
  const notes = unchecked.map(
    (environment) =>
      `The mint in ${environment} was not looked at: the service has no chain there. A currency never changes, so look at it before you use it.`,
  );
  return [tableOf(answer), ...notes].join('\n');
}
