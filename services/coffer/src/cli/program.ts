/** The command line as a whole. Source: contract, The command line. */
import { Command, CommanderError, Help, type Option } from 'commander';
import { VERSION } from '../version.ts';
import { type CliSurroundings, createCli } from './cli.ts';
import { registerAccounts } from './commands/accounts.ts';
import { registerApps } from './commands/apps.ts';
import { registerAudit } from './commands/audit.ts';
import { registerConsumers } from './commands/consumers.ts';
import { registerCurrencies } from './commands/currencies.ts';
import { registerDatabase } from './commands/database.ts';
import { registerKeys } from './commands/keys.ts';
import { registerLog } from './commands/log.ts';
import { registerMasterKeys } from './commands/masterKeys.ts';
import { registerPools } from './commands/pools.ts';
import { registerProjections } from './commands/projections.ts';
import { registerReconcile } from './commands/reconcile.ts';
import { registerReferrals } from './commands/referrals.ts';
import { registerSessions } from './commands/sessions.ts';
import { registerSettings } from './commands/settings.ts';
import { registerSigningKeys } from './commands/signingKeys.ts';
import { registerStreams } from './commands/streams.ts';
import { registerUsers } from './commands/users.ts';
import { registerWallets } from './commands/wallets.ts';
import { registerPortal, registerWebhooks } from './commands/webhooks.ts';
import { CommandFailure, EXIT } from './failure.ts';
import { write } from './output.ts';
import { runHelp } from './runHelp.ts';

/**
 * Runs the service until it is told to stop. Loaded only when needed, so that other commands start quickly.
 */
export type RunService = (roles: readonly string[]) => Promise<void>;

/**
 * Reports a misspelt option first; commander would name the required option that is missing because of it.
 */
class CofferCommand extends Command {
  override createCommand(name?: string): Command {
    return new CofferCommand(name);
  }

  override createHelp(): Help {
    return new CofferHelp();
  }

  override parseOptions(argv: string[]) {
    const parsed = super.parseOptions(argv);
    const isLeaf = this.commands.length === 0;
    const asksForHelp = parsed.unknown.some((option) => option === '-h' || option === '--help');
    if (isLeaf && parsed.unknown.length > 0 && !asksForHelp) {
      for (const option of this.options) option.mandatory = false;
    }
    return parsed;
  }
}

class CofferHelp extends Help {
  override showGlobalOptions = true;

  override optionDescription(option: Option): string {
    const description = super.optionDescription(option);
    return option.mandatory ? `${description} (required)` : description;
  }
}

/** The program with all its commands. It throws where commander would end the process. */
export function buildProgram(surroundings: CliSurroundings, runService: RunService): Command {
  const { stdout, stderr } = surroundings;
  const program = new CofferCommand('coffer')
    .description('A custodial wallet and off-chain play ledger for games.')
    .option('--json', 'print one JSON document instead of a table')
    .version(VERSION, '--version', 'print the version')
    .showHelpAfterError('Add --help to see what is available.')
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .exitOverride();

  program
    .command('run')
    .description('run the service; without arguments, in every role')
    .argument('[roles...]', 'the roles of this process; listed below')
    .addHelpText('after', ({ command }) => runHelp(command))
    .action((roles: readonly string[]) => runService(roles));

  const cli = createCli(surroundings);
  registerApps(program, cli);
  registerKeys(program, cli);
  registerMasterKeys(program, cli);
  registerCurrencies(program, cli);
  registerSettings(program, cli);
  registerUsers(program, cli);
  registerWallets(program, cli);
  registerAccounts(program, cli);
  registerSessions(program, cli);
  registerPools(program, cli);
  registerReferrals(program, cli);
  registerPortal(program, cli);
  registerWebhooks(program, cli);
  registerSigningKeys(program, cli);
  registerStreams(program, cli);
  registerReconcile(program, cli);
  registerConsumers(program, cli);
  registerLog(program, cli);
  registerProjections(program, cli);
  registerDatabase(program, cli, surroundings);
  registerAudit(program, cli);
  return program;
}

/** Runs one command and returns the exit code. Throws only for a mistake of ours. */
export async function runProgram(
  argv: readonly string[],
  surroundings: CliSurroundings,
  runService: RunService,
): Promise<number> {
  try {
    await buildProgram(surroundings, runService).parseAsync(argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommandFailure) {
      await write(surroundings.stderr, `${error.message}\n`);
      return error.exitCode;
    }
    // Commander has already said what is wrong. Asking for help is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUsage;
    throw error;
  }
}
