/**
 * The master keys of the installation: from the environment or, with the embedded database, generated once and kept
 * next to it in the data folder, mode 0600. With an external database they are never generated: a key in a folder that
 * disappears with its container would take every wallet with it. Source: ADR 0015.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from '@coffer/database';
import { type Environment, environment as environments } from '@coffer/kernel';
import { readIfPresent, writePrivateFile } from '@coffer/portal';
import {
  createMasterKeys,
  hasMasterKeysInUse,
  type MasterKey,
  type MasterKeys,
  MasterKeysFormatError,
  masterKeysText,
  newMasterKey,
  parseMasterKeys,
} from '@coffer/wallets';
import { type Config, ConfigurationError } from './config.ts';

export interface InstallationMasterKeys {
  readonly masterKeys: MasterKeys;
  /** Generates and stores the next version. Undefined if an operator supplies the keys. */
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
}

export const masterKeysPath = (dataFolder: string): string => join(dataFolder, 'master-keys');

/** The database must be migrated. Throws a `ConfigurationError` if the stored keys are lost or readable by others. */
export async function installationMasterKeys(
  { masterKeys: given, databaseUrl, dataFolder }: Pick<Config, 'masterKeys' | 'databaseUrl' | 'dataFolder'>,
  pool: Pool,
): Promise<InstallationMasterKeys> {
  if (given) return { masterKeys: createMasterKeys(given), makeNextMasterKey: undefined };
  if (databaseUrl !== undefined) return { masterKeys: createMasterKeys([]), makeNextMasterKey: undefined };

  const path = masterKeysPath(dataFolder);
  const masterKeys = createMasterKeys((await keptKeys(path)) ?? (await firstKeys(path, pool)));
  return {
    masterKeys,
    makeNextMasterKey: async (environment) => {
      const version = (masterKeys.versionsOf(environment).at(-1) ?? 0) + 1;
      const next = newMasterKey(environment, version);
      // Stored before anything is sealed with it. Old versions stay: a backup may still need them.
      await writePrivateFile(path, masterKeysText([...masterKeys.all(), next]));
      masterKeys.add(next);
      return next;
    },
  };
}

async function keptKeys(path: string): Promise<readonly MasterKey[] | undefined> {
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  if (((await stat(path)).mode & 0o077) !== 0) {
    throw new ConfigurationError(
      `${path} holds the master keys and can be read by others. Run: chmod 600 ${path}`,
    );
  }
  try {
    return parseMasterKeys(text);
  } catch (error) {
    if (!(error instanceof MasterKeysFormatError)) throw error;
    throw new ConfigurationError(`${path} cannot be read as master keys: ${error.message}.`);
  }
}

/** The embedded database belongs to one process, so no other creates them at the same time. */
async function firstKeys(path: string, pool: Pool): Promise<readonly MasterKey[]> {
  if (await hasMasterKeysInUse(pool)) {
    throw new ConfigurationError(
      `${path} is missing, and without its master keys all wallets' keys stay sealed. Restore the file from your backup, or set COFFER_MASTER_KEYS to its content.`,
    );
  }
  const first = environments.options.map((environment) => newMasterKey(environment, 1));
  await writePrivateFile(path, masterKeysText(first));
  return first;
}
