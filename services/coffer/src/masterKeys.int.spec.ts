/** The rotation as an operator meets it: over HTTP, on a service that holds wallets. */

import { createPool, type Pool } from '@coffer/database';
import { createCommandHandler, type EventStore } from '@coffer/event-store';
import { newId } from '@coffer/kernel';
import { createTestDatabase, eventually, patiently, type TestDatabase } from '@coffer/testing';
import {
  createMasterKeyRotation,
  createMasterKeys,
  createSigner,
  createWallets,
  type MasterKey,
  masterKeysText,
  newMasterKey,
} from '@coffer/wallets';
import { expect } from 'chai';
import { openStoreOf, serviceTemplate, startNode, type World } from './testing/world.ts';

describe('master keys over HTTP', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  let nodes: Omit<World, 'databaseUrl'>[];
  beforeEach(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = createPool({
      connectionString: database.connectionString,
      applicationName: 'spec',
      onIdleError() {},
    });
    nodes = [];
  });
  afterEach(async () => {
    for (const node of nodes) await node.stop();
    await store.close();
    await pool.end();
    await database.drop();
  });

  const start = async (keys: readonly MasterKey[]) => {
    const environment = { COFFER_MASTER_KEYS: masterKeysText(keys) };
    const node = await startNode(database.connectionString, { environment, roles: ['api'] });
    nodes.push(node);
    return node;
  };
  const provision = async (keys: readonly MasterKey[], count: number) => {
    const masterKeys = createMasterKeys(keys);
    const handler = createCommandHandler({ store });
    const wallets = createWallets({ pool, handler, masterKeys, clock: () => new Date() });
    return Promise.all(
      Array.from({ length: count }, async () => {
        const owner = { scopeId: newId('scp'), environment: 'test', userId: newId('usr') } as const;
        const { id } = await wallets.provision(owner, {
          metadata: { correlationId: 'r', actor: 'key:1', occurredAt: new Date().toISOString() },
          deadlineMs: patiently(),
        });
        return { ownerId: owner.scopeId, ...owner, walletId: id };
      }),
    );
  };
  const listOf = async ({ client }: Pick<World, 'client'>) => {
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
    const keys = [newMasterKey('test', 1), newMasterKey('live', 1)];
    const before = await start(keys);
    store = await openStoreOf(database.connectionString);
    const places = await provision(keys, 5);
    expect(await listOf(before)).to.deep.equal(['test 1*: 5', 'live 1*: 0']);
    expect((await before.client.post('/portal/master-keys/rotate', {})).json).to.include({
      code: 'wallets/no_newer_master_key',
    });

    const all = [...keys, newMasterKey('test', 2)];
    const [one, two] = [await start(all), await start(all)];
    const rotated = await one.client.post('/portal/master-keys/rotate', { environment: 'test' });
    expect(rotated.status).to.equal(200);
    await eventually(
      'every key is rewrapped',
      async () => (await listOf(two)).includes('test 2*: 5') || undefined,
    );
    expect(await listOf(two)).to.deep.equal(['test 1: 0', 'test 2*: 5', 'live 1*: 0']);
    const signer = createSigner({ pool, masterKeys: createMasterKeys(all) });
    for (const place of places) {
      const opening = { actor: 'key:1', purpose: 'sign', requestId: 'r' };
      expect(await signer.sign(place, Buffer.from('m'), opening)).to.have.length(64);
    }

    const said = [rotated.text, ...nodes.flatMap(({ logLines }) => logLines)].join('\n');
    expect(said).to.include('keys of wallets are under the current master key');
    for (const { key } of all) {
      expect(said)
        .not.to.include(key.export().toString('base64'))
        .and.not.to.include(key.export().toString('hex'));
    }
  });

  it('goes on at the next start with a rewrap that was left', async () => {
    const keys = [newMasterKey('test', 1), newMasterKey('live', 1)];
    await start(keys);
    store = await openStoreOf(database.connectionString);
    await provision(keys, 3);
    const all = [...keys, newMasterKey('test', 2)];
    // As a process leaves it that died just after it had put the version to use.
    await createMasterKeyRotation({
      pool,
      masterKeys: createMasterKeys(all),
      clock: () => new Date(),
      makeNext: undefined,
      onRotated() {},
    }).rotate({ environment: 'test', actor: 'operator', requestId: 'r' });
    const next = await start(all);
    await eventually(
      'every key is rewrapped',
      async () => (await listOf(next)).includes('test 2*: 3') || undefined,
    );
  });

  it('is for the operator alone', async () => {
    const { client, url } = await start([newMasterKey('test', 1), newMasterKey('live', 1)]);
    store = await openStoreOf(database.connectionString);
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
