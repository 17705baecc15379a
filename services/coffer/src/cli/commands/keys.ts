import { type Command, Option } from 'commander';
import { pathOf } from '../adminApi.ts';
import { appOption, type Cli, environmentOption, wholeNumber } from '../cli.ts';

interface ListOptions {
  readonly app: string;
  readonly env?: string;
}

interface KeyOptions {
  readonly app: string;
  readonly env: string;
  readonly kind?: string;
  readonly key?: string;
  readonly grace?: number;
}

const kindOption = () => new Option('--kind <kind>', 'the kind of key').choices(['secret', 'publishable']);

export function registerKeys(program: Command, { api, print }: Cli): void {
  const keys = program.command('keys').description('API keys; a secret key is printed once');
  const keyCommand = (name: string) =>
    keys
      .command(name)
      .addOption(appOption())
      .addOption(environmentOption().makeOptionMandatory())
      .addOption(kindOption());

  keys
    .command('list')
    .description("list an app's keys, and when each was last used")
    .addOption(appOption())
    .addOption(environmentOption())
    .action(async ({ app, env }: ListOptions, command: Command) => {
      await print(command, await api.get(pathOf('app', app, 'keys'), { environment: env }));
    });

  keyCommand('create')
    .description('create a key; a secret one by default')
    .action(async ({ app, env, kind }: KeyOptions, command: Command) => {
      await print(command, await api.post(pathOf('app', app, env, 'keys'), { kind }));
    });

  keyCommand('rotate')
    .description('replace a key; by default the only secret key in use')
    .option('--key <id>', 'the key to replace')
    .option('--grace <seconds>', 'how long the old key still works', wholeNumber, 0)
    .action(async ({ app, env, kind, key, grace }: KeyOptions, command: Command) => {
      const body = { keyId: key, kind, graceSeconds: grace };
      await print(command, await api.post(pathOf('app', app, env, 'keys', 'rotate'), body));
    });

  keyCommand('revoke')
    .description('refuse a key from now on; by default the only secret key in use')
    .option('--key <id>', 'the key to revoke')
    .action(async ({ app, env, kind, key }: KeyOptions, command: Command) => {
      await print(command, await api.post(pathOf('app', app, env, 'keys', 'revoke'), { keyId: key, kind }));
    });
}
