import { expect } from 'chai';
import { planTransfer } from './index.ts';
import { tokenAccountData } from './memory/accounts.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs/ids.ts';
import { referenceOf } from './reference.ts';
import { type MemoryChain, memoryChain } from './testing/index.ts';
import { testWallet } from './testing/testWallet.ts';
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
      for (const amount of [1_000_000n, 10_000_000n]) {
        expect(await native(amount)).to.deep.equal({
          outcome: 'possible',
          mint: 'native',
          createsAccount: false,
          rent: 0n,
          sources: [{ account: from, amount }],
          destination: to,
        });
      }
    });

    it('is not possible beyond that, nor from a wallet that does not exist', async () => {
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

    it('leaves each account with at least what it must hold, or with nothing', async () => {
      const refused = { outcome: 'belowRentMinimum', minimum: RENT_MINIMUM };
      expect(await native(10_000_000n - RENT_MINIMUM + 1n), 'the source').to.deep.equal(refused);
      expect(await native(10_000_000n - RENT_MINIMUM)).to.include({ outcome: 'possible' });
      expect(await native(RENT_MINIMUM - 1n), 'the recipient').to.deep.equal(refused);
      chain.fund(to, RENT_MINIMUM);
      expect(await native(1n)).to.include({ outcome: 'possible' });
    });

    it('goes only to wallets: not to a token account, a program, a mint, or the reference of a move', async () => {
      const mint = chain.createMint();
      const tokenAccount = chain.giveTokens(mint, to, 1n);
      const offCurve = associatedTokenAddress(to, mint.address, TOKEN_2022_PROGRAM);
      const reference = referenceOf('mov_01h455vb4pex5vsknk084sn02q');
      for (const recipient of [from, tokenAccount, offCurve, mint.address, reference]) {
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
          sources: [{ account: associatedTokenAddress(from, mint.address, program), amount: 100n }],
          destination: associatedTokenAddress(to, mint.address, program),
        };
        expect(await tokens(mint, 100n)).to.deep.equal({
          outcome: 'possible',
          mint,
          createsAccount: true,
          rent,
          ...accounts,
        });
        chain.giveTokens(mint, to, 1n);
        expect(await tokens(mint, 100n)).to.deep.equal({
          outcome: 'possible',
          mint,
          createsAccount: false,
          rent: 0n,
          ...accounts,
        });
      });
    }

    it('goes to an account that does not exist yet, whatever somebody has sent to its address', async () => {
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

    it('is not possible if that account belongs to another program or another owner', async () => {
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

    it('is not possible with a frozen account on either side', async () => {
      const mint = chain.createMint();
      const accounts = [chain.giveTokens(mint, from, 5n), chain.giveTokens(mint, to, 5n)];
      for (const [index, account] of accounts.entries()) {
        const side = index === 0 ? 'source' : 'destination';
        chain.setFrozen(account, true);
        expect(await tokens(mint, 1n)).to.deep.equal({ outcome: 'frozen', side, account });
        chain.setFrozen(account, false);
      }
    });

    describe('held in several accounts', () => {
      const beside = (index: number) => testWallet(`beside ${index}`).address;
      let mint: ReturnType<MemoryChain['createMint']>;
      let associated: string;
      /** In the associated account, then in others. */
      const hold = (...amounts: readonly bigint[]) => {
        mint = chain.createMint();
        associated = associatedTokenAddress(from, mint.address, mint.program);
        for (const [index, amount] of amounts.entries()) {
          if (amount > 0n) chain.giveTokens(mint, from, amount, index === 0 ? associated : beside(index));
        }
      };
      const sourcesOf = async (amount: bigint) => {
        const plan = await tokens(mint, amount);
        return plan.outcome === 'possible' ? plan.sources : plan;
      };

      it('is paid from the associated one if that has enough', async () => {
        hold(5n, 100n);
        expect(await sourcesOf(5n)).to.deep.equal([{ account: associated, amount: 5n }]);
      });

      it('is paid from all of them together, largest first', async () => {
        hold(5n, 100n, 0n, 20n);
        expect(await sourcesOf(125n)).to.deep.equal([
          { account: beside(1), amount: 100n },
          { account: beside(3), amount: 20n },
          { account: associated, amount: 5n },
        ]);
        expect(await sourcesOf(101n)).to.deep.equal([
          { account: beside(1), amount: 100n },
          { account: beside(3), amount: 1n },
        ]);
        expect(await sourcesOf(126n)).to.deep.equal({ outcome: 'insufficientFunds', available: 125n });
      });

      it('is paid even if there is no associated one', async () => {
        hold(0n, 7n);
        expect(await sourcesOf(7n)).to.deep.equal([{ account: beside(1), amount: 7n }]);
      });

      it('has room for five: what the five largest hold is what can be moved', async () => {
        hold(1n, 10n, 20n, 30n, 40n, 50n, 60n);
        expect(await sourcesOf(200n)).to.have.length(5);
        expect(await sourcesOf(201n)).to.deep.equal({ outcome: 'insufficientFunds', available: 200n });
      });

      it('is not paid from what is frozen', async () => {
        hold(5n, 100n, 3n);
        chain.setFrozen(beside(1), true);
        expect(await sourcesOf(8n)).to.have.length(2);
        expect(await sourcesOf(9n)).to.deep.equal({
          outcome: 'frozen',
          side: 'source',
          account: beside(1),
        });
        expect(await sourcesOf(109n)).to.deep.equal({ outcome: 'insufficientFunds', available: 8n });
        chain.setFrozen(associated, true);
        expect(await sourcesOf(3n), 'the associated one is left out').to.deep.equal([
          { account: beside(2), amount: 3n },
        ]);
      });

      it('counts only the associated one if only that may pay', async () => {
        hold(5n, 100n);
        const transfer = { from, to, mint: mint.address, decimals: mint.decimals, onlyAssociated: true };
        expect(await planTransfer(chain, { ...transfer, amount: 6n })).to.deep.equal({
          outcome: 'insufficientFunds',
          available: 5n,
        });
        expect(await planTransfer(chain, { ...transfer, amount: 5n })).to.include({ outcome: 'possible' });
      });

      it('counts no other token and nobody else', async () => {
        hold(5n);
        chain.giveTokens(chain.createMint(), from, 100n);
        chain.giveTokens(mint, to, 100n);
        expect(await sourcesOf(6n)).to.deep.equal({ outcome: 'insufficientFunds', available: 5n });
      });
    });

    it('is not possible with something that is not a mint, or a mint with other decimals', async () => {
      const mint = chain.createMint({ decimals: 6 });
      chain.giveTokens(mint, from, 5n);
      expect(await tokens({ ...mint, decimals: 9 }, 1n)).to.include({ outcome: 'unsupportedMint' });
      expect(await tokens({ ...mint, address: testWallet('no mint').address }, 1n)).to.include({
        outcome: 'unsupportedMint',
      });
    });
  });
});
