/**
 * The app "Demo" of an empty embedded installation. Keys are visible only once, so they are generated first and stored
 * in the file, and the rows are made from the file: after a kill in between, the next start continues with that file.
 * Source: contract, Apps, keys, currencies.
 */
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto';
import type { Pool } from '@coffer/database';
import {
  type Clock,
  type Environment,
  encodeBase58,
  idFromParts,
  newId,
  type SecretBox,
} from '@coffer/kernel';
import { type AdminChange, createAdminTransaction } from './adminActions.ts';
import { mintToken } from './apiKey.ts';
import { insertApp } from './apps.ts';
import { type BootstrapContent, readBootstrapFile, writeBootstrapFile } from './bootstrapFile.ts';
import { addCurrency } from './currencies.ts';
import { insertKey } from './keys.ts';
import { storeSettings } from './settingRecords.ts';
import { parseSettingChange } from './settings.ts';

/** Any constant: services starting at once must take the same lock. */
const BOOTSTRAP_LOCK = 7_263_002;

export interface BootstrapOptions {
  readonly pool: Pool;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  /** Where `bootstrap.json` is kept. */
  readonly path: string;
  /** The addresses of this start; the file of an earlier start is updated with them. */
  readonly addresses: Addresses;
}

type Addresses = Required<
  Pick<BootstrapContent, 'baseUrl' | 'portalUrl' | 'portalToken' | 'chainUrl' | 'storeGatewayUrl'>
>;

export interface BootstrapResult {
  /** Undefined if the installation has apps and no file: secret keys cannot be shown again. */
  readonly content: BootstrapContent | undefined;
  /** True if this very call created the app, the time to show its keys. */
  readonly created: boolean;
}

/** Creates the app if the installation has none; otherwise only updates the addresses in the file. */
export function bootstrapDemo(options: BootstrapOptions): Promise<BootstrapResult> {
  const { pool, clock, secretBox, path, addresses } = options;
  const transaction = createAdminTransaction(pool, clock);
  return transaction({ actor: 'bootstrap', requestId: 'bootstrap' }, async (change) => {
    await change.client.query('select pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK]);
    const { rowCount } = await change.client.query('select 1 from records.apps limit 1');
    const isEmpty = rowCount === 0;
    const earlier = await readBootstrapFile(path);
    if (!earlier && !isEmpty) return { content: undefined, created: false };

    const content: BootstrapContent = { ...(earlier ?? mintContent()), ...addresses };
    if (JSON.stringify(content) !== JSON.stringify(earlier)) await writeBootstrapFile(path, content);
    if (isEmpty) await insertDemo(change, content, secretBox);
    return { content, created: isEmpty };
  });
}

function mintContent(): Omit<BootstrapContent, keyof Addresses> {
  const keysOf = (environment: Environment) => ({
    publishable: mintToken('publishable', environment),
    secret: mintToken('secret', environment),
  });
  // The format of a messenger's bot token: a bot id, a colon, 35 characters.
  const botToken = `${randomInt(10 ** 9, 10 ** 10)}:${randomBytes(27).toString('base64url').slice(0, 35)}`;
  return {
    appId: newId('app'),
    keys: { test: keysOf('test'), live: keysOf('live') },
    messenger: { botToken },
  };
}

async function insertDemo(
  change: AdminChange,
  { appId, keys, messenger }: BootstrapContent,
  secretBox: SecretBox,
): Promise<void> {
  const app = { appId, name: 'Demo', scopeId: idFromParts('scp', appId), createdAt: change.at };
  await insertApp(change.client, app);
  await change.record('apps.create', appId, { name: app.name, scopeId: app.scopeId });

  for (const environment of ['test', 'live'] as const) {
    const place = { appId, environment };
    await insertKey(change, place, 'publishable', keys[environment].publishable);
    await insertKey(change, place, 'secret', keys[environment].secret);
  }

  await addCurrency(change, appId, {
    id: 1,
    code: 'SOL',
    decimals: 9,
    mint: { test: 'native', live: 'native' },
  });
  const chip = { id: 2, code: 'CHIP', decimals: 6, mint: { test: randomMint(), live: null } };
  await addCurrency(change, appId, chip);

  const values = {
    allowedAuthMethods: ['siws', 'messenger', 'email'],
    poolEscrowEnabled: true,
    botToken: messenger.botToken,
  };
  const changes = Object.entries(values).map(([name, value]) => parseSettingChange(name, value));
  await storeSettings(change, appId, changes, secretBox);
}

/** A public key whose secret key nobody has. */
function randomMint(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return encodeBase58(Buffer.from(x, 'base64url'));
}
