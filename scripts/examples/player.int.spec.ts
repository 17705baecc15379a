/** The keypair of docs/examples/player, with the service. The README's spec shows what the program prints. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowSignIn } from '@coffer/auth/testing';
import { encodeBase58 } from '@coffer/kernel';
import { createPlayerClient } from '@coffer/sdk';
import { expect } from 'chai';
import { openKeypair } from '../../docs/examples/player/signIn.ts';
import { useLedger } from '../../services/coffer/src/testing/ledger.ts';

describe('the example of a player', () => {
  const ledger = useLedger();
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-player-'));
    await allowSignIn(ledger.client, ledger.app.appId);
  });
  after(() => rm(folder, { recursive: true }));

  const signIn = async (path: string) => {
    const page = createPlayerClient({
      baseUrl: ledger.client.baseUrl,
      publishableKey: ledger.test.publishableKey,
    });
    return page.signInWithWallet(await openKeypair(path));
  };

  it('is the same player with the same file, which only its owner may read', async () => {
    const path = join(folder, 'player.json');
    const first = await signIn(path);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect((await signIn(path)).user.id).to.equal(first.user.id);
    expect((await signIn(join(folder, 'other.json'))).user.id).not.to.equal(first.user.id);
    const publicKey = Uint8Array.from(JSON.parse(await readFile(path, 'utf8'))).subarray(32);
    expect(first.user.primaryIdentity.externalId).to.equal(encodeBase58(publicKey));
  });

  it('leaves a file that it cannot read alone', async () => {
    const path = join(folder, 'notes.json');
    await writeFile(path, 'not a keypair');
    const failure = await openKeypair(path).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(SyntaxError);
    expect(await readFile(path, 'utf8')).to.equal('not a keypair');
  });
});
