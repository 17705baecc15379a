import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureOf } from '@coffer/testing';
import { type Connection, Keypair } from '@solana/web3.js';
import { expect } from 'chai';
import { type ChainWorld, startChainWorld } from './testing/chainWorld.ts';
import { connectionTo, LAMPORTS_PER_SOL, signed, startWithAlice, transfer } from './testing/web3Client.ts';

const FIRST_SLOT = 447_552_000;
const MILLION = 1_000_000;

describe('the history of the embedded chain', () => {
  let folder: string;
  let world: ChainWorld;
  let connection: Connection;
  /** Reads what is final. */
  let history: Connection;
  let alice: Keypair;
  const bob = Keypair.generate().publicKey;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-chain-'));
    ({ world, connection, alice } = await startWithAlice({ folder }));
    history = connectionTo(world, 'finalized');
  });
  after(async () => {
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  /** Returns the slot that it is in, and its signature. */
  const pay = async () => {
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
    return {
      signature: await connection.sendRawTransaction(wire),
      slot: await connection.getSlot('processed'),
    };
  };

  describe('in blocks', () => {
    it('holds each transaction in the block of its slot', async () => {
      const { signature, slot } = await pay();
      const { blockhash } = await connection.getLatestBlockhash('processed');
      world.finalize();
      const block = await history.getBlock(slot, { maxSupportedTransactionVersion: 0 });
      expect(block).to.include({ blockhash, parentSlot: slot - 1 });
      expect(block?.transactions.map(({ transaction }) => transaction.signatures)).to.deep.equal([
        [signature],
      ]);
      expect(block?.transactions[0]?.meta).to.include({ err: null, fee: 5000 });
      const transaction = await history.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
      expect(block?.blockTime).to.equal(transaction?.blockTime);
      expect(block?.blockTime).to.be.closeTo(Date.now() / 1000, 60);
      const parent = await history.getBlock(slot - 1, { maxSupportedTransactionVersion: 0 });
      expect(block?.previousBlockhash).to.equal(parent?.blockhash);
    });

    it('has a block in every slot, empty if nothing was sent', async () => {
      world.advance(1);
      const slot = await connection.getSlot('processed');
      world.finalize();
      const block = await history.getBlock(slot, { maxSupportedTransactionVersion: 0 });
      expect(block?.transactions).to.deep.equal([]);
      expect(block?.rewards).to.deep.equal([]);
    });

    it('shows as much of a transaction as is asked for', async () => {
      const { signature, slot } = await pay();
      world.finalize();
      expect(await history.getBlockSignatures(slot)).to.include({ parentSlot: slot - 1 });
      expect((await history.getBlockSignatures(slot)).signatures).to.deep.equal([signature]);
      const version = { maxSupportedTransactionVersion: 0 };
      const none = await history.getBlock(slot, { ...version, transactionDetails: 'none' });
      expect(none).not.to.have.property('transactions');
      const accounts = await history.getParsedBlock(slot, { ...version, transactionDetails: 'accounts' });
      const [payer, paid] = accounts.transactions[0]?.transaction.accountKeys ?? [];
      expect(payer).to.include({ signer: true, writable: true, source: 'transaction' });
      expect(String(paid?.pubkey)).to.equal(bob.toBase58());
      const [base64] = await world
        .call('getBlock', [slot, { encoding: 'base64', ...version }])
        .then((block) => Reflect.get(Object(block), 'transactions'));
      expect(base64.transaction[1]).to.equal('base64');
    });

    it('knows a block once it is confirmed, or final', async () => {
      const { slot } = await pay();
      const at = (commitment: 'confirmed' | 'finalized') =>
        connection.getBlock(slot, { commitment, maxSupportedTransactionVersion: 0 });
      expect((await failureOf(at('confirmed'))).message).to.contain(`Block not available for slot ${slot}`);
      world.advance(2);
      expect((await at('confirmed'))?.transactions).to.have.length(1);
      expect((await failureOf(at('finalized'))).message).to.contain('Block not available');
      world.finalize();
      expect((await at('finalized'))?.transactions).to.have.length(1);
    });

    it('lists the slots that have a block, in bounded pages', async () => {
      const newest = await connection.getSlot('finalized');
      expect(await history.getBlocks(newest - 2, newest + 10, 'finalized')).to.deep.equal([
        newest - 2,
        newest - 1,
        newest,
      ]);
      expect(await world.call('getBlocks', [newest, null, { commitment: 'confirmed' }])).to.include(
        newest + 2,
      );
      expect(await world.call('getBlocksWithLimit', [newest - 5, 2])).to.deep.equal([newest - 5, newest - 4]);
      expect(await history.getBlocks(newest, newest - 1)).to.deep.equal([]);
      const wide = failureOf(world.call('getBlocks', [newest - MILLION, newest]));
      expect((await wide).message).to.contain('Slot range too large; max 500000');
      const many = failureOf(world.call('getBlocksWithLimit', [newest, MILLION]));
      expect((await many).message).to.contain('Limit too large; max 500000');
    });

    it('begins with its genesis, so that clients know that it is complete', async () => {
      expect(await connection.getFirstAvailableBlock()).to.equal(0);
      expect(await connection.getMinimumLedgerSlot()).to.equal(0);
      const version = { maxSupportedTransactionVersion: 0 };
      const genesis = await history.getBlock(0, version);
      expect(genesis).to.include({ parentSlot: 0, blockHeight: 0 });
      expect(genesis?.transactions).to.deep.equal([]);
      const first = await history.getBlock(FIRST_SLOT, version);
      expect(first).to.include({ parentSlot: 0, previousBlockhash: genesis?.blockhash });
      expect(await history.getBlockTime(0)).to.equal(await history.getBlockTime(FIRST_SLOT));
      expect(await world.call('getBlocksWithLimit', [0, 3])).to.deep.equal([0, FIRST_SLOT, FIRST_SLOT + 1]);
      expect(await world.call('getBlocksWithLimit', [1, 1])).to.deep.equal([FIRST_SLOT]);
      expect(await world.call('getBlocks', [0, 100])).to.deep.equal([0]);
      for (const slot of [1, FIRST_SLOT - 1]) {
        const failure = await failureOf(world.call('getBlock', [slot]));
        expect(failure.message).to.contain('-32007').and.to.contain(`Slot ${slot} was skipped`);
      }
    });

    it('reports discarded blocks as gone', async () => {
      const slot = await connection.getSlot('finalized');
      world.faults.inject({ kind: 'prune' });
      try {
        const first = await connection.getFirstAvailableBlock();
        expect(first).to.be.greaterThan(slot);
        for (const gone of [0, slot]) {
          const failure = await failureOf(world.call('getBlock', [gone]));
          expect(failure.message).to.contain('-32001').and.to.contain(`First available block: ${first}`);
        }
      } finally {
        world.faults.clear();
      }
    });

    it('refuses what is not a slot, and a commitment that a block does not have yet', async () => {
      expect((await failureOf(world.call('getBlock', ['7']))).message).to.contain('-32602');
      const processed = world.call('getBlock', [FIRST_SLOT, { commitment: 'processed' }]);
      expect((await failureOf(processed)).message).to.contain('below `confirmed`');
    });
  });

  it('gives a slot the same time for ever, even an empty one and after a restart', async () => {
    const { slot } = await pay();
    world.advance(3);
    const slots = [slot - 1, slot, slot + 1, slot + 3];
    const times = () => Promise.all(slots.map((each) => connection.getBlockTime(each)));
    const told = await times();
    expect(told).to.deep.equal([...told].sort());
    const future = failureOf(connection.getBlockTime(slot + 100));
    expect((await future).message).to.contain('Block not available');
    await world.stop();
    world = await startChainWorld({ folder });
    connection = connectionTo(world);
    history = connectionTo(world, 'finalized');
    expect(await times()).to.deep.equal(told);
    world.advance(100);
    expect(await times()).to.deep.equal(told);
  });

  it('counts its transactions by the minute', async () => {
    world.advance(300);
    const periodOf = (slot: number) => Math.floor(slot / 150);
    const { slot } = await pay();
    world.advance(300);
    const samples = await connection.getRecentPerformanceSamples(3);
    const sample = samples.find((each) => periodOf(each.slot) === periodOf(slot));
    expect(sample).to.include({ numSlots: 150, samplePeriodSecs: 60, slot: periodOf(slot) * 150 + 149 });
    expect(sample?.numTransactions).to.be.greaterThan(0);
    const tip = await connection.getSlot('processed');
    expect(samples[0]?.slot).to.equal(periodOf(tip + 1) * 150 - 1);
    expect(samples.map((each) => each.slot)).to.deep.equal(
      samples
        .map((each) => each.slot)
        .sort()
        .reverse(),
    );
    const many = failureOf(connection.getRecentPerformanceSamples(721));
    expect((await many).message).to.contain('Invalid limit; max 720');
  });

  it('describes the cluster: one node, epochs, and no voters', async () => {
    const schedule = await connection.getEpochSchedule();
    const { epoch, slotIndex, absoluteSlot } = await connection.getEpochInfo();
    expect(schedule.getEpochAndSlotIndex(absoluteSlot)).to.deep.equal([epoch, slotIndex]);
    const [node, ...others] = await connection.getClusterNodes();
    expect(`http://${node?.rpc}`).to.equal(world.url);
    expect(others).to.deep.equal([]);
    expect(await world.call('getIdentity')).to.deep.equal({ identity: node?.pubkey });
    expect(await connection.getVoteAccounts()).to.deep.equal({ current: [], delinquent: [] });
  });
});
