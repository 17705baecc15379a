import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { installationSecrets } from './installationSecrets.ts';

describe('the secret of the snapshots', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-secrets-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is known to a node unless the database is elsewhere and the node alone has made the key', async () => {
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
