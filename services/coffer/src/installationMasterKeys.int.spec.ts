import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { adoptMasterKeys, masterKeysText, newMasterKey } from '@coffer/wallets';
import { expect } from 'chai';
import { ConfigurationError, configFrom } from './config.ts';
import { installationMasterKeys, masterKeysPath } from './installationMasterKeys.ts';
import { serviceTemplate } from './testing/world.ts';

const activation = { actor: 'service', requestId: 'start', at: new Date() };

describe('the master keys of an installation', () => {
  let database: TestDatabase;
  let pool: Pool;
  let folder: string;
  beforeEach(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    folder = await mkdtemp(join(tmpdir(), 'coffer-master-keys-'));
  });
  afterEach(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const open = (variables: Readonly<Record<string, string>> = {}) =>
    installationMasterKeys(configFrom({ COFFER_DATA_DIR: folder, ...variables }), pool);
  const textOf = async (opening: ReturnType<typeof open>) => masterKeysText((await opening).masterKeys.all());
  const refusalOf = (opening: Promise<unknown>) =>
    opening.then(
      () => 'started',
      (error: unknown) => (error instanceof ConfigurationError ? error.message : Promise.reject(error)),
    );

  it('are made at the first start on the embedded database, for the owner alone, and kept', async () => {
    const first = await textOf(open());
    expect(first).to.match(/^test:1:\S{44}\nlive:1:\S{44}\n$/);
    expect((await stat(masterKeysPath(folder))).mode & 0o777).to.equal(0o600);
    expect(await readFile(masterKeysPath(folder), 'utf8')).to.equal(first);
    expect(await textOf(open())).to.equal(first);
  });

  it('get a next version that is kept before it is used, the old ones with it', async () => {
    const { masterKeys, makeNextMasterKey } = await open();
    const before = masterKeysText(masterKeys.all());
    const next = await makeNextMasterKey?.('live');
    expect(next).to.include({ environment: 'live', version: 2 });
    expect(masterKeys.versionsOf('live')).to.deep.equal([1, 2]);
    expect(await textOf(open())).to.equal(`${before}${masterKeysText(next ? [next] : [])}`);
    expect((await stat(masterKeysPath(folder))).mode & 0o777).to.equal(0o600);
  });

  it('are never made anew where the database was used with others', async () => {
    const { masterKeys } = await open();
    await adoptMasterKeys(pool, masterKeys, activation);
    await rm(masterKeysPath(folder));
    expect(await refusalOf(open())).to.match(/is missing, and without its master keys/);
    expect(await stat(masterKeysPath(folder)).catch(({ code }) => code)).to.equal('ENOENT');
  });

  it('are refused in a file that is open to others, or cannot be read as keys, in words that hold none', async () => {
    const text = await textOf(open());
    await chmod(masterKeysPath(folder), 0o640);
    expect(await refusalOf(open())).to.match(/chmod 600/);
    await chmod(masterKeysPath(folder), 0o600);
    await rm(masterKeysPath(folder));
    const damaged = text.replace('test:1:', 'test:1:x');
    await writeFile(masterKeysPath(folder), damaged, { mode: 0o600 });
    const refusal = await refusalOf(open());
    expect(refusal).to.match(/cannot be read as master keys: entry 1/);
    expect(refusal).not.to.include(text.slice(10, 30));
  });

  it('are those that are given, and then no file is made', async () => {
    const given = masterKeysText([newMasterKey('test', 7)]);
    const { masterKeys, makeNextMasterKey } = await open({ COFFER_MASTER_KEYS: given });
    expect(masterKeysText(masterKeys.all())).to.equal(given);
    expect(makeNextMasterKey).to.equal(undefined);
    expect(await stat(masterKeysPath(folder)).catch(({ code }) => code)).to.equal('ENOENT');
  });

  it('are none on a database elsewhere unless they are given: none is ever made for it', async () => {
    const elsewhere = { DATABASE_URL: 'postgres://somewhere/else' };
    const { masterKeys, makeNextMasterKey } = await open(elsewhere);
    expect(masterKeys.all()).to.deep.equal([]);
    expect(makeNextMasterKey).to.equal(undefined);
    expect(await stat(masterKeysPath(folder)).catch(({ code }) => code)).to.equal('ENOENT');
  });

  it('are checked with the rest of the configuration, and never repeated', () => {
    const secret = Buffer.alloc(32, 7).toString('base64');
    const start = () =>
      configFrom({ COFFER_MASTER_KEYS: `test:1:${secret},live:1:${secret}`, PORT: 'eighty' });
    expect(start).to.throw(ConfigurationError, /COFFER_MASTER_KEYS: test 1 and live 1 are the same key/);
    expect(start).to.throw(/PORT/);
    expect(start).not.to.throw(new RegExp(secret.slice(0, 16)));
  });
});
