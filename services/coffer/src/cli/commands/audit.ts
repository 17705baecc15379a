import { type Command, InvalidArgumentError } from 'commander';
import { pathOf } from '../adminApi.ts';
import { type Cli, wholeNumber } from '../cli.ts';
import { verificationTable } from '../verificationTable.ts';

export function registerAudit(program: Command, { api, print, runTask }: Cli): void {
  const audit = program.command('audit').description('evidence that the log is the one that was written');

  audit
    .command('head')
    .description('print the latest ordinal of the hash chain and its hash, to be kept elsewhere')
    .action(async (_options: unknown, command: Command) => {
      await print(command, await api.get(pathOf('audit', 'head')));
    });

  audit
    .command('verify')
    .description('prove that the log still extends a noted head')
    .requiredOption('--since <ordinal>', 'the ordinal that was noted', ordinal)
    .requiredOption('--hash <hash>', 'the hash that was noted, in hexadecimal', sha256)
    .action(({ since, hash }: { readonly since: number; readonly hash: string }, command: Command) =>
      runTask(command, pathOf('audit', 'verification'), {
        query: { since: `${since}`, hash },
        table: verificationTable,
      }),
    );
}

function ordinal(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('Ordinals start at 1.');
  return number;
}

function sha256(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('It must be 64 hexadecimal digits.');
  return text.toLowerCase();
}
