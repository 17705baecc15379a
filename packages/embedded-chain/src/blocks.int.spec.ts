import { failureOf } from '@coffer/testing';
import { type Connection, Keypair } from '@solana/web3.js';
import { expect } from 'chai';
import type { ChainWorld } from './testing/chainWorld.ts';
import { LAMPORTS_PER_SOL, signed, startWithAlice, statusOf, transfer } from './testing/web3Client.ts';

describe('blocks of the embedded chain', () => {
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  beforeEach(async () => {
    ({ world, connection, alice } = await startWithAlice());
  });
  afterEach(() => world.stop());

  const bob = Keypair.generate().publicKey;
  const pay = async (lamports = LAMPORTS_PER_SOL) =>
    connection.sendRawTransaction(
      await signed(connection, [alice], [transfer(alice.publicKey, bob, lamports)]),
    );
  const balances = async () => {
    const at = (['processed', 'confirmed', 'finalized'] as const).map((commitment) =>
      connection.getBalance(bob, commitment),
    );
    return Promise.all(at);
  };

  it('become confirmed after 2 slots and final after 32, and accounts are shown as of then', async () => {
    const signature = await pay();
    const commitment = async () => (await statusOf(connection, signature))?.confirmationStatus;
    expect([await commitment(), ...(await balances())]).to.deep.equal(['processed', 1e9, 0, 0]);
    world.advance(1);
    expect([await commitment(), ...(await balances())]).to.deep.equal(['processed', 1e9, 0, 0]);
    world.advance(1);
    expect([await commitment(), ...(await balances())]).to.deep.equal(['confirmed', 1e9, 1e9, 0]);
    world.advance(29);
    expect([await commitment(), ...(await balances())]).to.deep.equal(['confirmed', 1e9, 1e9, 0]);
    world.advance(1);
    expect([await commitment(), ...(await balances())]).to.deep.equal(['finalized', 1e9, 1e9, 1e9]);
  });

  it('show each of several changes of an account as of its slot', async () => {
    await pay();
    world.advance(1);
    await pay(LAMPORTS_PER_SOL + 1n);
    world.advance(1);
    expect(await balances()).to.deep.equal([2e9 + 1, 1e9, 0]);
  });

  it('take a transaction up to 150 blocks after its blockhash, and none later', async () => {
    const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash('processed');
    const wires = await Promise.all(
      [1n, 2n].map((extra) =>
        signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL + extra)], blockhash),
      ),
    );
    const [first, second] = wires;
    if (!first || !second) throw new Error('two were signed');
    world.advance(150);
    expect(await connection.getBlockHeight('processed')).to.equal(lastValidBlockHeight);
    expect((await connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).to.equal(true);
    await connection.sendRawTransaction(first);
    world.advance(1);
    expect((await connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).to.equal(false);
    const failure = await failureOf(connection.sendRawTransaction(second));
    expect(failure.message).to.contain('Blockhash not found');
    const signature = await connection.sendRawTransaction(second, { skipPreflight: true });
    world.finalize();
    expect(await statusOf(connection, signature)).to.equal(undefined);
    expect(await connection.getBalance(bob)).to.equal(1e9 + 1);
  });

  it('each have a different blockhash, older for a higher commitment', async () => {
    const at = async (commitment: 'processed' | 'finalized') => connection.getLatestBlockhash(commitment);
    const [processed, finalized] = [await at('processed'), await at('finalized')];
    expect(processed.lastValidBlockHeight - finalized.lastValidBlockHeight).to.equal(32);
    expect(processed.blockhash).to.not.equal(finalized.blockhash);
    world.finalize();
    expect(await at('finalized')).to.deep.equal(processed);
  });

  it('are the basis of a preflight at its commitment, which changes nothing', async () => {
    const carol = Keypair.generate();
    await connection.requestAirdrop(carol.publicKey, 3e9);
    const { blockhash } = await connection.getLatestBlockhash('finalized');
    const payment = transfer(carol.publicKey, bob, LAMPORTS_PER_SOL);
    const wire = await signed(connection, [carol], [payment], blockhash);
    const asOf = (preflightCommitment: 'finalized' | 'processed') =>
      connection.sendRawTransaction(wire, { preflightCommitment });
    expect((await failureOf(asOf('finalized'))).message).to.contain('no record of a prior credit');
    expect(await connection.getBalance(carol.publicKey)).to.equal(3e9);
    await asOf('processed');
    expect(await connection.getBalance(bob)).to.equal(1e9);
  });

  describe('that are forked away', () => {
    it('take what was in them back: accounts, history and blockhash', async () => {
      await pay();
      world.advance(1);
      const signature = await pay(LAMPORTS_PER_SOL + 1n);
      const { blockhash } = await connection.getLatestBlockhash('processed');
      world.fork({ slots: 1 });
      expect(await balances()).to.deep.equal([1e9, 0, 0]);
      expect(await statusOf(connection, signature)).to.equal(undefined);
      expect((await connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).to.equal(
        false,
      );
      world.finalize();
      expect(await connection.getSignaturesForAddress(bob, {}, 'confirmed')).to.have.length(1);
      expect(await connection.getBalance(bob, 'finalized')).to.equal(1e9);
    });

    it('take back every change of an account, to its state before the first', async () => {
      await pay();
      world.advance(1);
      await pay(LAMPORTS_PER_SOL + 1n);
      world.advance(1);
      const before = await connection.getBalance(alice.publicKey, 'finalized');
      world.fork({ slots: 3 });
      expect(await balances()).to.deep.equal([0, 0, 0]);
      expect(await connection.getBalance(alice.publicKey)).to.equal(before);
    });

    it('leave what was in them to be sent again', async () => {
      const { blockhash } = await connection.getLatestBlockhash('processed');
      const wire = await signed(
        connection,
        [alice],
        [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)],
        blockhash,
      );
      world.advance(1);
      const signature = await connection.sendRawTransaction(wire);
      world.advance(3);
      world.fork({ slots: 4 });
      expect(await statusOf(connection, signature)).to.equal(undefined);
      await connection.sendRawTransaction(wire);
      world.finalize();
      expect(await connection.getBalance(bob, 'finalized')).to.equal(1e9);
    });

    it('or bring it back by themselves in a later slot', async () => {
      const { blockhash } = await connection.getLatestBlockhash('processed');
      const wire = await signed(
        connection,
        [alice],
        [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)],
        blockhash,
      );
      world.advance(1);
      const signature = await connection.sendRawTransaction(wire);
      const landed = await statusOf(connection, signature);
      world.fork({ slots: 1, landAgainAfter: 5 });
      expect(await statusOf(connection, signature)).to.equal(undefined);
      world.advance(5);
      expect((await statusOf(connection, signature))?.slot).to.equal((landed?.slot ?? 0) + 5);
      expect(await connection.getBalance(bob)).to.equal(1e9);
    });

    it('are never final', async () => {
      await pay();
      world.finalize();
      expect(() => world.fork({ slots: 33 })).to.throw(RangeError, 'is final');
      expect(await connection.getBalance(bob)).to.equal(1e9);
    });
  });
});
