import { encodeBase58, newId } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import {
  contextOf,
  firstKeys,
  isSignedBy,
  NOW,
  openingFor,
  startWalletWorld,
  type WalletWorld,
  walletTemplate,
} from '../testing/index.ts';
import {
  type OperatorWalletOwner,
  operatorWalletIdOf,
  operatorWalletStreamName,
} from './domain/operatorWallet.ts';
import { createOperatorWallets } from './operatorWallets.ts';

describe('operator wallets', () => {
  let world: WalletWorld;
  const keys = firstKeys();
  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  after(() => world.stop());

  const newOwner = (given: Partial<OperatorWalletOwner> = {}): OperatorWalletOwner => ({
    environment: 'test',
    appId: newId('app'),
    role: 'treasury',
    ...given,
  });
  const eventsOf = async (owner: OperatorWalletOwner) =>
    (await Array.fromAsync(world.store.readStream(operatorWalletStreamName(owner)))).flat();
  const rowsOf = async (owner: OperatorWalletOwner) => {
    const { rows } = await world.pool.query<{ public_key: Buffer; owner_id: string; environment: string }>(
      'select * from records.wallets_sealed_keys where wallet_id = $1',
      [operatorWalletIdOf(owner)],
    );
    return rows;
  };

  it('are provisioned with a sealed key and one event, and the app signs with them', async () => {
    const { operatorWallets, signer } = await world.start(keys);
    const owner = newOwner();
    const wallet = await operatorWallets.provision(owner, contextOf('req-7'));
    const [row, ...rows] = await rowsOf(owner);
    expect(rows).to.deep.equal([]);
    expect(row).to.include({ owner_id: owner.appId, environment: 'test' });
    expect(wallet).to.deep.equal({
      walletId: operatorWalletIdOf(owner),
      ownerId: owner.appId,
      address: encodeBase58(row?.public_key ?? Buffer.alloc(0)),
    });

    const events = await eventsOf(owner);
    expect(events.map(({ type, data }) => ({ type, data: JSON.parse(data) }))).to.deep.equal([
      {
        type: 'OperatorWalletProvisioned',
        data: {
          walletId: wallet.walletId,
          appId: owner.appId,
          role: 'treasury',
          address: wallet.address,
          provisionedAt: NOW.toISOString(),
        },
      },
    ]);
    expect(await operatorWallets.provision(owner, contextOf('req-8'))).to.deep.equal(wallet);
    expect(await eventsOf(owner)).to.deep.equal(events);

    const message = Buffer.from('message');
    const signature = await signer.sign({ ...wallet, environment: 'test' }, message, openingFor('move'));
    expect(await isSignedBy(world.pool, wallet.walletId, message, signature)).to.equal(true);
  });

  it('are made once by fifty requests in parallel in two processes', async () => {
    const [one, two] = [await world.start(keys), await world.start(keys)];
    const owner = newOwner();
    const wallets = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 ? one : two).operatorWallets.provision(owner, contextOf(`req-${index}`)),
      ),
    );
    for (const wallet of wallets) expect(wallet).to.deep.equal(wallets[0]);
    expect(await rowsOf(owner)).to.have.length(1);
    expect(await eventsOf(owner)).to.have.length(1);
  });

  it('are completed after a crash between the key and the event, with that key', async () => {
    const owner = newOwner();
    const process = await world.start(keys);
    // The request died after the first step: its log was unreachable, and its process is gone.
    const dying = createOperatorWallets({
      pool: world.pool,
      masterKeys: process.masterKeys,
      clock: () => NOW,
      handler: {
        load: async () => undefined as never,
        execute: () => Promise.reject(new Error('killed')),
      },
    });
    const failure = await dying.provision(owner, contextOf()).catch(({ message }: Error) => message);
    expect(failure).to.equal('killed');
    const [row] = await rowsOf(owner);
    expect(await eventsOf(owner)).to.deep.equal([]);

    const wallet = await process.operatorWallets.provision(owner, contextOf());
    expect(wallet.address).to.equal(encodeBase58(row?.public_key ?? Buffer.alloc(0)));
    expect(await eventsOf(owner)).to.have.length(1);
  });

  it('are different for each role, app and environment', async () => {
    const { operatorWallets } = await world.start(keys);
    const owner = newOwner();
    const owners = [
      owner,
      newOwner({ ...owner, role: 'feePayer' }),
      newOwner({ ...owner, environment: 'live' }),
      newOwner(),
    ];
    const wallets = await Promise.all(owners.map((one) => operatorWallets.provision(one, contextOf())));
    expect(new Set(wallets.map(({ walletId }) => walletId)).size).to.equal(4);
    expect(new Set(wallets.map(({ address }) => address)).size).to.equal(4);
  });

  it('are looked up once and then remembered by the process: an address never changes', async () => {
    const { operatorWallets } = await world.start(keys);
    const owner = newOwner();
    const wallet = await operatorWallets.provision(owner, contextOf());
    let asked = 0;
    const counting = createOperatorWallets({
      pool: world.pool,
      masterKeys: { find: () => undefined },
      clock: () => NOW,
      handler: {
        async load() {
          asked += 1;
          return { address: wallet.address } as never;
        },
        execute: () => Promise.reject(new Error('there is nothing to be written')),
      },
    });
    expect(await counting.provision(owner, contextOf())).to.deep.equal(wallet);
    expect(await counting.provision(owner, contextOf())).to.deep.equal(wallet);
    expect(asked).to.equal(1);
  });
});
