import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { failureOf } from '@coffer/testing';
import { type Connection, Keypair } from '@solana/web3.js';
import { expect } from 'chai';
import { createEmbeddedChain } from './embeddedChain.ts';
import { openStore } from './ledger/store.ts';
import { type ChainWorld, startChainWorld } from './testing/chainWorld.ts';
import {
  connectionTo,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  signed,
  statusOf,
  transfer,
} from './testing/web3Client.ts';

const AT_FINALIZED = { maxSupportedTransactionVersion: 0, commitment: 'finalized' } as const;
const chip = Keypair.generate().publicKey;
const CHIP = { address: chip.toBase58(), decimals: 6 };

describe('an embedded chain that is started again', () => {
  let folder: string;
  let world: ChainWorld;
  let connection: Connection;
  const start = async (from = folder) => {
    world = await startChainWorld({ folder: from, mints: [CHIP] });
    connection = connectionTo(world);
  };
  const restart = async () => {
    await world.stop();
    await start();
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-chain-'));
    await start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  const bob = Keypair.generate().publicKey;

  it('is the same chain: genesis, faucet, mint, accounts and history', async () => {
    const alice = await fundedKeypair(world, 100n);
    await world.giveTokens(alice.publicKey.toBase58(), CHIP.address, 7n);
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
    const signature = await connection.sendRawTransaction(wire);
    world.finalize();
    const everything = async () => ({
      genesis: world.genesisHash,
      faucet: world.faucetAddress,
      balances: [await connection.getBalance(alice.publicKey), await connection.getBalance(bob)],
      supply: (await connection.getTokenSupply(chip)).value.amount,
      tokens: (await connection.getParsedTokenAccountsByOwner(alice.publicKey, { mint: chip })).value,
      listed: await connection.getSignaturesForAddress(alice.publicKey, {}, 'finalized'),
      transaction: await connection.getTransaction(signature, AT_FINALIZED),
    });
    const before = await everything();
    expect(before.supply).to.equal('7');
    expect(before.listed).to.have.length(3);
    await restart();
    expect(await everything()).to.deep.equal(before);
  });

  it('continues its slots, and blockhashes live as long as they would have', async () => {
    const alice = await fundedKeypair(world, 100n);
    world.advance(1000);
    const { blockhash } = await connection.getLatestBlockhash('processed');
    const slot = await connection.getSlot('processed');
    await restart();
    expect(await connection.getSlot('processed')).to.equal(slot + 1);
    world.advance(149);
    const pay = (extra: bigint) =>
      signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL + extra)], blockhash);
    await connection.sendRawTransaction(await pay(0n));
    await restart();
    const late = await connection.sendRawTransaction(await pay(1n), { skipPreflight: true });
    expect(await statusOf(connection, late)).to.equal(undefined);
  });

  it('lets slots pass while it is stopped if they follow the clock', async () => {
    const other = join(folder, 'other');
    const first = await createEmbeddedChain({ folder: other });
    const slot = await connectionTo(first).getSlot('processed');
    await first.stop();
    const store = openStore(join(other, 'chain.db'), () => undefined);
    store.keepMark({ slot: BigInt(slot), atMs: Date.now() - 400_000 });
    store.close();
    const second = await createEmbeddedChain({ folder: other });
    expect(await connectionTo(second).getSlot('processed')).to.be.at.least(slot + 1000);
    await second.stop();
  });

  it('keeps what is not final as such, and can take it back', async () => {
    const alice = await fundedKeypair(world, 100n);
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
    const signature = await connection.sendRawTransaction(wire);
    await restart();
    expect((await statusOf(connection, signature))?.confirmationStatus).to.equal('processed');
    expect(await connection.getBalance(bob, 'finalized')).to.equal(0);
    const { blockhash } = await connection.getLatestBlockhash('processed');
    world.fork({ slots: 2 });
    expect(await connection.getBalance(bob)).to.equal(0);
    await restart();
    expect((await connection.isBlockhashValid(blockhash, { commitment: 'processed' })).value).to.equal(false);
    expect(await connection.getBalance(bob)).to.equal(0);
    expect(await statusOf(connection, signature)).to.equal(undefined);
  });

  it('does not keep closed accounts', async () => {
    const alice = await fundedKeypair(world, 1n);
    const all = LAMPORTS_PER_SOL - 5000n;
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, all)]);
    await connection.sendRawTransaction(wire);
    world.finalize();
    await restart();
    expect(await connection.getAccountInfo(alice.publicKey)).to.equal(null);
  });

  it('keeps its files private', async () => {
    chmodSync(folder, 0o755);
    const inner = join(folder, 'inner');
    const chain = await createEmbeddedChain({ folder: inner });
    expect(statSync(inner).mode & 0o777).to.equal(0o700);
    for (const file of ['chain.db', 'chain.db-wal', 'tip']) {
      expect(statSync(join(inner, file)).mode & 0o777, file).to.equal(0o600);
    }
    await chain.stop();
  });

  it('is refused if another process runs it', () => {
    const open = () => openStore(join(folder, 'chain.db'), () => undefined, 10);
    expect(open).to.throw('Is another process running this chain?');
  });

  it('is refused in an unknown format', async () => {
    const other = join(folder, 'other');
    await (await createEmbeddedChain({ folder: other })).stop();
    const database = new DatabaseSync(join(other, 'chain.db'));
    database.exec('update identity set format = 2');
    database.close();
    const open = () => createEmbeddedChain({ folder: other });
    expect((await failureOf(open())).message).to.contain('unknown format 2');
    // The first attempt has let go of it.
    expect((await failureOf(open())).message).to.contain('unknown format 2');
  });

  it('holds a beginning of what was sent, complete and in order, wherever its file was cut off', async () => {
    const alice = await fundedKeypair(world, 100n);
    const signatures: string[] = [];
    for (let index = 0n; index < 12n; index += 1n) {
      const payment = transfer(alice.publicKey, bob, LAMPORTS_PER_SOL + index);
      signatures.push(await connection.sendRawTransaction(await signed(connection, [alice], [payment])));
    }
    const log = readFileSync(join(folder, 'chain.db-wal'));
    const found = new Set<number>();
    for (let cut = 0; cut <= 40; cut += 1) {
      const torn = mkdtempSync(join(folder, 'torn-'));
      copyFileSync(join(folder, 'chain.db'), join(torn, 'chain.db'));
      copyFileSync(join(folder, 'tip'), join(torn, 'tip'));
      const end = Math.floor((log.length * cut) / 40);
      const rest = Buffer.from(log.subarray(0, end));
      // Every other time the end is not missing, but has a wrong byte.
      const wrong = Math.max(0, end - 100);
      const damaged = Buffer.from(log);
      damaged.writeUInt8((damaged[wrong] ?? 0) ^ 0xff, wrong);
      writeFileSync(join(torn, 'chain.db-wal'), cut % 2 ? damaged : rest);

      const chain = await startChainWorld({ folder: torn });
      const client = connectionTo(chain);
      const { value } = await client.getSignatureStatuses(signatures, { searchTransactionHistory: true });
      const count = value.filter((status) => status !== null).length;
      expect(value.slice(0, count), `cut ${cut}`).to.not.include(null);
      const expected = Array.from({ length: count }, (_, index) => 1e9 + index).reduce(
        (sum, one) => sum + one,
        0,
      );
      expect(await client.getBalance(bob), `cut ${cut}`).to.equal(expected);
      chain.finalize();
      expect(await client.getSignaturesForAddress(bob, {}, 'confirmed')).to.have.length(count);
      found.add(count);
      await chain.stop();
    }
    expect(found.has(0) && found.has(12), 'the cuts cover all of it').to.equal(true);
  });
});
