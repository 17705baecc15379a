import { type Command, Option } from 'commander';
import { pathOf } from '../adminApi.ts';
import { type Cli, environmentOption } from '../cli.ts';

interface RotateOptions {
  readonly env: string;
  readonly compromised: boolean;
}

export function registerSigningKeys(program: Command, { api, print }: Cli): void {
  const signingKeys = program
    .command('signing-keys')
    .description("the keys that sign players' access tokens: one in use, and the next one");

  signingKeys
    .command('list')
    .description('list the keys and their states')
    .addOption(environmentOption())
    .action(async ({ env }: { readonly env?: string }, command: Command) => {
      await print(command, await api.get(pathOf('signing-keys'), { environment: env }));
    });

  signingKeys
    .command('rotate')
    .description('sign with the next key; the previous one still verifies until its tokens expire')
    .addOption(environmentOption().makeOptionMandatory())
    .addOption(
      new Option('--compromised', 'the key in use no longer verifies anything: players refresh').default(
        false,
      ),
    )
    .action(async ({ env, compromised }: RotateOptions, command: Command) => {
      const body = { environment: env, compromised };
      await print(command, await api.post(pathOf('signing-keys', 'rotate'), body));
    });
}
