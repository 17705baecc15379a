import { expect } from 'chai';
import { planTransfer } from './index.ts';
import { tokenAccountData } from './memory/accounts.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs/ids.ts';
import { type MemoryChain, memoryChain, testWallet } from './testing.ts';
import { associatedTokenAddress } from './web3/addresses.ts';

const from = testWallet('payer').address;
const to = testWallet('payee').address;
const RENT_MINIMUM = 890_880n;

describe('a transfer', () => {
  let chain: MemoryChain;
  beforeEach(() => {
    chain = memoryChain();
  });
  const native = (amount: bigint, recipient = to) =>
    planTransfer(chain, { from, to: recipient, mint: 'native', decimals: 9, amount });

  describe('of the native currency', () => {
    beforeEach(() => chain.fund(from, 10_000_000n));

    it('is possible within what the wallet holds', async () => {
      const accounts = { source: from, destination: to };
      const possible = { outcome: 'possible', mint: 'native', createsAccount: false, rent: 0n, accounts };
      expect(await native(1_000_000n)).to.deep.equal(possible);
      expect(await native(10_000_000n), 'all of it').to.deep.equal(possible);
    });

    it('is not possible beyond it, nor from a wallet that is not there', async () => {
      expect(await native(10_000_001n)).to.deep.equal({
        outcome: 'insufficientFunds',
        available: 10_000_000n,
      });
      const stranger = { from: testWallet('nobody').address, to, mint: 'native', decimals: 9, amount: 1n };
      expect(await planTransfer(chain, stranger)).to.deep.equal({
        outcome: 'insufficientFunds',
        available: 0n,
      });
    });

    it('leaves no account with less than it must hold, unless with nothing', async () => {
      const refused = { outcome: 'belowRentMinimum', minimum: RENT_MINIMUM };
      expect(await native(10_000_000n - RENT_MINIMUM + 1n), 'the source').to.deep.equal(refused);
      expect(await native(10_000_000n - RENT_MINIMUM)).to.include({ outcome: 'possible' });
      expect(await native(RENT_MINIMUM - 1n), 'the recipient').to.deep.equal(refused);
      chain.fund(to, RENT_MINIMUM);
      expect(await native(1n)).to.include({ outcome: 'possible' });
    });

    it('goes to wallets alone', async () => {
      const mint = chain.createMint();
      const tokenAccount = chain.giveTokens(mint, to, 1n);
      const offCurve = associatedTokenAddress(to, mint.address, TOKEN_2022_PROGRAM);
      for (const recipient of [from, tokenAccount, offCurve, mint.address]) {
        expect(await native(1_000_000n, recipient), recipient).to.include({
          outcome: 'unacceptableRecipient',
        });
      }
    });
  });

  describe('of a token', () => {
    const tokens = (mint: { readonly address: string; readonly decimals: number }, amount: bigint) =>
      planTransfer(chain, { from, to, mint: mint.address, decimals: mint.decimals, amount });

    for (const [program, rent] of [
      [TOKEN_PROGRAM, 2_039_280n],
      [TOKEN_2022_PROGRAM, 2_074_080n],
    ] as const) {
      it(`of ${program} makes the account of a recipient who has none`, async () => {
        const mint = chain.createMint({ program, decimals: 6 });
        chain.giveTokens(mint, from, 100n);
        const accounts = {
          source: associatedTokenAddress(from, mint.address, program),
          destination: associatedTokenAddress(to, mint.address, program),
        };
        expect(await tokens(mint, 100n)).to.deep.equal({
          outcome: 'possible',
          mint,
          createsAccount: true,
          rent,
          accounts,
        });
        chain.giveTokens(mint, to, 1n);
        expect(await tokens(mint, 100n)).to.deep.equal({
          outcome: 'possible',
          mint,
          createsAccount: false,
          rent: 0n,
          accounts,
        });
      });
    }

    it('goes to an account that is not made yet, whatever somebody has sent there', async () => {
      const mint = chain.createMint();
      chain.giveTokens(mint, from, 5n);
      const { address, program } = mint;
      const account = associatedTokenAddress(to, address, program);
      for (const [more, rent] of [
        [890_880n, 1_148_400n],
        [1_148_400n, 0n],
        [1n, 0n],
      ] as const) {
        chain.fund(account, more);
        expect(await tokens(mint, 1n)).to.include({ outcome: 'possible', createsAccount: true, rent });
      }
    });

    it('is not possible where that account is of another program or another owner', async () => {
      const mint = chain.createMint();
      chain.giveTokens(mint, from, 5n);
      const account = associatedTokenAddress(to, mint.address, mint.program);
      const somebody = testWallet('somebody').address;
      for (const foreign of [
        { owner: TOKEN_2022_PROGRAM, data: new Uint8Array() },
        { owner: SYSTEM_PROGRAM, data: new Uint8Array(1) },
        {
          owner: mint.program,
          data: tokenAccountData({
            mint: mint.address,
            program: mint.program,
            owner: somebody,
            amount: 0n,
            isFrozen: false,
          }),
        },
      ]) {
        chain.putAccount(account, { ...foreign, lamports: 3_000_000n });
        expect(await tokens(mint, 1n)).to.include({ outcome: 'unacceptableRecipient' });
      }
    });

    it('is not possible beyond what the wallet holds', async () => {
      const mint = chain.createMint();
      expect(await tokens(mint, 1n)).to.deep.equal({ outcome: 'insufficientFunds', available: 0n });
      chain.giveTokens(mint, from, 5n);
      expect(await tokens(mint, 6n)).to.deep.equal({ outcome: 'insufficientFunds', available: 5n });
    });

    it('is not possible with an account that is frozen, on either side', async () => {
      const mint = chain.createMint();
      const accounts = [chain.giveTokens(mint, from, 5n), chain.giveTokens(mint, to, 5n)];
      for (const [index, account] of accounts.entries()) {
        const side = index === 0 ? 'source' : 'destination';
        chain.setFrozen(account, true);
        expect(await tokens(mint, 1n)).to.deep.equal({ outcome: 'frozen', side, account });
        chain.setFrozen(account, false);
      }
    });

    it('is not possible of what is no mint, or one of other decimals', async () => {
      const mint = chain.createMint({ decimals: 6 });
      chain.giveTokens(mint, from, 5n);
      expect(await tokens({ ...mint, decimals: 9 }, 1n)).to.include({ outcome: 'unsupportedMint' });
      expect(await tokens({ ...mint, address: testWallet('no mint').address }, 1n)).to.include({
        outcome: 'unsupportedMint',
      });
    });
  });
});
