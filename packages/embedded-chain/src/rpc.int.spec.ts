import { zstdDecompressSync } from 'node:zlib';
import { encodeBase58 } from '@coffer/kernel';
import { failureOf } from '@coffer/testing';
import {
  ComputeBudgetProgram,
  type Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'chai';
import { type ChainWorld, startChainWorld } from './testing/chainWorld.ts';
import {
  closeSocket,
  connectionTo,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  memo,
  signed,
  statusOf,
  transfer,
} from './testing/web3Client.ts';

const AT_CONFIRMED = { maxSupportedTransactionVersion: 0, commitment: 'confirmed' } as const;

const newAddress = () => Keypair.generate().publicKey;

describe('the RPC of the embedded chain', () => {
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  before(async () => {
    world = await startChainWorld();
    connection = connectionTo(world);
    alice = await fundedKeypair(world, 1000n);
  });
  after(() => {
    closeSocket(connection);
    return world.stop();
  });

  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(world.url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

  describe('moves lamports', () => {
    it('and tells the fee, the balances and the memo', async () => {
      const bob = newAddress();
      const wire = await signed(
        connection,
        [alice],
        [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL), memo('gg')],
      );
      const before = await connection.getBalance(alice.publicKey);
      const signature = await connection.sendRawTransaction(wire);
      world.finalize();

      const found = await connection.getTransaction(signature, AT_CONFIRMED);
      expect(found?.meta?.err).to.equal(null);
      expect(found?.meta?.fee).to.equal(5000);
      expect(found?.meta?.preBalances.slice(0, 2)).to.deep.equal([before, 0]);
      expect(found?.meta?.postBalances.slice(0, 2)).to.deep.equal([before - 1e9 - 5000, 1e9]);
      expect(await connection.getBalance(bob)).to.equal(1e9);
      const [listed] = await connection.getSignaturesForAddress(bob, {}, 'finalized');
      expect(listed).to.include({ signature, memo: '[2] gg', err: null, confirmationStatus: 'finalized' });
    });

    it('and shows the parsed form of the same transaction', async () => {
      const bob = newAddress();
      const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
      const signature = await connection.sendRawTransaction(wire);
      world.finalize();
      const found = await connection.getParsedTransaction(signature, AT_CONFIRMED);
      const [payer, to] = found?.transaction.message.accountKeys ?? [];
      expect(payer).to.include({ signer: true, writable: true, source: 'transaction' });
      expect(to?.pubkey.toBase58()).to.equal(bob.toBase58());
    });

    it('to a fee that covers the offered priority', async () => {
      const wire = await signed(
        connection,
        [alice],
        [
          ComputeBudgetProgram.setComputeUnitLimit({ units: 1001 }),
          ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_500_000 }),
          transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL),
        ],
      );
      const before = await connection.getBalance(alice.publicKey);
      const signature = await connection.sendRawTransaction(wire);
      world.finalize();
      const found = await connection.getTransaction(signature, AT_CONFIRMED);
      // 1001 units at 1.5 lamports, rounded up.
      expect(found?.meta?.fee).to.equal(5000 + 1502);
      expect(await connection.getBalance(alice.publicKey)).to.equal(before - 1e9 - 6502);
      const fees = await connection.getRecentPrioritizationFees({
        lockedWritableAccounts: [alice.publicKey],
      });
      expect(fees.map(({ prioritizationFee }) => prioritizationFee)).to.include(1_500_000);
    });
  });

  describe('refuses', () => {
    it('with a preflight what would fail, and charges nothing', async () => {
      const poor = await fundedKeypair(world, 1n);
      const wire = await signed(
        connection,
        [poor],
        [transfer(poor.publicKey, newAddress(), 5n * LAMPORTS_PER_SOL)],
      );
      const failure = await failureOf(connection.sendRawTransaction(wire));
      expect(failure.message).to.contain('custom program error: 0x1');
      expect(await connection.getBalance(poor.publicKey)).to.equal(1e9);
    });

    it('nothing without a preflight: what fails then is in a block and has paid its fee', async () => {
      const poor = await fundedKeypair(world, 1n);
      const wire = await signed(
        connection,
        [poor],
        [transfer(poor.publicKey, newAddress(), 5n * LAMPORTS_PER_SOL)],
      );
      const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
      expect(await connection.getBalance(poor.publicKey)).to.equal(1e9 - 5000);
      expect((await statusOf(connection, signature))?.err).to.deep.equal({
        InstructionError: [0, { Custom: 1 }],
      });
    });

    it('a payment that leaves a new account below its rent', async () => {
      const wire = await signed(connection, [alice], [transfer(alice.publicKey, newAddress(), 890_879n)]);
      const failure = await failureOf(connection.sendRawTransaction(wire));
      expect(failure.message).to.contain('insufficient funds for rent');
    });

    it('a signature of something else', async () => {
      const wire = await signed(
        connection,
        [alice],
        [transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL)],
      );
      wire[5] = (wire[5] ?? 0) ^ 1;
      const failure = await failureOf(connection.sendRawTransaction(wire));
      expect(failure.message).to.contain('signature verification failure');
      const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
      expect(await statusOf(connection, signature)).to.equal(undefined);
    });

    it('the same bytes again, but accepts them silently without a preflight', async () => {
      const bob = newAddress();
      const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
      const signature = await connection.sendRawTransaction(wire);
      const failure = await failureOf(connection.sendRawTransaction(wire));
      expect(failure.message).to.contain('already been processed');
      expect(await connection.sendRawTransaction(wire, { skipPreflight: true })).to.equal(signature);
      expect(await connection.getBalance(bob)).to.equal(1e9);
    });

    it('a blockhash that the block of the preflight does not know yet', async () => {
      world.advance(1);
      const wire = await signed(
        connection,
        [alice],
        [transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL)],
      );
      const options = { preflightCommitment: 'finalized' } as const;
      const failure = await failureOf(connection.sendRawTransaction(wire, options));
      expect(failure.message).to.contain('Blockhash not found');
      await connection.sendRawTransaction(wire, { preflightCommitment: 'processed' });
    });

    const refused: readonly [string, string, number][] = [
      ['what is not JSON', '{', -32700],
      ['what is not a request', '{"jsonrpc":"2.0","id":1}', -32600],
      ['an empty batch', '[]', -32600],
      ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"getEverything"}', -32601],
      ['a method that every object has', '{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601],
      ['what is not an address', '{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["0OIl"]}', -32602],
      [
        'what is not a transaction',
        '{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":["2"]}',
        -32602,
      ],
      [
        'a context that has not been reached',
        '{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"minContextSlot":900000000}]}',
        -32016,
      ],
    ];
    for (const [what, body, code] of refused) {
      it(what, async () => {
        const answer: unknown = await (await post(body)).json();
        expect(answer).to.have.nested.property('error.code', code);
      });
    }

    it('a body that is too large', async () => {
      expect((await post(' '.repeat(600_000))).status).to.equal(413);
    });
  });

  it('answers a batch in its order', async () => {
    const call = (id: number, method: string) => ({ jsonrpc: '2.0', id, method });
    const answers: unknown = await (
      await post(JSON.stringify([call(7, 'getHealth'), call(8, 'nothing')]))
    ).json();
    expect(answers).to.deep.equal([
      { jsonrpc: '2.0', result: 'ok', id: 7 },
      { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: 8 },
    ]);
  });

  it('admits pages from this machine, and no others', async () => {
    const health = '{"jsonrpc":"2.0","id":1,"method":"getHealth"}';
    const allowed = async (origin: string) =>
      (await post(health, { origin })).headers.get('access-control-allow-origin');
    expect(await allowed('http://localhost:3000')).to.equal('http://localhost:3000');
    expect(await allowed('http://localhost.example')).to.equal(null);
  });

  it('writes every u64 to the last digit', async () => {
    const text = await (
      await post(
        JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'getAccountInfo' },
          params: [alice.publicKey.toBase58(), { encoding: 'base64' }],
        }),
      )
    ).text();
    expect(text).to.contain('"rentEpoch":18446744073709551615');
  });

  it('shows accounts, many or none, in the encodings asked for', async () => {
    const nobody = newAddress();
    const [mine, none] = await connection.getMultipleAccountsInfo([alice.publicKey, nobody]);
    expect(mine?.owner.toBase58()).to.equal(SystemProgram.programId.toBase58());
    expect(none).to.equal(null);
    const program = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
    expect(await connection.getAccountInfo(program)).to.include({ executable: true });
    const slice = await connection.getAccountInfo(program, { dataSlice: { offset: 0, length: 4 } });
    expect(slice?.data.length).to.equal(4);
  });

  it('answers what never changes', async () => {
    expect(await connection.getGenesisHash()).to.equal(world.genesisHash);
    expect(await connection.getMinimumBalanceForRentExemption(0)).to.equal(890_880);
    expect(await connection.getMinimumBalanceForRentExemption(165)).to.equal(2_039_280);
    expect(await connection.getVersion()).to.have.property('solana-core');
    const { absoluteSlot, blockHeight } = await connection.getEpochInfo();
    expect(absoluteSlot).to.be.greaterThan(blockHeight ?? 0);
  });

  it('answers the fee of a message before it is sent, while its blockhash lives', async () => {
    const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash('processed');
    const transaction = new Transaction({ feePayer: alice.publicKey, blockhash, lastValidBlockHeight });
    transaction.add(transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL));
    const fee = async () => (await connection.getFeeForMessage(transaction.compileMessage())).value;
    expect(await fee()).to.equal(5000);
    world.advance(151);
    expect(await fee()).to.equal(null);
  });

  it('also accepts transactions in base58, and shows accounts compressed', async () => {
    const bob = newAddress();
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
    const options = { encoding: 'base58', preflightCommitment: 'processed' };
    const signature = await world.call('sendTransaction', [encodeBase58(wire), options]);
    expect(await statusOf(connection, String(signature))).to.include({ err: null });
    const mint = 'So11111111111111111111111111111111111111112';
    const dataOf = async (encoding: string) => {
      const answer = await world.call('getAccountInfo', [mint, { encoding }]);
      const account = typeof answer === 'object' && answer && 'value' in answer ? answer.value : undefined;
      const data: unknown = typeof account === 'object' && account && 'data' in account ? account.data : [];
      return Array.isArray(data) ? Buffer.from(String(data[0]), 'base64') : Buffer.alloc(0);
    };
    const plain = await dataOf('base64');
    expect(plain.length).to.equal(82);
    expect(zstdDecompressSync(await dataOf('base64+zstd'))).to.deep.equal(plain);
  });

  it('simulates: shows what would happen, and changes nothing', async () => {
    const bob = newAddress();
    const wire = await signed(
      connection,
      [alice],
      [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)],
      newAddress().toBase58(),
    );
    const { value } = await connection.simulateTransaction(VersionedTransaction.deserialize(wire), {
      ...{ sigVerify: false, replaceRecentBlockhash: true, innerInstructions: true },
      accounts: { encoding: 'base64', addresses: [bob.toBase58()] },
    });
    expect(value.err).to.equal(null);
    expect(value.accounts?.[0]?.lamports).to.equal(1e9);
    expect(value.unitsConsumed).to.equal(150);
    expect(await connection.getBalance(bob)).to.equal(0);

    const unknownHash = await connection.simulateTransaction(VersionedTransaction.deserialize(wire));
    expect(unknownHash.value.err).to.equal('BlockhashNotFound');
  });

  it('pages through what names an address, newest first', async () => {
    const bob = newAddress();
    const signatures: string[] = [];
    for (const lamports of [900_000n, 900_001n, 900_002n, 900_003n]) {
      const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, lamports)]);
      signatures.unshift(await connection.sendRawTransaction(wire));
    }
    const page = async (options: {
      limit?: number;
      before?: string | undefined;
      until?: string | undefined;
    }) => {
      const { limit = 10, before, until } = options;
      const found = await connection.getSignaturesForAddress(
        bob,
        { limit, ...(before && { before }), ...(until && { until }) },
        'confirmed',
      );
      return found.map(({ signature }) => signature);
    };
    expect(await page({})).to.deep.equal([]);
    world.advance(2);
    expect(await page({})).to.deep.equal(signatures);
    expect(await page({ limit: 2 })).to.deep.equal(signatures.slice(0, 2));
    expect(await page({ before: signatures[1] })).to.deep.equal(signatures.slice(2));
    expect(await page({ until: signatures[2] })).to.deep.equal(signatures.slice(0, 2));
  });

  it('forgets statuses that are old, unless its history is searched', async () => {
    const wire = await signed(
      connection,
      [alice],
      [transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL)],
    );
    const signature = await connection.sendRawTransaction(wire);
    world.advance(301);
    expect((await connection.getSignatureStatuses([signature])).value).to.deep.equal([null]);
    expect(await statusOf(connection, signature)).to.include({ confirmationStatus: 'finalized', err: null });
  });

  it('notifies subscribers, so that a client can wait for its transaction', async () => {
    const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash('processed');
    const wire = await signed(
      connection,
      [alice],
      [transfer(alice.publicKey, newAddress(), LAMPORTS_PER_SOL)],
      blockhash,
    );
    const signature = await connection.sendRawTransaction(wire);
    const confirmed = connection.confirmTransaction(
      { signature, blockhash, lastValidBlockHeight },
      'confirmed',
    );
    world.advance(2);
    expect((await confirmed).value.err).to.equal(null);
  });

  it('notifies subscribers of accounts and slots of what is new', async () => {
    const bob = newAddress();
    const account = Promise.withResolvers<number>();
    const slot = Promise.withResolvers<number>();
    const start = await connection.getSlot('processed');
    const ids = [
      connection.onAccountChange(bob, ({ lamports }) => account.resolve(lamports), {
        commitment: 'confirmed',
      }),
      connection.onSlotChange((change) => slot.resolve(change.slot)),
    ] as const;
    const wire = await signed(connection, [alice], [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)]);
    await connection.sendRawTransaction(wire);
    // Both subscriptions are active: slots pass until both have been notified.
    const told = Promise.all([account.promise, slot.promise]);
    let isTold = false;
    void told.then(() => {
      isTold = true;
    });
    while (!isTold) {
      world.advance(1);
      await connection.getSlot();
    }
    const [lamports, newest] = await told;
    expect(newest).to.be.greaterThan(start);
    expect(lamports).to.equal(1e9);
    await connection.removeAccountChangeListener(ids[0]);
    await connection.removeSlotChangeListener(ids[1]);
  });
});
