import { newId } from '@coffer/kernel';
import { codeOf, createTestDatabase, failureOf } from '@coffer/testing';
import { expect } from 'chai';
import type { WalletPlace } from './domain/walletIds.ts';
import { SealedKeyError } from './envelope.ts';
import {
  contextOf,
  firstKeys,
  isSignedBy,
  newOwner,
  openingFor,
  startWalletWorld,
  type WalletProcess,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';

const MESSAGE = Buffer.from('what is signed');

describe('the signer', () => {
  let world: WalletWorld;
  let process: WalletProcess;
  const keys = firstKeys();
  before(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
    process = await world.start(keys);
  });
  after(() => world.stop());

  const provision = async (): Promise<WalletPlace> => {
    const { scopeId, environment, userId } = newOwner();
    const { id } = await process.wallets.provision({ scopeId, environment, userId }, contextOf());
    return { ownerId: scopeId, environment, walletId: id };
  };
  const openingsOf = async (walletId: string) => {
    const { rows } = await world.pool.query(
      'select environment, actor, purpose, request_id from records.wallets_key_openings where wallet_id = $1 order by opening_id',
      [walletId],
    );
    return rows;
  };
  const sign = (place: WalletPlace, by = process) => by.signer.sign(place, MESSAGE, openingFor('sign'));
  /** As somebody with every right on the database, who removes the guard. */
  const tamper = async (sql: string, values: readonly unknown[]) => {
    await world.pool.query('alter table records.wallets_sealed_keys disable trigger user');
    try {
      expect((await world.pool.query(sql, [...values])).rowCount).to.be.greaterThan(0);
    } finally {
      await world.pool.query('alter table records.wallets_sealed_keys enable trigger user');
    }
  };

  it("signs with the wallet's key, and records each opening", async () => {
    const place = await provision();
    for (const purpose of ['sign intent 1', 'sign intent 2']) {
      const signature = await process.signer.sign(place, MESSAGE, openingFor(purpose));
      expect(signature).to.have.length(64);
      expect(await isSignedBy(world.pool, place.walletId, MESSAGE, signature)).to.equal(true);
    }
    expect(await openingsOf(place.walletId)).to.deep.equal(
      ['sign intent 1', 'sign intent 2'].map((purpose) => ({
        environment: 'test',
        actor: 'key:1',
        purpose,
        request_id: 'req-1',
      })),
    );
  });

  it('finds no wallet in another scope or environment, or under an id of another form', async () => {
    const place = await provision();
    for (const other of [
      { ...place, ownerId: newId('scp') },
      { ...place, environment: 'live' as const },
      { ...place, walletId: newId('wlt') },
      { ...place, walletId: place.walletId.toUpperCase() },
      { ...place, walletId: '' },
    ]) {
      expect(await codeOf(sign(other))).to.equal('wallets/not_found');
    }
    expect(await openingsOf(place.walletId)).to.deep.equal([]);
  });

  it('opens nothing that it could not record', async () => {
    const place = await provision();
    await world.pool.query('alter table records.wallets_key_openings rename to openings_elsewhere');
    try {
      expect(await failureOf(sign(place))).to.have.property('code', '42P01');
    } finally {
      await world.pool.query('alter table records.openings_elsewhere rename to wallets_key_openings');
    }
    expect(await openingsOf(place.walletId)).to.deep.equal([]);
  });

  it('records an opening even if the key then does not open', async () => {
    const place = await provision();
    await tamper(
      'update records.wallets_sealed_keys set sealed_seed = set_byte(sealed_seed, 30, get_byte(sealed_seed, 30) # 1) where wallet_id = $1',
      [place.walletId],
    );
    expect(await failureOf(sign(place))).to.be.instanceOf(SealedKeyError);
    expect(await openingsOf(place.walletId)).to.have.length(1);
  });

  it('refuses a row in the place of another, whole or in part', async () => {
    const [one, two] = [await provision(), await provision()];
    // The seed and data key of the second under the first one's name: with and without its public key.
    await tamper(
      `update records.wallets_sealed_keys as mine
          set sealed_seed = other.sealed_seed, wrapped_data_key = other.wrapped_data_key
         from records.wallets_sealed_keys as other where mine.wallet_id = $1 and other.wallet_id = $2`,
      [one.walletId, two.walletId],
    );
    expect(await failureOf(sign(one))).to.be.instanceOf(SealedKeyError);

    const third = await provision();
    await tamper('delete from records.wallets_sealed_keys where wallet_id = $1', [one.walletId]);
    await tamper('update records.wallets_sealed_keys set wallet_id = $1 where wallet_id = $2', [
      one.walletId,
      third.walletId,
    ]);
    const stolen = { ...third, walletId: one.walletId };
    expect(await failureOf(sign(stolen))).to.be.instanceOf(SealedKeyError);

    // A test key moved to live, where its value would be real.
    await tamper("update records.wallets_sealed_keys set environment = 'live' where wallet_id = $1", [
      two.walletId,
    ]);
    expect(await failureOf(sign({ ...two, environment: 'live' }))).to.be.instanceOf(SealedKeyError);
  });

  it('opens nothing without the master key of the environment', async () => {
    const place = await provision();
    const keyless = await world.start(keys.filter(({ environment }) => environment === 'live'));
    expect(await codeOf(sign(place, keyless))).to.equal('wallets/keys_unavailable');
  });
});
