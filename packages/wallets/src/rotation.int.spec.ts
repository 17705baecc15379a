import { once } from 'node:events';
import { codeOf, createTestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { SealedKeyError } from './envelope.ts';
import { createMasterKeys, type MasterKey, newMasterKey } from './masterKeys.ts';
import { adoptMasterKeys, listMasterKeyUse, MasterKeysMismatchError } from './masterKeyVersions.ts';
import { type RewrapReport, startRewrapper } from './rewrap.ts';
import { createMasterKeyRotation, type RotationOptions } from './rotation.ts';
import {
  activation,
  contextOf,
  firstKeys,
  isSignedBy,
  NOW,
  newOwner,
  openingFor,
  startWalletWorld,
  type WalletProcess,
  type WalletWorld,
  walletTemplate,
} from './testing/index.ts';

const MESSAGE = Buffer.from('what is signed');
const by = { actor: 'operator', requestId: 'req-rotate' };

describe('rotation of master keys', () => {
  let world: WalletWorld;
  beforeEach(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
  });
  afterEach(() => world.stop());

  const rotationOf = (process: WalletProcess, makeNext?: RotationOptions['makeNext']) =>
    createMasterKeyRotation({
      pool: world.pool,
      masterKeys: process.masterKeys,
      clock: () => NOW,
      makeNext,
      onRotated() {},
    });
  const rotate = (
    process: WalletProcess,
    environment?: 'test' | 'live',
    makeNext?: RotationOptions['makeNext'],
  ) => rotationOf(process, makeNext).rotate({ environment, ...by });
  const provisionMany = (process: WalletProcess, count: number, environment: 'test' | 'live' = 'test') =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { userId, ...place } = newOwner({ environment });
        const { id, address } = await process.wallets.provision({ ...place, userId }, contextOf());
        return { ownerId: place.scopeId, ...place, userId, walletId: id, address };
      }),
    );
  /** `test 1: 3` for each version, the current one with a star. */
  const use = async () =>
    (await listMasterKeyUse(world.pool)).map(
      (one) => `${one.environment} ${one.version}${one.isCurrent ? '*' : ''}: ${one.walletKeys}`,
    );

  /** Runs a rewrapper until nothing is left to do. */
  async function rewrap(process: WalletProcess, batchSize?: number) {
    const reports: RewrapReport[] = [];
    const troubles: unknown[] = [];
    const done = new EventTarget();
    const rewrapper = startRewrapper({
      pool: world.pool,
      masterKeys: process.masterKeys,
      onDone: (report) => {
        reports.push(report);
        done.dispatchEvent(new Event('done'));
      },
      onTrouble: (error) => troubles.push(error),
      ...(batchSize !== undefined && { batchSize }),
    });
    const ended = once(done, 'done');
    rewrapper.wake();
    await ended;
    await rewrapper.stop();
    return { reports, troubles };
  }

  it('brings every key under the next version, a batch at a time, and wallets sign as before', async () => {
    const keys = firstKeys();
    const before = await world.start(keys);
    const wallets = await provisionMany(before, 7);
    const [live] = await provisionMany(before, 1, 'live');
    expect(await use()).to.deep.equal(['test 1*: 7', 'live 1*: 1']);

    const next = newMasterKey('test', 2);
    const process = await world.start([...keys, next]);
    await rotate(process, 'test');
    expect(await use(), 'put to use, before any key is rewrapped').to.deep.equal([
      'test 1: 7',
      'test 2*: 0',
      'live 1*: 1',
    ]);
    expect(await rewrap(process, 3)).to.deep.equal({
      reports: [{ environment: 'test', version: 2, rewrapped: 7 }],
      troubles: [],
    });
    expect(await use()).to.deep.equal(['test 1: 0', 'test 2*: 7', 'live 1*: 1']);

    // The old version is no longer in use: a process without it opens every key.
    const after = await world.start([next, ...keys.filter(({ environment }) => environment === 'live')]);
    for (const place of [...wallets, ...(live ? [live] : [])]) {
      const signature = await after.signer.sign(place, MESSAGE, openingFor('sign'));
      expect(await isSignedBy(world.pool, place.walletId, MESSAGE, signature)).to.equal(true);
      expect((await after.wallets.provision(place, contextOf())).address).to.equal(place.address);
    }
    const { rows } = await world.pool.query(
      "select wallet_id from records.wallets_key_openings where actor = 'service' and purpose = 'rewrap from master key 1 to 2' order by 1",
    );
    expect(rows.map(({ wallet_id }) => wallet_id)).to.deep.equal(
      wallets.map(({ walletId }) => walletId).sort(),
    );
  });

  it('lets wallets be provisioned and sign in the meantime', async () => {
    const keys = [...firstKeys(), newMasterKey('test', 2)];
    const old = await world.start(keys.slice(0, 2));
    const wallets = await provisionMany(old, 40);
    const process = await world.start(keys);

    let isOver = false;
    const signing = Array.from({ length: 4 }, async (_, worker) => {
      let signed = 0;
      do {
        const place = wallets[(worker + signed * 4) % wallets.length];
        if (!place) return expect.fail('There is a wallet.');
        const signature = await process.signer.sign(place, MESSAGE, openingFor('sign'));
        expect(await isSignedBy(world.pool, place.walletId, MESSAGE, signature)).to.equal(true);
        signed += 1;
      } while (!isOver);
      return signed;
    });
    const provisioning = (async () => {
      const made = [];
      do made.push(...(await provisionMany(process, 2)));
      while (!isOver);
      return made;
    })();
    await rotate(process, 'test');
    await rewrap(process, 2);
    isOver = true;

    for (const signed of await Promise.all(signing)) expect(signed).to.be.greaterThan(0);
    const made = await provisioning;
    // One rewrap is enough: whatever was sealed under the old version was committed before the rotation.
    expect(await use()).to.deep.equal(['test 1: 0', `test 2*: ${40 + made.length}`, 'live 1*: 0']);
    const without = await world.start(keys.slice(1));
    for (const place of [...wallets, ...made]) await without.signer.sign(place, MESSAGE, openingFor('sign'));
  });

  it('seals nothing under the previous version once it has committed, whoever began earlier', async () => {
    const process = await world.start([newMasterKey('test', 1), newMasterKey('test', 2)]);
    expect(await use()).to.deep.equal(['test 2*: 0']);
    process.masterKeys.add(newMasterKey('test', 3));
    // The rotation holds the row; provisioning, which has sealed under version 2 already, must wait for it and seal
    // again.
    const holder = await world.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from records.wallets_current_master_key for update');
      const made = provisionMany(process, 3);
      await waitersFor(world, 3);
      await holder.query(
        `insert into records.wallets_master_keys select environment, 4, check_value, activated_at, 'x', 'x'
           from records.wallets_master_keys`,
      );
      await holder.query('update records.wallets_current_master_key set version = 4');
      await holder.query('commit');
      expect(await codeOf(made)).to.equal('wallets/keys_unavailable');
    } finally {
      holder.release(true);
    }
    expect(await use()).to.deep.equal(['test 2: 0', 'test 4*: 0']);
  });

  it('goes to the newest version given, and is refused if there is none', async () => {
    const keys = firstKeys();
    expect(await codeOf(rotate(await world.start(keys)))).to.equal('wallets/no_newer_master_key');
    const process = await world.start([...keys, newMasterKey('test', 2), newMasterKey('test', 5)]);
    expect(await codeOf(rotate(process, 'live'))).to.equal('wallets/no_newer_master_key');
    expect(await codeOf(rotate(process))).to.equal('done');
    expect(await use()).to.deep.equal(['test 1: 0', 'test 5*: 0', 'live 1*: 0']);
    expect(await codeOf(rotate(process))).to.equal('wallets/no_newer_master_key');
    expect(await codeOf(rotate(await world.start([]), 'test'))).to.equal('wallets/keys_unavailable');
  });

  it('makes the next version itself if the installation keeps its own, and no second one after dying half-way', async () => {
    const process = await world.start(firstKeys());
    const made: MasterKey[] = [];
    const makeNext: RotationOptions['makeNext'] = async (environment) => {
      const key = newMasterKey(environment, (process.masterKeys.versionsOf(environment).at(-1) ?? 0) + 1);
      process.masterKeys.add(key);
      made.push(key);
      return key;
    };
    await rotate(process, undefined, makeNext);
    expect(await use()).to.deep.equal(['test 1: 0', 'test 2*: 0', 'live 1: 0', 'live 2*: 0']);
    await makeNext('test');
    await rotate(process, 'test', makeNext);
    expect(made).to.have.length(3);
    expect((await use())[2]).to.equal('test 3*: 0');
  });

  it('makes two versions for two rotations at once', async () => {
    const process = await world.start(firstKeys());
    const kept = new Map<number, MasterKey>();
    const { rotate: rotateInTurn } = rotationOf(process, async (environment) => {
      const version = (process.masterKeys.versionsOf(environment).at(-1) ?? 0) + 1;
      const key = newMasterKey(environment, version);
      // Keeping a key takes time, during which another could be made.
      for (let step = 0; step < 30; step++) await world.pool.query('select 1');
      kept.set(version, key);
      process.masterKeys.add(key);
      return key;
    });
    await Promise.all([1, 2].map(() => world.pool.query('select pg_sleep(0.01)')));
    await Promise.all([1, 2].map(() => rotateInTurn({ environment: 'test', ...by })));
    expect([...kept.keys()]).to.deep.equal([2, 3]);
    expect(await use()).to.include('test 3*: 0');
    const [wallet] = await provisionMany(process, 1);
    if (!wallet) return expect.fail('There is a wallet.');
    // Only what was kept is there after a restart.
    const restarted = await world.start([...firstOf(process), ...kept.values()]);
    await restarted.signer.sign(wallet, MESSAGE, openingFor('sign'));
  });

  it('leaves a key whose row was changed, reports it, and continues with the others', async () => {
    const process = await world.start([...firstKeys()]);
    const wallets = await provisionMany(process, 5);
    const victim = wallets.map(({ walletId }) => walletId).sort()[2] ?? '';
    await world.pool.query(
      'update records.wallets_sealed_keys set wrapped_data_key = set_byte(wrapped_data_key, 5, get_byte(wrapped_data_key, 5) # 1) where wallet_id = $1',
      [victim],
    );
    process.masterKeys.add(newMasterKey('test', 2));
    await rotate(process);
    const { reports, troubles } = await rewrap(process, 2);
    expect(reports).to.deep.equal([{ environment: 'test', version: 2, rewrapped: 4 }]);
    expect(troubles).to.have.length(1);
    expect(troubles[0]).to.be.instanceOf(SealedKeyError).and.have.property('walletId', victim);
    expect(await use()).to.include.members(['test 1: 1', 'test 2*: 4']);
  });

  it('is adopted by one of two first starts, and the other is told that its key differs', async () => {
    const starts = await Promise.allSettled(
      [firstKeys(), firstKeys()].map((keys) =>
        adoptMasterKeys(world.pool, createMasterKeys(keys), activation),
      ),
    );
    expect(starts.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    const reasons = starts.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(reasons[0]).to.be.instanceOf(MasterKeysMismatchError);
    expect(await use()).to.deep.equal(['test 1*: 0', 'live 1*: 0']);
  });

  it('needs every version in use at the start, and no others', async () => {
    const keys = firstKeys();
    const process = await world.start(keys);
    await provisionMany(process, 1);
    const next = newMasterKey('test', 2);
    const refusalOf = (given: readonly MasterKey[]) =>
      adoptMasterKeys(world.pool, createMasterKeys(given), activation).then(
        () => 'started',
        (error: unknown) =>
          error instanceof MasterKeysMismatchError ? error.message : Promise.reject(error),
      );
    expect(await refusalOf([next])).to.match(/test 1 is in use but was not given/);
    expect(await refusalOf([newMasterKey('test', 1)])).to.match(/test 1 is not the one/);
    expect(await refusalOf([])).to.equal('started');
    expect(await refusalOf([...keys, next])).to.equal('started');
    await rotate(await world.start([...keys, next]), 'test');
    expect(await refusalOf([next])).to.match(/test 1 is in use/);
    expect(await refusalOf(keys)).to.match(/test 2 is in use/);
    await rewrap(await world.start([...keys, next]));
    expect(await refusalOf([next])).to.equal('started');
  });
});

const firstOf = ({ masterKeys }: WalletProcess) => masterKeys.all().filter(({ version }) => version === 1);

/** Resolves once that many statements wait for a lock. */
async function waitersFor({ pool }: WalletWorld, count: number): Promise<void> {
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await pool.query(waiting)).rows.length >= count);
}
