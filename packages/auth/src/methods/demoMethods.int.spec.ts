/** The app "Demo" on a trial installation, and what other installations do not offer. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContextWorld, requireStatus, verdict } from '@coffer/host/testing';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { type BootstrapContent, bootstrapDemo } from '@coffer/portal';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from '../testing/authContexts.ts';
import { launchDataOf, newWallet } from '../testing/signIns.ts';
import { fileTransport } from './email/transport.ts';

async function startDemo(given: (folder: string) => Partial<AuthGiven>) {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-demo-'));
  const world: ContextWorld<AuthGiven> = await startAuthWorld({ given: given(folder) });
  const { content } = await bootstrapDemo({
    pool: world.pool,
    secretBox: createSecretBox(world.secretsKey),
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
  return {
    url: world.url,
    demo,
    folder,
    post: (path: string, body: object) => world.client.post(path, body, { key: demo.keys.test.publishable }),
    async stop() {
      await world.stop();
      await rm(folder, { recursive: true });
    },
  };
}

const email = 'ada@player.example';
const { publicKey } = newWallet();

describe('the sign-in methods of the app "Demo"', () => {
  let world: Awaited<ReturnType<typeof startDemo>>;
  before(async () => {
    world = await startDemo((folder) => ({
      acceptsLoopback: true,
      mail: fileTransport({ folder, from: 'no-reply@coffer.example' }),
    }));
  });
  after(() => world.stop());

  it('mail codes into files of a folder', async () => {
    requireStatus(await world.post('/auth/email/initiate', { email }), 200);
    const name = await eventually('a mail in the folder', async () =>
      (await readdir(world.folder)).find((one) => one.endsWith('.eml')),
    );
    const text = await readFile(join(world.folder, name), 'utf8');
    const code = /^ {4}(\d{6})\r?$/m.exec(text)?.[1];
    const { json } = requireStatus(await world.post('/auth/email/verify', { email, code }), 200);
    expect(json.user).to.have.nested.property('primaryIdentity.externalId', email);
  });

  it('take launch data made with the token of bootstrap.json', async () => {
    const initData = launchDataOf({ id: 42, username: 'ada' }, { botToken: world.demo.messenger.botToken });
    const { json } = requireStatus(await world.post('/auth/messenger/verify', { initData }), 200);
    expect(json.user).to.have.nested.property('primaryIdentity.type', 'messenger');
    expect(json.user).to.have.nested.property('primaryIdentity.externalId', '42');
  });

  it('issue challenges for the address of the service itself', async () => {
    const { json } = await world.post('/auth/siws/challenge', { publicKey });
    expect(json).to.include({ domain: new URL(world.url).host, uri: world.url });
  });
});

describe('the sign-in methods of an installation that is not for trying out', () => {
  it('send no mail without a server, and have no origin but those of the app', async () => {
    const world = await startDemo(() => ({ acceptsLoopback: false, mail: undefined }));
    for (const [path, request] of [
      ['/auth/email/initiate', { email }],
      ['/auth/siws/challenge', { publicKey }],
    ] as const) {
      expect(verdict(await world.post(path, request)), path).to.equal('403 auth/method_not_allowed');
    }
    await world.stop();
  });
});
