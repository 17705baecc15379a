/** The rotation as an operator meets it: over HTTP, on a service that has wallets. */

import { createCommandHandler } from '@coffer/event-store';
import { type ContextNode, type ContextWorld, startContexts } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { createMasterKeys, type MasterKey, newMasterKey } from './masterKeys.ts';
import { createMasterKeyRotation } from './rotation.ts';
import { createSigner } from './signer.ts';
import {
  contextOf,
  firstKeys,
  newOwner,
  WALLET_CONTEXTS,
  type WalletsGiven,
  walletsGiven,
} from './testing/index.ts';
import { createWallets } from './wallets.ts';

describe('master keys over HTTP', () => {
  let world: ContextWorld<WalletsGiven>;
  let keys: readonly MasterKey[];
  beforeEach(async () => {
    keys = firstKeys();
    world = await startContexts({ contexts: WALLET_CONTEXTS, given: given(keys), roles: ['api'] });
  });
  afterEach(() => world.stop());

  const given = (of: readonly MasterKey[]) => walletsGiven({ masterKeys: createMasterKeys(of) });
  const provision = async (count: number) => {
    const { pool, store } = world;
    const handler = createCommandHandler({ store });
    const masterKeys = createMasterKeys(keys);
    const wallets = createWallets({ pool, handler, masterKeys, clock: () => new Date() });
    return Promise.all(
      Array.from({ length: count }, async () => {
        const owner = newOwner();
        const { id } = await wallets.provision(owner, contextOf());
        return { ownerId: owner.scopeId, ...owner, walletId: id };
      }),
    );
  };
  const listOf = async ({ client }: Pick<ContextNode, 'client'>) => {
    const { status, json } = await client.get('/portal/master-keys');
    expect(status).to.equal(200);
    // The service has checked the reply against its schema.
    const items = json.items as {
      environment: string;
      version: number;
      isCurrent: boolean;
      walletKeys: number;
    }[];
    return items.map(
      (one) => `${one.environment} ${one.version}${one.isCurrent ? '*' : ''}: ${one.walletKeys}`,
    );
  };

  it('rotates while the service serves, in every process at once, and no key is answered or logged', async () => {
    const places = await provision(5);
    expect(await listOf(world)).to.deep.equal(['test 1*: 5', 'live 1*: 0']);
    expect((await world.client.post('/portal/master-keys/rotate', {})).json).to.include({
      code: 'wallets/no_newer_master_key',
    });

    const all = [...keys, newMasterKey('test', 2)];
    const [one, two] = [
      await world.startNode({ given: given(all) }),
      await world.startNode({ given: given(all) }),
    ];
    const rotated = await one.client.post('/portal/master-keys/rotate', { environment: 'test' });
    expect(rotated.status).to.equal(200);
    await eventually(
      'every key is rewrapped',
      async () => (await listOf(two)).includes('test 2*: 5') || undefined,
    );
    expect(await listOf(two)).to.deep.equal(['test 1: 0', 'test 2*: 5', 'live 1*: 0']);
    const signer = createSigner({ pool: world.pool, masterKeys: createMasterKeys(all) });
    for (const place of places) {
      const opening = { actor: 'key:1', purpose: 'sign', requestId: 'r' };
      expect(await signer.sign(place, Buffer.from('m'), opening)).to.have.length(64);
    }

    const said = [rotated.text, ...[world, one, two].flatMap(({ logLines }) => logLines)].join('\n');
    expect(said).to.include('keys of wallets are under the current master key');
    for (const { key } of all) {
      expect(said)
        .not.to.include(key.export().toString('base64'))
        .and.not.to.include(key.export().toString('hex'));
    }
  });

  it('continues an unfinished rewrap at the next start', async () => {
    await provision(3);
    const all = [...keys, newMasterKey('test', 2)];
    // What a process leaves behind if it dies just after putting the version to use.
    await createMasterKeyRotation({
      pool: world.pool,
      masterKeys: createMasterKeys(all),
      clock: () => new Date(),
      makeNext: undefined,
      onRotated() {},
    }).rotate({ environment: 'test', actor: 'operator', requestId: 'r' });
    const next = await world.startNode({ given: given(all) });
    await eventually(
      'every key is rewrapped',
      async () => (await listOf(next)).includes('test 2*: 3') || undefined,
    );
  });

  it('is for the operator alone', async () => {
    const { client, url } = world;
    for (const [method, path] of [
      ['GET', '/master-keys'],
      ['POST', '/master-keys/rotate'],
    ] as const) {
      const answer = await fetch(`${url}/v1/portal${path}`, { method });
      expect(answer.status).to.equal(401);
    }
    const refused = await client.post('/portal/master-keys/rotate', { environment: 'prod' });
    expect(refused.json).to.include({ code: 'request/invalid' });
  });
});
