import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { type Cli, environmentOption } from '../cli.ts';

/** `master-keys` and, beside the other keys, `keys rotate-master`. */
export function registerMasterKeys(program: Command, { api, print }: Cli): void {
  const masterKeys = program
    .command('master-keys')
    .description('the keys under which the keys of wallets are sealed; none is ever shown');
  masterKeys
    .command('status')
    .description('show the versions, and how many keys of wallets stand under each')
    .action(async (_options: unknown, command: Command) => {
      await print(command, await api.get(pathOf('master-keys')));
    });

  const rotate = async ({ env }: { readonly env?: string }, command: Command) => {
    await print(command, await api.post(pathOf('master-keys', 'rotate'), { environment: env }));
  };
  const described = 'put the next version to use; the keys of wallets are brought under it in the background';
  masterKeys.command('rotate').description(described).addOption(environmentOption()).action(rotate);

  const keys = program.commands.find((command) => command.name() === 'keys');
  keys
    ?.command('rotate-master')
    .description(`the same as master-keys rotate: ${described}`)
    .addOption(environmentOption())
    .action(rotate);
}
