/** Who pays for the token account that a cash-out makes. Source: docs/adr/0024-rent.md. */

import { associatedTokenAddress } from '@coffer/solana';
import { refusalOf } from '@coffer/testing';
import { expect } from 'chai';
import { createTreasuryCaller, diesIn, type TreasuryCaller } from './testing/treasuryCaller.ts';
import {
  CHIP_ID,
  createTreasuryWorld,
  RENT_MINIMUM,
  TREASURY,
  type TreasuryWorld,
} from './testing/treasuryNodes.ts';

describe('a withdrawal of a token to a wallet that has no account for it', () => {
  let world: TreasuryWorld;
  let userId: string;
  let ask: TreasuryCaller['ask'];
  let figures: TreasuryCaller['figures'];

  const chips = (ref: string) => ({ currency: CHIP_ID, amount: 5n, ref });
  const counted = () => world.rentSponsor.counted().map(({ userId: of }) => of);
  beforeEach(async () => {
    world = await createTreasuryWorld();
    userId = await world.newPlayer();
    ({ ask, figures } = createTreasuryCaller(world, userId));
    const owner = world.addressOf(userId);
    const other = await world.newPlayer();
    world.chain.giveTokens(world.chipMint, world.addressOf(other), 100n);
    world.chain.giveTokens(world.chipMint, TREASURY, 100n);
    // Deposited from an account that has been closed since; which wallet it was in makes no difference to the books.
    const { giveTokens } = world.chain;
    const account = giveTokens(world.chipMint, owner, 20n);
    await ask('deposit', { currency: CHIP_ID, amount: 20n, ref: 'chips' });
    await world.confirm('chips');
    await world.finish();
    world.chain.closeAccount(account);
    await world.setLamports(owner, 0n);
  });

  it('is paid for by the wallet if that holds the SOL', async () => {
    world.rentSponsor.caps.perUser = 0;
    await world.setLamports(world.addressOf(userId), 2_039_280n);
    await ask('withdraw', chips('a'));
    expect(counted()).to.deep.equal([]);
  });

  it('is paid for by the app within its caps, and beyond them refused before anything is held', async () => {
    await ask('withdraw', chips('a'));
    await ask('withdraw', chips('a'));
    await ask('withdraw', chips('b'));
    const before = await figures(userId, CHIP_ID);
    expect(await refusalOf(ask('withdraw', chips('c')))).to.deep.equal({
      code: 'wallets/rent_not_sponsored',
      details: { lamports: 2_039_280n },
    });
    expect(counted()).to.deep.equal([userId, userId]);
    expect(await figures(userId, CHIP_ID)).to.deep.equal(before);
    world.chain.giveTokens(world.chipMint, world.addressOf(userId), 0n);
    expect((await ask('withdraw', chips('c'))).answer).to.include({ status: 'pending' });
  });

  it('counts nothing if the player lacks the funds', async () => {
    expect(await refusalOf(ask('withdraw', { ...chips('a'), amount: 21n }))).to.deep.include({
      code: 'treasury/insufficient_funds',
    });
    expect(counted()).to.deep.equal([]);
  });

  it('counts a request that died half-way once when it is sent again', async () => {
    world.dieAt('cashOut.beforeHold');
    await diesIn(ask('withdraw', chips('a')));
    expect(counted()).to.deep.equal([userId]);
    world.dieAt('cashOut.held');
    await diesIn(ask('withdraw', chips('a')));
    await ask('withdraw', chips('a'));
    expect(counted()).to.deep.equal([userId]);
    expect(await figures(userId, CHIP_ID)).to.include({ held: 5n });
  });

  it('goes to the address of an account that somebody has sent lamports to', async () => {
    const { address, program } = world.chipMint;
    for (const owner of [world.addressOf(userId), TREASURY]) {
      const account = associatedTokenAddress(owner, address, program);
      world.chain.closeAccount(account);
      world.chain.fund(account, RENT_MINIMUM);
    }
    const holder = await world.newPlayer();
    world.chain.giveTokens(world.chipMint, world.addressOf(holder), 100n);
    const deposit = { ...chips('in'), userId: holder };
    expect((await ask('deposit', deposit)).answer, 'of the treasury').to.include({ status: 'pending' });
    world.chain.giveTokens(world.chipMint, TREASURY, 100n);
    expect((await ask('withdraw', chips('out'))).answer).to.include({ status: 'pending' });
  });
});
