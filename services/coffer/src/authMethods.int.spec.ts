import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuthMethods, createAppMethods, type VerifiedIdentity } from '@coffer/auth';
import { createPool, type Pool } from '@coffer/database';
import { createApp, createLogger, createMetricsRegistry, failOnUndeclared, startServer } from '@coffer/http';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { type BootstrapContent, bootstrapDemo, createAppDirectory, createKeyring } from '@coffer/portal';
import { createTestDatabase, eventually } from '@coffer/testing';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { CONTEXTS } from './contexts.ts';
import { mailTransport } from './installation.ts';
import { serviceTemplate } from './testing/world.ts';

/** The sign-in methods of the app "Demo", in an installation with this environment. */
async function startDemo(environment: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-auth-'));
  const database = await createTestDatabase(serviceTemplate);
  const pool: Pool = createPool({
    connectionString: database.connectionString,
    applicationName: 'auth methods spec',
    onIdleError: (error) => {
      throw error;
    },
  });
  const secretsKey = randomBytes(32);
  const secretBox = createSecretBox(secretsKey);
  const logger = createLogger({ level: 'silent' });
  const { content } = await bootstrapDemo({
    pool,
    secretBox,
    clock: systemClock,
    path: join(folder, 'bootstrap.json'),
    addresses: {
      baseUrl: '',
      portalUrl: '',
      portalToken: '',
      chainUrl: undefined,
      storeGatewayUrl: undefined,
    },
  });
  const demo = content as BootstrapContent; // The database was empty, so the app was made now.
  const signedIn: VerifiedIdentity[] = [];
  const config = configFrom({ COFFER_DATA_DIR: folder, ...environment });
  const needs = {
    mail: mailTransport(config),
    acceptsLoopback: config.databaseUrl === undefined,
    pool,
    clock: systemClock,
    secretsKey,
    secretBox,
    directory: createAppDirectory(pool, { secretBox }),
    logger,
    ownOrigin: () => 'http://127.0.0.1:8080',
  };
  const methods: AuthMethods = createAppMethods(needs, {
    signIn: async ({ appId }, identity) => {
      signedIn.push(identity);
      const at = '2026-03-01T12:00:00.000Z';
      const shown = { id: 'idn_1', ...identity };
      const user = {
        id: 'usr_1',
        appId,
        primaryIdentity: shown,
        identities: [shown],
        wallets: [],
        createdAt: at,
      };
      return { accessToken: 'access', refreshToken: 'refresh', expiresAt: at, user };
    },
    signInErrors: [],
  });
  const keyring = createKeyring(pool, { clock: systemClock, onWriteFailure: () => undefined });
  const app = createApp({
    endpoints: methods.endpoints,
    catalog: CONTEXTS.facts.catalog,
    resolveKey: keyring.resolveKey,
    resolveSession: () => undefined,
    allowedOrigins: { ofApp: () => false, ofAnyApp: () => false },
    isOperatorToken: () => false,
    errorOf: () => undefined,
    logger,
    metrics: createMetricsRegistry(),
    readiness: async () => ({ ready: true, reasons: [] }),
    version: '0.0.0',
    onUndeclared: failOnUndeclared,
  });
  const server = await startServer(app, { host: '127.0.0.1', port: 0 });
  return {
    demo,
    folder,
    signedIn,
    post: async (path: string, body: unknown) => {
      const response = await fetch(`${server.url}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${demo.keys.test.publishable}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
      const answer: Record<string, unknown> = JSON.parse(await response.text());
      return { status: response.status, body: answer };
    },
    stop: async () => {
      await server.stop(0);
      await methods.stop();
      await keyring.close();
      await pool.end();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}

describe('the sign-in methods of the app "Demo"', () => {
  let world: Awaited<ReturnType<typeof startDemo>>;
  before(async () => {
    world = await startDemo({});
  });
  after(() => world.stop());

  it('mail codes into files of the data folder', async () => {
    const email = 'ada@player.example';
    const initiated = await world.post('/auth/email/initiate', { email });
    expect(initiated.status).to.equal(200);
    const folder = join(world.folder, 'mail');
    const name = await eventually('a mail in the folder', async () => {
      const names = await readdir(folder).catch(() => []);
      return names.find((one) => one.endsWith('.eml'));
    });
    const text = await readFile(join(folder, name), 'utf8');
    const code = /^ {4}(\d{6})\r?$/m.exec(text)?.[1];
    const verified = await world.post('/auth/email/verify', { email, code });
    expect(verified.status).to.equal(200);
    expect(world.signedIn.at(-1)?.externalId).to.equal(email);
  });

  it('take launch data made with the token of bootstrap.json', async () => {
    const fields: Record<string, string> = {
      auth_date: String(Math.floor(Date.now() / 1000)),
      user: '{"id":42}',
    };
    const secret = createHmac('sha256', 'WebAppData').update(world.demo.messenger.botToken).digest();
    const lines = Object.entries(fields).map(([key, value]) => `${key}=${value}`);
    const hash = createHmac('sha256', secret).update(lines.join('\n')).digest('hex');
    const initData = new URLSearchParams({ ...fields, hash }).toString();
    expect((await world.post('/auth/messenger/verify', { initData })).status).to.equal(200);
    expect(world.signedIn.at(-1)).to.deep.include({ type: 'messenger', externalId: '42' });
  });

  it('issue challenges for the address of the service itself', async () => {
    const { body } = await world.post('/auth/siws/challenge', {
      publicKey: '2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8',
    });
    expect(body).to.include({ domain: '127.0.0.1:8080', uri: 'http://127.0.0.1:8080' });
  });
});

describe('the sign-in methods of an installation on a database of its own', () => {
  it('send no mail without a server, and have no origin but those of the app', async () => {
    const world = await startDemo({ DATABASE_URL: 'postgres://db.example/coffer' });
    const publicKey = '2EZEiBdw47VHT6SpZSW9VnuSvBe7DxuYHBTxj19gxvv8';
    const email = 'ada@player.example';
    for (const [path, request] of [
      ['/auth/email/initiate', { email }],
      ['/auth/siws/challenge', { publicKey }],
    ] as const) {
      const { status, body } = await world.post(path, request);
      expect([status, body.code]).to.deep.equal([403, 'auth/method_not_allowed']);
    }
    await world.stop();
  });
});
