import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { installationSecrets } from './installationSecrets.ts';
import { startFailure } from './startFailure.ts';

describe('the secrets of an installation', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-secrets-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('end the start in words, without a trace, if their file is damaged or may not be read', async () => {
    const start = () => failureOf(installationSecrets(configFrom({ COFFER_DATA_DIR: folder })));
    const path = join(folder, 'secrets.json');
    await writeFile(path, '{}');
    expect(startFailure(await start())?.message)
      .to.include(path)
      .and.match(/Restore it from a backup\.$/);
    const unreadable = Object.assign(new Error('permission denied'), { code: 'EACCES', path });
    expect(startFailure(unreadable)?.message).to.match(/Start it as the user whom it belongs to/);
    await rm(path);
    await mkdir(path);
    expect(await start()).to.include({ code: 'EISDIR' });
  });

  it('include one of the snapshots, which is known to a node unless the database is elsewhere and the node alone has made the key', async () => {
    const secretOf = async (variables: Readonly<Record<string, string>>) =>
      (await installationSecrets(configFrom({ COFFER_DATA_DIR: folder, ...variables }))).snapshotSecret;
    const elsewhere = { DATABASE_URL: 'postgres://127.0.0.1/coffer' };
    const given = randomBytes(32);
    expect(await secretOf(elsewhere)).to.equal(undefined);
    expect(await secretOf({ ...elsewhere, COFFER_SECRETS_KEY: given.toString('base64') })).to.deep.equal(
      given,
    );
    expect(await secretOf({})).to.have.length(32);
  });
});
