import type { Command } from 'commander';
import { pathOf } from '../adminApi.ts';
import { type Cli, environmentOption } from '../cli.ts';

/** `master-keys`, and `keys rotate-master` among the other keys. */
export function registerMasterKeys(program: Command, { api, print }: Cli): void {
  const masterKeys = program
    .command('master-keys')
    .description("the keys under which wallets' keys are sealed; none is ever shown");
  masterKeys
    .command('status')
    .description('show the versions, and how many wallet keys each one seals')
    .action(async (_options: unknown, command: Command) => {
      await print(command, await api.get(pathOf('master-keys')));
    });

  const rotate = async ({ env }: { readonly env?: string }, command: Command) => {
    await print(command, await api.post(pathOf('master-keys', 'rotate'), { environment: env }));
  };
  const described = 'start using the next version; wallet keys are brought under it in the background';
  masterKeys.command('rotate').description(described).addOption(environmentOption()).action(rotate);

  const keys = program.commands.find((command) => command.name() === 'keys');
  keys
    ?.command('rotate-master')
    .description(`the same as master-keys rotate: ${described}`)
    .addOption(environmentOption())
    .action(rotate);
}
