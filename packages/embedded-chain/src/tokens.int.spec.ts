import { failureOf } from '@coffer/testing';
import {
  closeAccount,
  createAssociatedTokenAccountIdempotentInstruction,
  createMint,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
  getAccount,
  getAssociatedTokenAddressSync,
  getMint,
  mintTo,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
  transferChecked,
} from '@solana/spl-token';
import {
  AddressLookupTableProgram,
  type Connection,
  Keypair,
  type PublicKey,
  type TokenBalance,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { expect } from 'chai';
import type { ChainWorld } from './testing/chainWorld.ts';
import {
  closeSocket,
  fundedKeypair,
  LAMPORTS_PER_SOL,
  memo,
  signed,
  startWithAlice,
  transfer,
} from './testing/web3Client.ts';

const AT_CONFIRMED = { maxSupportedTransactionVersion: 0, commitment: 'confirmed' } as const;
const CHIP = Keypair.generate().publicKey;

describe('tokens on the embedded chain', () => {
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  before(async () => {
    ({ world, connection, alice } = await startWithAlice({
      mints: [{ address: CHIP.toBase58(), decimals: 6 }],
    }));
  });
  after(() => {
    closeSocket(connection);
    return world.stop();
  });

  const chipsOf = (owner: PublicKey) => getAssociatedTokenAddressSync(CHIP, owner);

  it('come from the faucet, in an account that it makes', async () => {
    await world.giveTokens(alice.publicKey.toBase58(), CHIP.toBase58(), 5_000_000n);
    await world.giveTokens(alice.publicKey.toBase58(), CHIP.toBase58(), 2_500_000n);
    const account = await getAccount(connection, chipsOf(alice.publicKey));
    expect(account.amount).to.equal(7_500_000n);
    const { value } = await connection.getTokenAccountBalance(chipsOf(alice.publicKey));
    expect(value).to.deep.equal({ amount: '7500000', decimals: 6, uiAmount: 7.5, uiAmountString: '7.5' });
    expect((await connection.getTokenSupply(CHIP)).value.amount).to.equal('7500000');
    const mint = await getMint(connection, CHIP);
    expect(mint.mintAuthority?.toBase58()).to.equal(world.faucetAddress);
    expect(mint.freezeAuthority).to.equal(null);
  });

  it('can be given twice as the same gift in one slot', async () => {
    const owner = Keypair.generate().publicKey;
    const give = () => world.call('requestTokenAirdrop', [owner.toBase58(), CHIP.toBase58(), '18446744']);
    expect(await give()).to.not.equal(await give());
    expect((await getAccount(connection, chipsOf(owner))).amount).to.equal(2n * 18_446_744n);
  });

  it('of a mint made on request are also given, and repeating the request changes nothing', async () => {
    const mint = Keypair.generate().publicKey;
    await world.call('ensureMint', [mint.toBase58(), 2]);
    await world.call('requestTokenAirdrop', [alice.publicKey.toBase58(), mint.toBase58(), '500']);
    await world.call('ensureMint', [mint.toBase58(), 2]);
    expect(await getMint(connection, mint)).to.include({ decimals: 2, supply: 500n });
    const failure = await failureOf(world.call('ensureMint', [mint.toBase58(), 256]));
    expect(failure.message).to.contain('-32602');
  });

  it('are refused if the amount is invalid, or the mint belongs to somebody else', async () => {
    const owner = alice.publicKey.toBase58();
    for (const amount of ['-1', '1.5', '1e3', '01', '18446744073709551616']) {
      const failure = await failureOf(world.call('requestTokenAirdrop', [owner, CHIP.toBase58(), amount]));
      expect(failure.message, amount).to.contain('-32602');
    }
    const unknown = Keypair.generate().publicKey.toBase58();
    const failure = await failureOf(world.call('requestTokenAirdrop', [owner, unknown, '1']));
    expect(failure.message).to.contain('cannot mint');
  });

  it('move to a new account, and the meta shows whose they were and are', async () => {
    const bob = Keypair.generate().publicKey;
    const wire = await signed(
      connection,
      [alice],
      [
        createAssociatedTokenAccountIdempotentInstruction(alice.publicKey, chipsOf(bob), bob, CHIP),
        createTransferCheckedInstruction(
          chipsOf(alice.publicKey),
          CHIP,
          chipsOf(bob),
          alice.publicKey,
          1_000_001n,
          6,
        ),
        memo('move 1'),
      ],
    );
    const signature = await connection.sendRawTransaction(wire);
    world.finalize();
    const meta = (await connection.getTransaction(signature, AT_CONFIRMED))?.meta;
    const chipsIn = (balances: readonly TokenBalance[] | null | undefined, owner: PublicKey) =>
      balances?.find((balance) => balance.owner === owner.toBase58() && balance.mint === CHIP.toBase58())
        ?.uiTokenAmount.amount;
    expect(chipsIn(meta?.preTokenBalances, bob)).to.equal(undefined);
    expect(chipsIn(meta?.postTokenBalances, bob)).to.equal('1000001');
    const before = BigInt(chipsIn(meta?.preTokenBalances, alice.publicKey) ?? 0);
    const after = BigInt(chipsIn(meta?.postTokenBalances, alice.publicKey) ?? 0);
    expect(before - after).to.equal(1_000_001n);
    // Creating the account calls other programs.
    expect(meta?.innerInstructions?.[0]?.instructions.length).to.be.greaterThan(2);
  });

  it('are found by owner, by mint and by program, until the account is closed', async () => {
    const bob = await fundedKeypair(world, 1n);
    const owner = bob.publicKey;
    await world.giveTokens(owner.toBase58(), CHIP.toBase58(), 3n);
    const byMint = await connection.getParsedTokenAccountsByOwner(owner, { mint: CHIP });
    expect(byMint.value.map(({ pubkey }) => pubkey.toBase58())).to.deep.equal([chipsOf(owner).toBase58()]);
    expect(byMint.value[0]?.account.data.parsed.info.tokenAmount.amount).to.equal('3');
    const count = async (programId: PublicKey) =>
      (await connection.getTokenAccountsByOwner(owner, { programId })).value.length;
    expect([await count(TOKEN_PROGRAM_ID), await count(TOKEN_2022_PROGRAM_ID)]).to.deep.equal([1, 0]);

    const back = createTransferCheckedInstruction(
      chipsOf(owner),
      CHIP,
      chipsOf(alice.publicKey),
      owner,
      3n,
      6,
    );
    await connection.sendRawTransaction(await signed(connection, [bob], [back]));
    const closing = closeAccount(connection, bob, chipsOf(owner), owner, bob, [], {
      commitment: 'processed',
    });
    await closing;
    expect(await count(TOKEN_PROGRAM_ID)).to.equal(0);
    expect(await connection.getAccountInfo(chipsOf(owner))).to.equal(null);
    expect(await connection.getAccountInfo(chipsOf(owner), 'finalized')).to.not.equal(null);
  });

  it('of the other token program work in the same way', async () => {
    const at = { commitment: 'processed' } as const;
    const mint = await createMint(
      ...([connection, alice, alice.publicKey, null, 9, undefined, at, TOKEN_2022_PROGRAM_ID] as const),
    );
    const bob = Keypair.generate().publicKey;
    const accountOf = (owner: PublicKey) =>
      getAssociatedTokenAddressSync(mint, owner, false, TOKEN_2022_PROGRAM_ID);
    const [from, bobs] = [accountOf(alice.publicKey), accountOf(bob)];
    const create = [alice.publicKey, bob].map((owner) =>
      createAssociatedTokenAccountIdempotentInstruction(
        ...([alice.publicKey, accountOf(owner), owner, mint, TOKEN_2022_PROGRAM_ID] as const),
      ),
    );
    await connection.sendRawTransaction(await signed(connection, [alice], create));
    await mintTo(connection, alice, mint, from, alice, 10n, [], at, TOKEN_2022_PROGRAM_ID);
    await transferChecked(connection, alice, from, mint, bobs, alice, 4n, 9, [], at, TOKEN_2022_PROGRAM_ID);
    expect((await connection.getAccountInfo(bobs))?.data.length).to.equal(170);
    const found = await connection.getParsedTokenAccountsByOwner(bob, { programId: TOKEN_2022_PROGRAM_ID });
    expect(found.value[0]?.account.data.parsed.info.tokenAmount.amount).to.equal('4');
  });

  it('may be wrapped lamports, of the mint that every cluster has', async () => {
    const owner = alice.publicKey;
    const account = getAssociatedTokenAddressSync(NATIVE_MINT, owner);
    const wrap = [
      createAssociatedTokenAccountIdempotentInstruction(owner, account, owner, NATIVE_MINT),
      transfer(owner, account, LAMPORTS_PER_SOL),
      createSyncNativeInstruction(account),
    ];
    await connection.sendRawTransaction(await signed(connection, [alice], wrap));
    const { amount, rentExemptReserve } = await getAccount(connection, account);
    expect([amount, rentExemptReserve]).to.deep.equal([LAMPORTS_PER_SOL, 2_039_280n]);
  });

  it('and lamports reach accounts that only a lookup table names', async () => {
    const bob = Keypair.generate().publicKey;
    const recentSlot = await connection.getSlot('finalized');
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      ...{ authority: alice.publicKey, payer: alice.publicKey, recentSlot },
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      ...{ payer: alice.publicKey, authority: alice.publicKey, lookupTable: table, addresses: [bob] },
    });
    await connection.sendRawTransaction(await signed(connection, [alice], [create, extend]));
    world.advance(1);
    const { value } = await connection.getAddressLookupTable(table);
    if (!value) throw new Error('the table is not there');
    const message = new TransactionMessage({
      payerKey: alice.publicKey,
      recentBlockhash: (await connection.getLatestBlockhash('processed')).blockhash,
      instructions: [transfer(alice.publicKey, bob, LAMPORTS_PER_SOL)],
    }).compileToV0Message([value]);
    expect(message.staticAccountKeys.some((key) => key.equals(bob))).to.equal(false);
    const transaction = new VersionedTransaction(message);
    transaction.sign([alice]);
    const signature = await connection.sendTransaction(transaction);
    world.finalize();

    expect(await connection.getBalance(bob)).to.equal(1e9);
    const listed = await connection.getSignaturesForAddress(bob, {}, 'finalized');
    expect(listed.map((found) => found.signature)).to.deep.equal([signature]);
    const found = await connection.getTransaction(signature, AT_CONFIRMED);
    expect(found?.meta?.loadedAddresses?.writable.map(String)).to.deep.equal([bob.toBase58()]);
    const failure = await failureOf(connection.getTransaction(signature, { commitment: 'confirmed' }));
    expect(failure.message).to.contain('Transaction version (0) is not supported');
  });
});
