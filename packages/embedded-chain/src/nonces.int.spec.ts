import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureOf } from '@coffer/testing';
import {
  type Connection,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  NonceAccount,
  SystemProgram,
  type TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'chai';
import { type ChainWorld, startChainWorld } from './testing/chainWorld.ts';
import {
  connectionTo,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  signed,
  startWithAlice,
  statusOf,
  transfer,
} from './testing/web3Client.ts';

describe('durable nonces of the embedded chain', () => {
  let folder: string;
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  let nonce: Keypair;
  const bob = Keypair.generate().publicKey;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-chain-'));
    ({ world, connection, alice } = await startWithAlice({ folder }));
    nonce = Keypair.generate();
    const create = SystemProgram.createNonceAccount({
      fromPubkey: alice.publicKey,
      noncePubkey: nonce.publicKey,
      authorizedPubkey: alice.publicKey,
      lamports: 1_447_680,
    });
    const wire = await signed(connection, [alice, nonce], create.instructions);
    await connection.sendRawTransaction(wire);
    world.finalize();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  const valueNow = async () => {
    const found = await connection.getNonce(nonce.publicKey, 'processed');
    if (!found) throw new Error('there is no nonce account');
    return found.nonce;
  };
  const advance = (authority = alice) =>
    SystemProgram.nonceAdvance({ noncePubkey: nonce.publicKey, authorizedPubkey: authority.publicKey });
  const withNonce = async (instructions: readonly TransactionInstruction[], value?: string) =>
    signed(connection, [alice], [advance(), ...instructions], value ?? (await valueNow()));
  const pay = (lamports = LAMPORTS_PER_SOL) => transfer(alice.publicKey, bob, lamports);

  it('stand in for a recent blockhash at any time, and once', async () => {
    const value = await valueNow();
    const wire = await withNonce([pay()]);
    world.advance(1000);
    const signature = await connection.sendRawTransaction(wire);
    expect((await statusOf(connection, signature))?.err).to.equal(null);
    expect(await connection.getBalance(bob)).to.equal(1e9);
    expect(await valueNow()).not.to.equal(value);

    const replay = await failureOf(connection.sendRawTransaction(wire));
    expect(replay.message).to.contain('Blockhash not found');
    world.advance(1);
    const other = await withNonce([pay(2n * LAMPORTS_PER_SOL)], value);
    expect((await failureOf(connection.sendRawTransaction(other))).message).to.contain('Blockhash not found');
    await connection.sendRawTransaction(other, { skipPreflight: true });
    expect(await connection.getBalance(bob)).to.equal(1e9);
  });

  it('differ for every slot in which they are advanced', async () => {
    const values = [await valueNow()];
    for (let round = 0; round < 3; round += 1) {
      world.advance(1);
      await connection.sendRawTransaction(await withNonce([]));
      values.push(await valueNow());
    }
    expect(new Set(values).size).to.equal(4);
  });

  it('advance even if the transaction fails, which pays its fee', async () => {
    const value = await valueNow();
    const before = await connection.getBalance(alice.publicKey);
    const wire = await withNonce([pay(1000n * LAMPORTS_PER_SOL)]);
    const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
    expect((await statusOf(connection, signature))?.err).to.deep.equal({
      InstructionError: [1, { Custom: 1 }],
    });
    expect(await connection.getBalance(alice.publicKey)).to.equal(before - 5000);
    const account = await connection.getAccountInfo(nonce.publicKey, 'processed');
    expect(NonceAccount.fromAccountData(account?.data ?? []).nonce).not.to.equal(value);
    await connection.sendRawTransaction(wire, { skipPreflight: true });
    expect(await connection.getBalance(alice.publicKey)).to.equal(before - 5000);
  });

  it('wait for the next slot after the one in which they were advanced', async () => {
    await connection.sendRawTransaction(await withNonce([pay()]));
    const signature = await connection.sendRawTransaction(await withNonce([pay()]));
    expect(await statusOf(connection, signature)).to.equal(undefined);
    world.advance(1);
    expect((await statusOf(connection, signature))?.err).to.equal(null);
    expect(await connection.getBalance(bob)).to.equal(2e9);
  });

  it('are refused if somebody other than their authority signs', async () => {
    const mallory = await fundedKeypair(world);
    const value = await valueNow();
    const wire = await signed(connection, [mallory], [advance(mallory)], value);
    expect((await failureOf(connection.sendRawTransaction(wire))).message).to.contain('Blockhash not found');
    expect(await valueNow()).to.equal(value);
  });

  it('go back with a fork, and survive a restart', async () => {
    const value = await valueNow();
    await connection.sendRawTransaction(await withNonce([pay()]));
    world.fork({ slots: 1 });
    expect(await valueNow()).to.equal(value);
    await connection.sendRawTransaction(await withNonce([pay()]));
    const next = await valueNow();
    await world.stop();
    world = await startChainWorld({ folder });
    connection = connectionTo(world);
    expect(await valueNow()).to.equal(next);
    const wire = await withNonce([pay()]);
    await connection.sendRawTransaction(wire);
    expect(await connection.getBalance(bob)).to.equal(2e9);
  });

  it('have a fee, are not recent blockhashes, and are shown parsed', async () => {
    const value = await valueNow();
    world.finalize();
    expect((await connection.isBlockhashValid(value)).value).to.equal(false);
    const { value: shown } = await connection.getParsedAccountInfo(nonce.publicKey);
    expect(shown?.data).to.deep.equal({
      program: 'nonce',
      space: NONCE_ACCOUNT_LENGTH,
      parsed: {
        type: 'initialized',
        info: {
          authority: alice.publicKey.toBase58(),
          blockhash: value,
          feeCalculator: { lamportsPerSignature: '5000' },
        },
      },
    });
  });
});
