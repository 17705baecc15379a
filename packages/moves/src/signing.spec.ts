import type { StreamEvent } from '@coffer/event-store';
import type { Chain, ExecutedTransaction } from '@coffer/solana';
import { referenceOf } from '@coffer/solana';
import { expect } from 'chai';
import { treasuryMovePlace } from './domain/moveIds.ts';
import { carry, depositOf, type MoveWorld, moveWorld } from './testing/moveWorld.ts';

const WIDTH = 2;
const NAMES = 200;
const ANSWER_MS = 50;
const CROWD = ['named-1', 'named-2', 'named-3', 'named-4', 'named-5'];

describe('before a move is signed', () => {
  it('one whose reference strangers name again and again lets the others be signed first', async () => {
    const world = crowdedWorld();
    const crowd = await requestAll(world, CROWD);
    const driver = world.driver();
    const { signal } = driver.dying;
    const carried = crowd.map((one) => driver.drive(one, signal));
    await carry(world, driver, await world.request({ key: 'other' }));
    expect(world.told).to.deep.equal(['signed', 'confirmed']);
    await world.clock.runUntil(Promise.all(carried));
    for (const key of CROWD) expect(await world.find(key), key).to.include({ status: 'confirmed' });
  });

  it('those of one environment do not wait for those of the other, even if no node answers there', async () => {
    const world = crowdedWorld();
    const { chain } = world.simulated;
    const silent = { ...chain, transactionsOf: () => new Promise<never>(() => {}) };
    world.settings.chainOf = (environment) => (environment === 'test' ? silent : chain);
    const crowd = await requestAll(world, CROWD);
    const driver = world.driver();
    const { signal } = driver.dying;
    const carried = crowd.map((one) => driver.drive(one, signal).catch((error: unknown) => error));
    await carry(world, driver, await world.request({ key: 'other' }, 'live'));
    expect(await world.find('other', 'live')).to.include({ status: 'confirmed' });
    driver.dying.abort();
    await world.clock.runUntil(Promise.all(carried));
  });

  it('what names it since it was searched is searched as well', async () => {
    const world = moveWorld();
    const requested = await world.request();
    await carry(world, world.driver('move.sent'), requested);
    await world.clock.runUntil(new Promise<void>((resolve) => world.clock.after(10_000, resolve)));
    await world.restore(requested, 1);
    const { chain } = world.simulated;
    let asked = 0;
    const late: Chain = {
      ...chain,
      // In a block, but shown only when a stranger's has been searched.
      async transactionsOf(address, page) {
        asked += 1;
        const known = await chain.transactionsOf(address, page);
        return asked <= 2 ? [named('stranger')] : [...known, named('stranger')];
      },
      transaction: async (signature) =>
        signature === 'stranger' ? strangers(signature) : chain.transaction(signature),
    };
    world.settings.chainOf = () => late;
    await carry(world, world.driver(), requested);
    expect(asked).to.be.greaterThan(2);
    expect(await world.eventsOf(requested)).to.deep.equal(['MoveRequested', 'MoveConfirmed']);
    expect(await world.simulated.executed()).to.have.length(1);
  });
});

/** Two places of each kind, and a crowd of moves that strangers have named, each of which costs a slow call. */
function crowdedWorld() {
  const world = moveWorld({ parallelSearches: WIDTH, parallelPreparations: WIDTH });
  const { chain } = world.simulated;
  const isCrowd = new Set(
    CROWD.map((key) => referenceOf(treasuryMovePlace('test', depositOf().appId, key).moveId)),
  );
  const crowded: Chain = {
    ...chain,
    async transactionsOf(address, page) {
      if (!isCrowd.has(address)) return chain.transactionsOf(address, page);
      return Array.from({ length: Math.min(NAMES, page.limit) }, (_, n) => named(`${address} ${n}`));
    },
    async transaction(signature) {
      if (!signature.includes(' ')) return chain.transaction(signature);
      await new Promise<void>((resolve) => world.clock.after(ANSWER_MS, resolve));
      return strangers(signature);
    },
  };
  world.settings.chainOf = () => crowded;
  return world;
}

const requestAll = (world: MoveWorld, keys: readonly string[]): Promise<readonly StreamEvent[]> =>
  Promise.all(keys.map((key) => world.request({ key })));

const named = (signature: string) => ({ signature, slot: 1n, error: null, memo: null });

const strangers = (signature: string): ExecutedTransaction => ({
  signature,
  slot: 1n,
  error: null,
  signers: ['stranger'],
  feeLamports: 5_000n,
  lamports: [],
  tokens: [],
});
