import type { FailPointName } from '@coffer/kernel';
import { ChainUnreachableError } from '@coffer/solana';
import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { type carry, moveWorld, TREASURY, walletNamed } from './testing/moveWorld.ts';
import { gainOf, type SendFate } from './testing/simulatedChain.ts';

const FATES: readonly SendFate[] = ['drop', 'drop', 'landUnheard', 'late', 'refuse', 'unreachable', 'land'];
const DEATHS: readonly FailPointName[] = [
  'move.beforeSign',
  'move.signed',
  'move.sent',
  'move.submitted',
  'move.expired',
  'move.final',
  'move.confirmed',
];

/**
 * Everything fails at once: sends, answers, forks, lagging nodes, drivers that die, and two drivers per move. In the end
 * the chain has moved exactly what the log says.
 */
describe('moves with random faults', () => {
  it('are on the chain once if confirmed, and not at all if failed', () =>
    fc.assert(fc.asyncProperty(fc.integer(), carriesAll), { numRuns: 3 }));

  async function carriesAll(seed: number): Promise<void> {
    const random = randomFrom(seed);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

    const world = moveWorld({ mostAttempts: 4 });
    const { faults, simulated, clock } = world;
    faults.send = () => (random() < 0.3 ? 'land' : pick(FATES));
    faults.ask = () => {
      const roll = random();
      faults.lags = roll < 0.2;
      if (roll > 0.985 && clock.nowMs() > 4_000) simulated.fork(6);
      return roll > 0.9 && roll < 0.95 ? new ChainUnreachableError('Away.') : undefined;
    };

    const keys = Array.from({ length: 30 }, (_, index) => `ref-${index}`);
    const carried = keys.map(async (key, index) => {
      const from = walletNamed(key);
      simulated.memory.fund(from.address, 1_000_000_000n);
      // Some wallets are emptied meanwhile, so that their transactions fail on execution.
      if (random() < 0.2) {
        clock.after(random() * 2_000, () => simulated.memory.fund(from.address, -989_500_000n));
      }
      const requested = await world.request({ key, from, amount: 10_000_000n + BigInt(index) });
      const lives = Math.floor(random() * 4);
      for (let life = 0; life < lives; life++) {
        const drivers = Array.from({ length: random() < 0.3 ? 2 : 1 }, () => world.driver(pick(DEATHS)));
        await Promise.all(drivers.map((driver) => carryNow(driver, requested)));
      }
      await carryNow(world.driver(), requested);
    });
    await clock.runUntil(Promise.all(carried));

    const executed = await simulated.executed();
    let confirmed = 0;
    for (const [index, key] of keys.entries()) {
      const amount = 10_000_000n + BigInt(index);
      const moved = executed.filter((one) => gainOf(one, TREASURY.address) === amount);
      const found = await world.find(key);
      const story = `${key}: ${found?.status} ${found?.errorCode}`;
      expect(found?.status, story).to.be.oneOf(['confirmed', 'failed']);
      if (found?.status === 'confirmed') confirmed += 1;
      const expected = found?.status === 'confirmed' ? [found.signature] : [];
      expect(
        moved.map(({ signature }) => signature),
        story,
      ).to.deep.equal(expected);
    }
    expect(confirmed).to.be.greaterThan(10);
    type Driver = ReturnType<typeof world.driver>;
    function carryNow(driver: Driver, requested: Parameters<typeof carry>[2]): Promise<void> {
      const { signal } = driver.dying;
      return driver.drive(requested, signal).catch((error: unknown) => {
        if (error !== signal.reason) throw error;
      });
    }
  }
});
