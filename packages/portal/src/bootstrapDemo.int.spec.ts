import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretBox, isBase58Address, type SecretBox } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createAppDirectory } from './appDirectory.ts';
import { type BootstrapOptions, bootstrapDemo } from './bootstrapDemo.ts';
import { type BootstrapContent, bootstrapFilePath } from './bootstrapFile.ts';
import { createKeyring } from './keyring.ts';
import { NOW, type PortalWorld, portalTemplate, startPortalWorld } from './testing/index.ts';

const ADDRESSES = {
  baseUrl: 'http://127.0.0.1:8080/v1',
  portalUrl: 'http://127.0.0.1:8080/portal',
  portalToken: 'portal-token',
  chainUrl: 'http://127.0.0.1:8899',
  storeGatewayUrl: 'esdb://coffer:password@localhost:2113?tls=true',
};

describe('the start of an empty installation', () => {
  const secretBox = createSecretBox(randomBytes(32));
  let world: PortalWorld;
  let path: string;
  let folder: string;

  beforeEach(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
    folder = await mkdtemp(join(tmpdir(), 'coffer-bootstrap-'));
    path = bootstrapFilePath(folder);
  });
  afterEach(async () => {
    await world.close();
    await rm(folder, { recursive: true });
  });

  const start = (options: { addresses?: BootstrapOptions['addresses']; box?: SecretBox } = {}) =>
    bootstrapDemo({
      pool: world.pool,
      secretBox: options.box ?? secretBox,
      clock: () => NOW,
      path,
      addresses: options.addresses ?? ADDRESSES,
    });
  const file = async (): Promise<BootstrapContent> => JSON.parse(await readFile(path, 'utf8'));
  const appCount = async () => (await world.pool.query('select from records.apps')).rowCount;
  const expectToWork = async (content: BootstrapContent) => {
    const keyring = createKeyring(world.pool, {
      clock: () => NOW,
      onWriteFailure: (error) => {
        throw error;
      },
    });
    for (const environment of ['test', 'live'] as const) {
      for (const kind of ['secret', 'publishable'] as const) {
        const caller = await keyring.resolveKey(content.keys[environment][kind]);
        expect(caller).to.include({ appId: content.appId, environment, kind });
      }
    }
    await keyring.close();
  };

  it('makes the app Demo and a file with what a first user needs, for the owner alone', async () => {
    const { content, created } = await start();

    expect(created).to.equal(true);
    expect(await file()).to.deep.equal(content);
    expect(content).to.include(ADDRESSES);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    if (!content) throw new Error('no content');
    await expectToWork(content);

    const directory = createAppDirectory(world.pool, { secretBox });
    const { appId } = content;
    expect(await directory.app(appId)).to.include({ name: 'Demo' });
    const [sol, chip, ...others] = await directory.currencies(appId);
    expect(others).to.deep.equal([]);
    expect(sol).to.deep.equal({ id: 1, code: 'SOL', decimals: 9, mint: { test: 'native', live: 'native' } });
    expect(chip).to.deep.include({ id: 2, code: 'CHIP', decimals: 6 });
    expect(isBase58Address(chip?.mint.test ?? '')).to.equal(true);
    expect(await directory.setting(appId, 'test', 'poolEscrowEnabled')).to.equal(true);
    expect(await directory.setting(appId, 'live', 'allowedAuthMethods')).to.have.members([
      'siws',
      'messenger',
      'email',
    ]);
    expect(await directory.setting(appId, 'test', 'botToken')).to.equal(content.messenger.botToken);
  });

  it('makes nothing new the next time, and brings the addresses up to date', async () => {
    const first = await start();
    const addresses = { ...ADDRESSES, baseUrl: 'http://127.0.0.1:9090/v1', portalToken: 'another' };
    const second = await start({ addresses });

    expect(second).to.deep.equal({ content: { ...first.content, ...addresses }, created: false });
    expect(await file()).to.deep.equal(second.content);
    expect(await appCount()).to.equal(1);
  });

  it('no longer names a chain that is gone', async () => {
    await start();
    await start({ addresses: { ...ADDRESSES, chainUrl: undefined, storeGatewayUrl: undefined } });
    expect(await file()).not.to.have.any.keys('chainUrl', 'storeGatewayUrl');
  });

  it('ends with a file that works when it was killed between the file and the database', async () => {
    const crash = {
      ...secretBox,
      seal: () => {
        throw new Error('killed');
      },
    };
    const failure = await start({ box: crash }).catch((error: Error) => error.message);
    expect(failure).to.equal('killed');
    expect(await appCount()).to.equal(0);
    const left = await file();

    const { content, created } = await start();
    expect(created).to.equal(true);
    expect(content).to.deep.equal(left);
    await expectToWork(left);
  });

  it('makes one app when two services start at once', async () => {
    const results = await Promise.all([start(), start()]);
    expect(results.map(({ created }) => created)).to.have.members([true, false]);
    expect(await appCount()).to.equal(1);
    await expectToWork(await file());
  });

  it('leaves an installation alone that has apps and no file', async () => {
    await world.newApp('Mine');
    expect(await start()).to.deep.equal({ content: undefined, created: false });
    expect(await appCount()).to.equal(1);
  });
});
