/**
 * A process dies at each of its statements and at each call to the event store, before and after it takes effect.
 * Whatever it leaves behind, the next one ends up with one key, one event and one answer.
 */

import type { Pool } from '@coffer/database';
import { DeadProcessError, type Death, doomedPool } from '@coffer/database/testing';
import { type CommandContext, createCommandHandler, type EventStore } from '@coffer/event-store';
import { createTestDatabase, eventually, patiently } from '@coffer/testing';
import { expect } from 'chai';
import { walletStreamName } from './domain/walletIds.ts';
import { createMasterKeys, newMasterKey } from './masterKeys.ts';
import { adoptMasterKeys } from './masterKeyVersions.ts';
import { startRewrapper } from './rewrap.ts';
import { createMasterKeyRotation } from './rotation.ts';
import { createSigner } from './signer.ts';
import { firstKeys, newOwner, startWalletWorld, type WalletWorld, walletTemplate } from './testing/index.ts';
import { createWallets } from './wallets.ts';

const DEATHS: readonly Death[] = ['before', 'after'];
const MORE_THAN_THERE_ARE = 100;
const clock = () => new Date();

describe('a process that dies with a wallet in its hands', () => {
  let world: WalletWorld;
  let pool: Pool;
  let store: EventStore;
  beforeEach(async () => {
    world = startWalletWorld(await createTestDatabase(walletTemplate));
    ({ pool, store } = world);
  });
  afterEach(() => world.stop());

  const context = (): CommandContext => ({
    metadata: { correlationId: 'req-1', actor: 'key:1', occurredAt: clock().toISOString() },
    deadlineMs: patiently(),
  });
  const opening = { actor: 'key:1', purpose: 'sign', requestId: 'req-1' };
  const keyRows = async (walletId: string) =>
    (await pool.query('select 1 from records.wallets_sealed_keys where wallet_id = $1', [walletId])).rows;

  /** True if it died, false if it finished. */
  const diesIn = (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => false,
      (error: unknown) => (error instanceof DeadProcessError ? true : Promise.reject(error)),
    );

  /** Calls `attempt` for each statement at which the process can die, and returns how many there were. */
  async function atEveryPlace(attempt: (death: Death, at: number) => Promise<boolean>): Promise<number> {
    let places = 0;
    for (const death of DEATHS) {
      for (let at = 1; await attempt(death, at); at++) {
        places += 1;
        expect(at, 'it must come to an end').to.be.lessThan(MORE_THAN_THERE_ARE);
      }
    }
    return places;
  }

  it('leaves a wallet that the next one finds or makes, with one key and one event', async () => {
    const masterKeys = createMasterKeys(firstKeys());
    await adoptMasterKeys(pool, masterKeys, { actor: 'operator', requestId: 'r', at: clock() });
    const alive = createWallets({ pool, handler: createCommandHandler({ store }), masterKeys, clock });
    const signer = createSigner({ pool, masterKeys });

    const places = await atEveryPlace(async (death, at) => {
      const owner = newOwner();
      const doomed = doomedPool(pool, death, at);
      const calls = { count: 0 };
      // Its statements come first, then its calls to the store, of which only the append changes anything.
      const handler = createCommandHandler({
        store: doomedStore(store, doomed, { death, at, calls }),
      });
      const dying = createWallets({ pool: doomed.pool, handler, masterKeys, clock });
      const died = await diesIn(dying.provision(owner, context()));

      const view = await alive.provision(owner, context());
      expect(await alive.provision(owner, context())).to.deep.equal(view);
      expect(await keyRows(view.id)).to.have.length(1);
      const place = { ownerId: owner.scopeId, ...owner, walletId: view.id };
      const events = (await Array.fromAsync(store.readStream(walletStreamName(place)))).flat();
      expect(events.map(({ type }) => type)).to.deep.equal(['WalletProvisioned']);
      expect(await signer.sign(place, Buffer.from('m'), opening)).to.have.length(64);
      return died;
    });
    // Three statements (look, current version, insert) and one append, each with two ways to die.
    expect(places).to.equal(8);
  });

  it('leaves no event without a key, and no key that cannot be opened', async () => {
    const masterKeys = createMasterKeys(firstKeys());
    await adoptMasterKeys(pool, masterKeys, { actor: 'operator', requestId: 'r', at: clock() });
    let appendsWithoutKey = 0;
    const watching: EventStore = {
      ...store,
      append: async (request) => {
        const [walletId = ''] = /wlt_\w+$/.exec(request.stream) ?? [];
        if ((await keyRows(walletId)).length === 0) appendsWithoutKey += 1;
        return store.append(request);
      },
    };
    const wallets = createWallets({
      pool,
      handler: createCommandHandler({ store: watching }),
      masterKeys,
      clock,
    });
    await Promise.all(Array.from({ length: 20 }, () => wallets.provision(newOwner(), context())));
    expect(appendsWithoutKey).to.equal(0);
  });

  it('leaves a rotation that the next one finishes, with every wallet able to sign', async () => {
    let keys = firstKeys();
    const first = createMasterKeys(keys);
    await adoptMasterKeys(pool, first, { actor: 'operator', requestId: 'r', at: clock() });
    const wallets = createWallets({
      pool,
      handler: createCommandHandler({ store }),
      masterKeys: first,
      clock,
    });
    const places = await Promise.all(
      [1, 2, 3].map(async () => {
        const owner = newOwner();
        return { ownerId: owner.scopeId, ...owner, walletId: (await wallets.provision(owner, context())).id };
      }),
    );

    const died = await atEveryPlace(async (death, at) => {
      const version = Math.max(...keys.map((key) => key.version)) + 1;
      keys = [...keys, newMasterKey('test', version)];
      const masterKeys = createMasterKeys(keys);
      const doomed = doomedPool(pool, death, at);
      await rotateAndRewrap(doomed.pool, masterKeys, doomed.isDead);
      const signed = async () => {
        const signer = createSigner({ pool, masterKeys });
        for (const place of places) {
          expect(await signer.sign(place, Buffer.from('m'), opening)).to.have.length(64);
        }
      };
      await signed();

      await rotateAndRewrap(pool, masterKeys, () => false);
      const { rows } = await pool.query(
        `select master_key_version, count(*)::integer as count from records.wallets_sealed_keys group by 1`,
      );
      expect(rows).to.deep.equal([{ master_key_version: version, count: 3 }]);
      await signed();
      return doomed.isDead();
    });
    expect(died).to.be.greaterThan(20);
  });

  /** Until every key is under the newest version, or the process is dead. */
  async function rotateAndRewrap(
    onPool: Pool,
    masterKeys: ReturnType<typeof createMasterKeys>,
    isDead: () => boolean,
  ): Promise<void> {
    const rewrapper = startRewrapper({
      pool: onPool,
      masterKeys,
      batchSize: 2,
      retryDelayMs: 1,
      onDone() {},
      onTrouble: (error) => {
        if (!isDead()) throw error;
      },
    });
    const rotation = createMasterKeyRotation({
      pool: onPool,
      masterKeys,
      clock,
      makeNext: undefined,
      onRotated() {},
    });
    try {
      await rotation
        .rotate({ environment: 'test', actor: 'operator', requestId: 'r' })
        .catch((error: { code?: unknown }) => {
          // The process that died had put it to use.
          if (!isDead() && error.code !== 'wallets/no_newer_master_key') throw error;
        });
      rewrapper.wake();
      await eventually('every key is under the newest version, or the process dead', async () => {
        if (isDead()) return true;
        const { rows } = await pool.query(
          `select 1 from records.wallets_sealed_keys
            where master_key_version < (select version from records.wallets_current_master_key where environment = 'test')`,
        );
        return rows.length === 0 || undefined;
      });
    } finally {
      await rewrapper.stop();
    }
  }
});

/** The store of a process that dies at that statement or append, counting both together. */
function doomedStore(
  real: EventStore,
  doomed: ReturnType<typeof doomedPool>,
  { death, at, calls }: { readonly death: Death; readonly at: number; readonly calls: { count: number } },
): EventStore {
  return {
    ...real,
    append: async (request) => {
      calls.count += 1;
      if (doomed.isDead()) throw new DeadProcessError('The process is dead.');
      if (doomed.statements.length + calls.count !== at) return real.append(request);
      if (death === 'after') await real.append(request);
      throw new DeadProcessError('The process has just died.');
    },
  };
}
