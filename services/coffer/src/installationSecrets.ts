/**
 * The installation's own secrets: from the environment, or generated once and kept in the data folder, mode 0600.
 * Source: contract, Apps, keys, currencies (encrypted at rest) and The command line (operator token).
 */
import { randomBytes } from 'node:crypto';
import { chmod, link, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DamagedFileError, readIfPresent } from '@coffer/portal';
import { z } from 'zod';
import { type Config, ConfigurationError, NOT_THE_OPERATORS } from './config.ts';

const stored = z.object({ secretsKey: z.string(), operatorToken: z.string() });
/** In a file of its own: it never changes, while the other secrets may. */
const storedIdentityKey = z.object({ identityKey: z.string() });
/** If deleted, the next start makes another. */
const storedGatewayPassword = z.object({ password: z.string() });

export interface InstallationSecrets {
  /** 32 bytes, the key that seals secret settings. If it is lost, those settings must be set again. */
  readonly secretsKey: Uint8Array;
  /** 32 bytes, the key that hashes identities. If it is lost, every returning player would be taken for a new one. */
  readonly identityKey: Uint8Array;
  /**
   * Authenticates this installation's snapshots; undefined if it might be this node's alone: with an external database
   * other nodes may have generated secrets of their own.
   */
  readonly snapshotSecret: Uint8Array | undefined;
  readonly operatorToken: string;
  /** Undefined if the store gateway is not enabled. */
  readonly storeGatewayPassword: string | undefined;
  /** Exact texts that must never appear in a log. */
  readonly texts: readonly string[];
}

export async function installationSecrets(config: Config): Promise<InstallationSecrets> {
  const secrets =
    config.secretsKey && config.operatorToken
      ? undefined
      : await kept(join(config.dataFolder, 'secrets.json'), stored, () => ({
          secretsKey: randomBytes(32).toString('base64'),
          operatorToken: `op_${randomBytes(32).toString('base64url')}`,
        }));
  const identityKey = config.identityKey ?? (await keptIdentityKey(config.dataFolder));
  const secretsKey = config.secretsKey ?? Buffer.from(secrets?.secretsKey ?? '', 'base64');
  const operatorToken = config.operatorToken ?? secrets?.operatorToken ?? '';
  const storeGatewayPassword = await gatewayPasswordOf(config);
  if (storeGatewayPassword === operatorToken) {
    throw new ConfigurationError(
      `The configuration is wrong:\n  COFFER_STORE_GATEWAY_PASSWORD: ${NOT_THE_OPERATORS}`,
    );
  }
  return {
    secretsKey,
    identityKey,
    snapshotSecret: config.secretsKey ?? (config.databaseUrl === undefined ? secretsKey : undefined),
    operatorToken,
    storeGatewayPassword,
    texts: [
      operatorToken,
      Buffer.from(secretsKey).toString('base64'),
      Buffer.from(identityKey).toString('base64'),
      ...(storeGatewayPassword === undefined ? [] : [storeGatewayPassword]),
      ...(config.kafka?.sasl ? [config.kafka.sasl.password] : []),
    ],
  };
}

async function gatewayPasswordOf({ storeGateway, dataFolder }: Config): Promise<string | undefined> {
  if (!storeGateway || storeGateway.password !== undefined) return storeGateway?.password;
  const path = join(dataFolder, 'store-gateway-password.json');
  const { password } = await kept(path, storedGatewayPassword, () => ({
    password: randomBytes(24).toString('base64url'),
  }));
  return password;
}

async function keptIdentityKey(dataFolder: string): Promise<Uint8Array> {
  const { identityKey } = await kept(join(dataFolder, 'identity-key.json'), storedIdentityKey, () => ({
    identityKey: randomBytes(32).toString('base64'),
  }));
  return Buffer.from(identityKey, 'base64');
}

/** Written completely under another name and then linked: of two first starts, both read the same one. */
async function kept<Secrets>(
  path: string,
  schema: z.ZodType<Secrets>,
  make: () => Secrets,
): Promise<Secrets> {
  const existing = await readKept(path, schema);
  if (existing) return existing;
  const fresh = make();
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600, flush: true });
  await chmod(draft, 0o600);
  try {
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  const written = await readKept(path, schema);
  if (!written) throw new Error(`${path} was just written and cannot be read.`);
  return written;
}

async function readKept<Secrets>(path: string, schema: z.ZodType<Secrets>): Promise<Secrets | undefined> {
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new DamagedFileError(
      `${path} is not what this installation wrote: its secrets cannot be read. Restore it from a backup.`,
      { cause },
    );
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
