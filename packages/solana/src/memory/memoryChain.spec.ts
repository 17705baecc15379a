import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { itIsAChain } from '../chain.contract.ts';
import { ChainUnreachableError } from '../port.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs/ids.ts';
import { signedTransfer, testWallet } from '../testing/testWallet.ts';
import { signatureOf, type TransferMint } from '../web3/buildTransfer.ts';
import { type MemoryChain, memoryChain } from './memoryChain.ts';

for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM])
  itIsAChain(`The memory chain with a token of ${program.slice(0, 6)}`, async () => {
    const chain = memoryChain();
    const mint = chain.createMint({ program });
    return {
      chain,
      fund: async (address, lamports) => chain.fund(address, lamports),
      token: {
        mint,
        give: async (owner, amount) => {
          chain.giveTokens(mint, owner, amount);
        },
      },
      until: async (isReached) => {
        while (!(await isReached())) chain.advance();
      },
      runId: program.slice(0, 6),
      prune: async (statuses) => chain.prune(statuses),
      close: chain.close,
    };
  });

describe('The memory chain', () => {
  const SOL = 1_000_000_000n;
  const feePayer = testWallet('fees');
  const from = testWallet('from');
  const to = testWallet('to');
  let chain: MemoryChain;

  beforeEach(() => {
    chain = memoryChain({ confirmedDepth: 2, finalizedDepth: 5 });
    chain.fund(feePayer.address, SOL);
    chain.fund(from.address, SOL);
  });

  async function transfer(amount = SOL / 2n, mint: 'native' | TransferMint = 'native') {
    const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
    const priority = { unitLimit: 1_000, microLamports: 0n };
    const order = {
      to: to.address,
      mint,
      amount,
      moveId: 'mov_1',
      blockhash,
      priority,
      createsAccount: true,
    };
    const wire = signedTransfer(order, feePayer, from);
    return { wire, signature: signatureOf(wire), lastValidBlockHeight };
  }
  const commitmentOf = async (signature: string) => (await chain.statuses([signature]))[0]?.commitment;

  it('makes no blocks by itself, and shows each commitment at its depth', async () => {
    const { wire, signature } = await transfer();
    await chain.send(wire);
    expect(await commitmentOf(signature)).to.equal(undefined);
    const seen = [];
    for (let blocks = 1; blocks <= 6; blocks++) {
      chain.advance();
      seen.push(await commitmentOf(signature));
    }
    expect(seen).to.deep.equal([
      'processed',
      'processed',
      'confirmed',
      'confirmed',
      'confirmed',
      'finalized',
    ]);
  });

  it('drops what it is told to drop, and accepts it when it is sent again', async () => {
    const { wire, signature } = await transfer();
    chain.dropNext(2);
    for (let count = 0; count < 3; count++) {
      expect(await commitmentOf(signature)).to.equal(undefined);
      expect(await chain.send(wire)).to.deep.equal({ outcome: 'accepted' });
      chain.advance();
    }
    expect(await commitmentOf(signature)).to.equal('processed');
    expect(chain.sent).to.deep.equal([wire, wire, wire]);
  });

  it('lets a delayed transaction land as late as possible, and no later', async () => {
    for (const [delay, lands] of [
      // The blockhash is two blocks old when it is sent.
      [147, true],
      [148, false],
    ] as const) {
      const { wire, signature, lastValidBlockHeight } = await transfer(10_000_000n);
      chain.delayNext(delay);
      await chain.send(wire);
      chain.advance(delay);
      expect(await commitmentOf(signature)).to.equal(undefined);
      chain.advance();
      expect((await commitmentOf(signature)) !== undefined, String(delay)).to.equal(lands);
      expect(chain.blockHeight('processed') <= lastValidBlockHeight).to.equal(lands);
    }
  });

  it('forks: what was in the blocks lands again, or never', async () => {
    const { wire, signature, lastValidBlockHeight } = await transfer();
    await chain.send(wire);
    chain.advance(3);
    expect(await commitmentOf(signature)).to.equal('confirmed');
    const finalized = chain.blockHeight('finalized');
    chain.fork(3, 'landsAgain');
    expect(await commitmentOf(signature)).to.equal(undefined);
    expect(chain.blockHeight('finalized')).to.equal(finalized);
    chain.advance();
    expect(chain.blockHeight('finalized')).to.equal(finalized);
    expect(await commitmentOf(signature)).to.equal('processed');
    chain.fork(1, 'isLost');
    chain.advance(5);
    expect(await commitmentOf(signature)).to.equal(undefined);
    expect(await chain.isLost(signature, lastValidBlockHeight)).to.equal(false);
    chain.advancePast(lastValidBlockHeight);
    expect(await chain.isLost(signature, lastValidBlockHeight)).to.equal(true);
  });

  it('does not undo what is final', async () => {
    expect(() => chain.fork(6, 'isLost')).to.throw('stays');
    expect(() => chain.fork(5, 'isLost')).not.to.throw();
  });

  it('fails as it is told: before the work, or with only the answer lost', async () => {
    const { wire, signature } = await transfer();
    chain.failNext('send', 'before');
    chain.failNext('send', 'after');
    expect(await failureOf(chain.send(wire))).to.be.instanceOf(ChainUnreachableError);
    chain.advance();
    expect(await commitmentOf(signature)).to.equal(undefined);
    expect(await failureOf(chain.send(wire))).to.be.instanceOf(ChainUnreachableError);
    chain.advance();
    expect(await commitmentOf(signature)).to.equal('processed');
    chain.failNext('statuses', 'before', 2);
    expect(await failureOf(chain.statuses([]))).to.be.instanceOf(ChainUnreachableError);
    expect(await failureOf(chain.statuses([]))).to.be.instanceOf(ChainUnreachableError);
    expect(await commitmentOf(signature)).to.equal('processed');
  });

  it('hides a status, but does not report as lost what has landed', async () => {
    const { wire, signature, lastValidBlockHeight } = await transfer();
    await chain.send(wire);
    chain.advancePast(lastValidBlockHeight);
    chain.hide(signature);
    expect(await commitmentOf(signature)).to.equal(undefined);
    expect(await chain.isLost(signature, lastValidBlockHeight)).to.equal(false);
    chain.reveal(signature);
    expect(await commitmentOf(signature)).to.equal('finalized');
  });

  it('leaves no account with less than its rent, and executes nothing without a fee', async () => {
    const poor = await transfer(1n);
    await chain.send(poor.wire);
    chain.finalize();
    expect((await chain.statuses([poor.signature]))[0]?.error).to.equal(
      '{"InsufficientFundsForRent":{"account_index":2}}',
    );
    const stranger = testWallet('stranger');
    const { blockhash } = await chain.latestBlockhash();
    const priority = { unitLimit: 1_000, microLamports: 0n };
    const order = { to: to.address, mint: 'native', amount: 1n, moveId: 'm', blockhash, priority } as const;
    const wire = signedTransfer({ ...order, createsAccount: false }, stranger, from);
    expect((await chain.simulate(wire, [])).error).to.equal('AccountNotFound');
    await chain.send(wire);
    chain.finalize();
    expect(await commitmentOf(signatureOf(wire))).to.equal(undefined);
  });

  it('does not move frozen tokens', async () => {
    const mint = chain.createMint();
    const account = chain.giveTokens(mint, from.address, 100n);
    chain.setFrozen(account, true);
    const { wire } = await transfer(100n, mint);
    expect((await chain.simulate(wire, [])).error).to.equal('{"InstructionError":[4,{"Custom":17}]}');
    expect((await chain.tokenAccountsOf(from.address, 'confirmed'))[0]?.isFrozen).to.equal(true);
  });

  it('offers the priority fee that it is told', async () => {
    chain.setPriorityFee(77n);
    expect(await chain.recentPriorityFee([])).to.equal(77n);
  });
});
