/**
 * The master keys that this process holds: for each environment some versions, each of 32 bytes. They are never in the
 * database, which knows only a check value for each version.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { type Environment, environment as environments } from '@coffer/kernel';

const KEY_BYTES = 32;
const MAXIMUM_VERSION = 1_000_000;
const ENTRY = /^(test|live):([1-9][0-9]{0,6}):([A-Za-z0-9+/]{43}=)$/;

export interface MasterKey {
  readonly environment: Environment;
  /** From 1; each rotation goes to a higher one. */
  readonly version: number;
  /** Outside the JavaScript heap, and hidden from inspection. */
  readonly key: KeyObject;
}

/** What is wrong with a text of master keys. The message never repeats any part of it. */
export class MasterKeysFormatError extends Error {
  override readonly name = 'MasterKeysFormatError';
}

/**
 * Reads `<environment>:<version>:<32 bytes in base64>`, several separated by commas or white space. Throws a
 * `MasterKeysFormatError`, also if two entries have the same key, so that test and live cannot share one.
 */
export function parseMasterKeys(text: string): readonly MasterKey[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  if (entries.length === 0) throw new MasterKeysFormatError('must name at least one key');
  const keys = entries.map((entry, index) => {
    const [, environment, version, encoded] = ENTRY.exec(entry) ?? [];
    const bytes = Buffer.from(encoded ?? '', 'base64');
    if (bytes.length !== KEY_BYTES || Number(version) > MAXIMUM_VERSION) {
      throw new MasterKeysFormatError(
        `entry ${index + 1} must be <test or live>:<version from 1>:<32 bytes in base64> (openssl rand -base64 32)`,
      );
    }
    return masterKey(environments.parse(environment), Number(version), bytes);
  });
  keys.forEach((one, index) => {
    for (const other of keys.slice(0, index)) {
      if (one.environment === other.environment && one.version === other.version) {
        throw new MasterKeysFormatError(`${nameOf(one)} is there twice`);
      }
      if (one.key.equals(other.key)) {
        throw new MasterKeysFormatError(
          `${nameOf(other)} and ${nameOf(one)} are the same key; each needs its own`,
        );
      }
    }
  });
  return keys;
}

/** The text that `parseMasterKeys` reads, one entry a line, for the one file that keeps them. */
export const masterKeysText = (keys: readonly MasterKey[]): string =>
  keys
    .map(({ environment, version, key }) => `${environment}:${version}:${key.export().toString('base64')}\n`)
    .join('');

export const newMasterKey = (environment: Environment, version: number): MasterKey =>
  masterKey(environment, version, randomBytes(KEY_BYTES));

/** Lets the database recognize the key of a version, and reveals nothing about it. */
export const checkValueOf = ({ environment, version, key }: MasterKey): Buffer =>
  Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `coffer master key ${environment} ${version}`, 32));

/** `test 2`: the name of a master key in messages. */
export const nameOf = ({ environment, version }: Pick<MasterKey, 'environment' | 'version'>): string =>
  `${environment} ${version}`;

export interface MasterKeys {
  readonly find: (environment: Environment, version: number) => MasterKey | undefined;
  /** In ascending order; empty where this process may not touch the environment. */
  readonly versionsOf: (environment: Environment) => readonly number[];
  readonly all: () => readonly MasterKey[];
  readonly add: (key: MasterKey) => void;
}

export function createMasterKeys(initial: readonly MasterKey[]): MasterKeys {
  const keys = new Map<string, MasterKey>();
  const add = (key: MasterKey) => void keys.set(nameOf(key), key);
  initial.forEach(add);
  return {
    find: (environment, version) => keys.get(nameOf({ environment, version })),
    versionsOf: (environment) =>
      [...keys.values()]
        .filter((key) => key.environment === environment)
        .map(({ version }) => version)
        .sort((left, right) => left - right),
    all: () => [...keys.values()],
    add,
  };
}

function masterKey(environment: Environment, version: number, bytes: Buffer): MasterKey {
  try {
    return { environment, version, key: createSecretKey(bytes) };
  } finally {
    bytes.fill(0);
  }
}
