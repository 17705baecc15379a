import { encodeBase58 } from '@coffer/kernel';
import { codeOf, createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { walletIdOf, walletStreamName } from './domain/walletIds.ts';
import { newMasterKey } from './masterKeys.ts';
import {
  contextOf,
  firstKeys,
  isSignedBy,
  NOW,
  newOwner,
  openingFor,
  startWalletWorld,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';
import { walletSummary } from './wallets.ts';

describe('wallets', () => {
  let world: WalletWorld;
  const keys = firstKeys();
  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  after(() => world.stop());

  const eventsOf = async (stream: string) => {
    const pages = await Array.fromAsync(world.store.readStream(stream));
    return pages.flat().map(({ type, data, metadata }) => ({ type, data: JSON.parse(data), metadata }));
  };
  const rowOf = async (walletId: string) => {
    const { rows } = await world.pool.query<{ public_key: Buffer; owner_id: string; environment: string }>(
      'select * from records.wallets_sealed_keys where wallet_id = $1',
      [walletId],
    );
    expect(rows).to.have.length(1);
    return rows[0];
  };

  it('are provisioned with a sealed key and one event, and answered the same for ever', async () => {
    const { wallets, signer } = await world.start(keys);
    const owner = newOwner();
    expect(await wallets.walletsOf(owner, contextOf())).to.deep.equal([]);

    const view = await wallets.provision(owner, contextOf('req-7'));
    const row = await rowOf(view.id);
    expect(view).to.deep.equal({
      id: walletIdOf(owner, 1),
      userId: owner.userId,
      address: encodeBase58(row?.public_key ?? Buffer.alloc(0)),
      environment: 'test',
      custody: 'operator',
      status: 'active',
      createdAt: NOW.toISOString(),
    });
    expect(row).to.include({ owner_id: owner.scopeId, environment: 'test' });

    const place = { ownerId: owner.scopeId, ...owner, walletId: view.id };
    const events = await eventsOf(walletStreamName(place));
    expect(events.map(({ type, data }) => ({ type, data }))).to.deep.equal([
      {
        type: 'WalletProvisioned',
        data: {
          walletId: view.id,
          userId: owner.userId,
          address: view.address,
          generation: 1,
          provisionedAt: view.createdAt,
        },
      },
    ]);
    expect(JSON.parse(events[0]?.metadata ?? '')).to.include({ correlationId: 'req-7', actor: 'key:1' });

    expect(await wallets.provision(owner, contextOf('req-8'))).to.deep.equal(view);
    expect(await wallets.walletsOf(owner, contextOf())).to.deep.equal([view]);
    expect(await eventsOf(walletStreamName(place))).to.deep.equal(events);
    const message = Buffer.from('message');
    const signature = await signer.sign(place, message, openingFor('sign'));
    expect(await isSignedBy(world.pool, view.id, message, signature)).to.equal(true);
  });

  it('are made once by fifty requests in parallel in two processes', async () => {
    const [one, two] = [await world.start(keys), await world.start(keys)];
    const owner = newOwner();
    const views = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? one : two).wallets.provision(owner, contextOf(`req-${index}`)),
      ),
    );
    const [first] = views;
    for (const view of views) expect(view).to.deep.equal(first);
    await rowOf(first?.id ?? '');
    const place = { ownerId: owner.scopeId, ...owner, walletId: first?.id ?? '' };
    expect(await eventsOf(walletStreamName(place))).to.have.length(1);
    expect(await one.signer.sign(place, Buffer.from('m'), openingFor('sign'))).to.have.length(64);
    expect(await one.wallets.walletsOf(owner, contextOf())).to.have.length(1);
  });

  it('are different for each user, scope and environment', async () => {
    const { wallets } = await world.start(keys);
    const owner = newOwner();
    const owners = [
      owner,
      newOwner({ ...owner, environment: 'live' }),
      newOwner({ scopeId: owner.scopeId }),
      newOwner({ userId: owner.userId }),
    ];
    const views = await Promise.all(owners.map((one) => wallets.provision(one, contextOf())));
    expect(new Set(views.map(({ id }) => id)).size).to.equal(4);
    expect(new Set(views.map(({ address }) => address)).size).to.equal(4);
    expect(views[1]?.environment).to.equal('live');
  });

  it('have a summary without what is for their owner only', async () => {
    const { wallets } = await world.start(keys);
    const view = await wallets.provision(newOwner(), contextOf());
    expect(walletSummary(view)).to.have.all.keys('id', 'address', 'environment', 'custody', 'status');
  });

  it('are not provisioned in an environment whose master key is not held, and leave no trace', async () => {
    const { wallets } = await world.start(keys.filter(({ environment }) => environment === 'test'));
    const owner = newOwner({ environment: 'live' });
    expect(await codeOf(wallets.provision(owner, contextOf()))).to.equal('wallets/keys_unavailable');
    expect(await wallets.walletsOf(owner, contextOf())).to.deep.equal([]);
    expect(await codeOf(wallets.provision(newOwner(), contextOf()))).to.equal('done');
  });

  it('that exist are shown even by a process without master keys', async () => {
    const { wallets } = await world.start(keys);
    const owner = newOwner();
    const view = await wallets.provision(owner, contextOf());
    const keyless = await world.start([]);
    expect(await keyless.wallets.walletsOf(owner, contextOf())).to.deep.equal([view]);
    expect(await keyless.wallets.provision(owner, contextOf())).to.deep.equal(view);
  });

  it('keep their key: the database refuses to change or remove one, or its records', async () => {
    const { wallets, signer } = await world.start(keys);
    const owner = newOwner();
    const { id } = await wallets.provision(owner, contextOf());
    await signer.sign(
      { ownerId: owner.scopeId, ...owner, walletId: id },
      Buffer.from('m'),
      openingFor('sign'),
    );
    const refused = [
      'delete from records.wallets_sealed_keys',
      'truncate records.wallets_sealed_keys cascade',
      `update records.wallets_sealed_keys set sealed_seed = wrapped_data_key where wallet_id = '${id}'`,
      `update records.wallets_sealed_keys set owner_id = 'scp_other' where wallet_id = '${id}'`,
      'delete from records.wallets_key_openings',
      'truncate records.wallets_key_openings',
      "update records.wallets_key_openings set purpose = 'nothing'",
    ];
    for (const sql of refused) {
      const failure = await world.pool.query(sql).then(
        () => 'it was done',
        ({ message }: Error) => message,
      );
      expect(failure, sql).to.match(/never changed or removed|only added to/);
    }
  });

  it('are sealed under the key of this very database, or not at all', async () => {
    const process = await world.start(keys);
    // Another process was given another key of the same version, and has put it to use.
    process.masterKeys.add(newMasterKey('test', 1));
    const failure = await process.wallets.provision(newOwner(), contextOf()).then(
      () => 'it was done',
      ({ message }: Error) => message,
    );
    expect(failure).to.match(/The master key test 1 is not the one/);
  });
});
