import type { FailPointName } from '@coffer/kernel';
import { associatedTokenAddress, ChainUnreachableError } from '@coffer/solana';
import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { FEE_PAYER, moveWorld, walletNamed } from './testing/moveWorld.ts';
import { gainOf, type SendFate } from './testing/simulatedChain.ts';

const RENT = 2_039_280n;
const PLAYERS = 3;
const PER_USER = 2;
const PER_APP = 5;
const MOVES = 40;
const FATES: readonly SendFate[] = ['drop', 'landUnheard', 'late', 'refuse', 'land', 'land', 'land'];
const DEATHS: readonly FailPointName[] = ['move.beforeSign', 'move.signed', 'move.sent', 'move.submitted'];

/**
 * Players with and without SOL send tokens to addresses whose accounts come and go: closed by their owners, or given
 * lamports beforehand. Drivers die, two work on one move, sends get lost.
 */
describe('the rent that a fee payer pays', () => {
  it('stays within the daily caps, whatever happens', () =>
    fc.assert(fc.asyncProperty(fc.integer(), staysWithin), { numRuns: 8 }));

  async function staysWithin(seed: number): Promise<void> {
    const random = randomFrom(seed);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const world = moveWorld({ mostAttempts: 3 });
    const { simulated, clock, rentSponsor, faults } = world;
    const { memory } = simulated;
    rentSponsor.caps.perUser = PER_USER;
    rentSponsor.caps.perApp = PER_APP;
    faults.send = () => pick(FATES);
    faults.ask = () => (random() < 0.02 ? new ChainUnreachableError('Away.') : undefined);

    const mint = memory.createMint({ decimals: 6 });
    const players = Array.from({ length: PLAYERS }, (_, index) => walletNamed(`player ${index}`));
    for (const { address } of players) memory.giveTokens(mint, address, 1_000n);
    const recipients = Array.from({ length: 6 }, (_, index) => walletNamed(`recipient ${index}`).address);
    const accountOf = (owner: string) => associatedTokenAddress(owner, mint.address, mint.program);

    const carried = Array.from({ length: MOVES }, async (_, index) => {
      await new Promise<void>((resolve) => clock.after(random() * 60_000, resolve));
      const from = pick(players);
      const toAddress = pick(recipients);
      const roll = random();
      if (roll < 0.3) memory.closeAccount(accountOf(toAddress));
      else if (roll < 0.4) memory.fund(accountOf(toAddress), 890_880n);
      if (random() < 0.15) memory.fund(from.address, RENT);
      const change = { key: `withdraw-${index}`, from, toAddress, userId: from.walletId };
      const order = {
        ...change,
        operation: 'withdraw',
        mint: mint.address,
        decimals: 6,
        amount: 1n,
      } as const;
      const requested = await world.request(order);
      const drive = async (deathAt?: FailPointName) => {
        const driver = world.driver(deathAt);
        const { signal } = driver.dying;
        await driver.drive(requested, signal).catch((error: unknown) => {
          if (error !== signal.reason) throw error;
        });
      };
      await Promise.all([drive(pick(DEATHS)), ...(random() < 0.3 ? [drive(pick(DEATHS))] : [])]);
      await drive();
    });
    await clock.runUntil(Promise.all(carried));

    const paid = new Map<string, bigint>();
    for (const executed of await simulated.executed()) {
      const rent = -gainOf(executed, FEE_PAYER.address) - executed.feeLamports;
      const [, payer = ''] = executed.signers;
      paid.set(payer, (paid.get(payer) ?? 0n) + rent);
    }
    const total = [...paid.values()].reduce((sum, one) => sum + one, 0n);
    for (const [payer, rent] of paid) expect(rent <= BigInt(PER_USER) * RENT, payer).to.equal(true);
    expect(total <= BigInt(PER_APP) * RENT).to.equal(true);
    expect(total > 0n).to.equal(true);
    expect(rentSponsor.counted()).to.have.length.within(1, PER_APP);
  }
});
