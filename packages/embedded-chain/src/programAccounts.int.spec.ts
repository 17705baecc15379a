import { failureOf } from '@coffer/testing';
import {
  createApproveInstruction,
  createAssociatedTokenAccountInstruction,
  createTransferInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  type Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'chai';
import type { ChainWorld } from './testing/chainWorld.ts';
import { fundedKeypair, LAMPORTS_PER_SOL, signed, startWithAlice } from './testing/web3Client.ts';

const TOKEN_ACCOUNT_BYTES = 165;
/** Where a token account names its owner. */
const OWNER_AT = 32;
const PROCESSED = { commitment: 'processed' } as const;

describe('accounts of a program on the embedded chain', () => {
  const mint = Keypair.generate().publicKey;
  /** Lower than an address made at random. The first has one byte of zero more and is the longer text. */
  const [lowest, nextLowest] = [
    [0, 0, 0, 0, 255],
    [0, 0, 0, 1],
  ].map((first) => new PublicKey(Buffer.concat([Buffer.from(first)], 32)).toBase58());
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  let bob: Keypair;
  before(async () => {
    ({ world, connection, alice } = await startWithAlice({
      mints: [mint.toBase58(), nextLowest, lowest].map((address = '') => ({ address, decimals: 6 })),
    }));
    bob = await fundedKeypair(world, 100n);
    await world.giveTokens(alice.publicKey.toBase58(), mint.toBase58(), 5_000_000n);
    await world.giveTokens(bob.publicKey.toBase58(), mint.toBase58(), 7_000_000n);
  });
  after(() => world.stop());

  const accountOf = (owner: Keypair) => getAssociatedTokenAddressSync(mint, owner.publicKey);
  const send = async (payer: Keypair, ...instructions: readonly TransactionInstruction[]) =>
    connection.sendRawTransaction(await signed(connection, [payer], instructions));
  const addresses = (found: readonly { readonly pubkey: PublicKey }[]) =>
    found.map(({ pubkey }) => pubkey.toBase58());
  const ofOwner = (owner: Keypair) => [
    { dataSize: TOKEN_ACCOUNT_BYTES },
    { memcmp: { offset: OWNER_AT, bytes: owner.publicKey.toBase58() } },
  ];

  it('are found by their bytes', async () => {
    const found = await connection.getProgramAccounts(TOKEN_PROGRAM_ID, { filters: ofOwner(alice) });
    expect(addresses(found)).to.deep.equal([accountOf(alice).toBase58()]);
    expect(found[0]?.account.data).to.have.length(TOKEN_ACCOUNT_BYTES);
    const bytes = Buffer.from(bob.publicKey.toBytes()).toString('base64');
    const inBase64 = { memcmp: { offset: OWNER_AT, bytes, encoding: 'base64' as const } };
    const ofBob = await connection.getProgramAccounts(TOKEN_PROGRAM_ID, { filters: [inBase64] });
    expect(addresses(ofBob)).to.deep.equal([accountOf(bob).toBase58()]);
    const beyond = [{ memcmp: { offset: TOKEN_ACCOUNT_BYTES, bytes: '2' } }];
    expect(await connection.getProgramAccounts(TOKEN_PROGRAM_ID, { filters: beyond })).to.deep.equal([]);
  });

  it('are all found without a filter, in the order of their addresses', async () => {
    const found = addresses(await connection.getProgramAccounts(TOKEN_PROGRAM_ID));
    expect(found).to.include.members([mint, accountOf(alice), accountOf(bob)].map(String));
    const bytes = (address: string) => Buffer.from(new PublicKey(address).toBytes());
    expect(found.slice(0, 2)).to.deep.equal([lowest, nextLowest]);
    expect(found).to.deep.equal([...found].sort((one, other) => Buffer.compare(bytes(one), bytes(other))));
  });

  it('show a slice, the parsed form, and the slot', async () => {
    const filters = ofOwner(alice);
    const dataSlice = { offset: OWNER_AT, length: 32 };
    const [sliced] = await connection.getProgramAccounts(TOKEN_PROGRAM_ID, { filters, dataSlice });
    expect(new PublicKey(sliced?.account.data ?? []).toBase58()).to.equal(alice.publicKey.toBase58());
    const [parsed] = await connection.getParsedProgramAccounts(TOKEN_PROGRAM_ID, { filters });
    expect(parsed?.account.data).to.have.nested.property('parsed.info.tokenAmount.uiAmount', 5);
    const settings = { filters, withContext: true } as const;
    const { context, value } = await connection.getProgramAccounts(TOKEN_PROGRAM_ID, settings);
    expect(context.slot).to.equal(await connection.getSlot());
    expect(addresses(value)).to.deep.equal([accountOf(alice).toBase58()]);
  });

  it('are shown as they were in the slot of the commitment', async () => {
    const owner = await fundedKeypair(world);
    const size = 77;
    const account = Keypair.generate();
    const make = SystemProgram.createAccount({
      fromPubkey: owner.publicKey,
      newAccountPubkey: account.publicKey,
      lamports: Number(LAMPORTS_PER_SOL),
      space: size,
      programId: TOKEN_PROGRAM_ID,
    });
    await connection.sendRawTransaction(await signed(connection, [owner, account], [make]));
    const found = async (commitment: 'processed' | 'finalized') =>
      addresses(
        await connection.getProgramAccounts(TOKEN_PROGRAM_ID, { commitment, filters: [{ dataSize: size }] }),
      );
    expect([await found('processed'), await found('finalized')]).to.deep.equal([
      [account.publicKey.toBase58()],
      [],
    ]);
    world.fork({ slots: 1 });
    expect(await found('processed')).to.deep.equal([]);
  });

  it('are refused if the question is wrong', async () => {
    const ask = (settings: object) =>
      failureOf(world.call('getProgramAccounts', [TOKEN_PROGRAM_ID.toBase58(), settings]));
    const size = { dataSize: 1 };
    const refused: readonly (readonly [object, string])[] = [
      [{ filters: [size, size, size, size, size] }, 'Too many filters provided; max 4'],
      [{ filters: [{ memcmp: { offset: 0, bytes: '0OIl' } }] }, 'Invalid param'],
      [{ filters: [{ memcmp: { offset: 0, bytes: '2'.repeat(176) } }] }, 'DataTooLarge'],
      [{ filters: [{ memcmp: { offset: 0, bytes: 'A'.repeat(172), encoding: 'base64' } }] }, 'DataTooLarge'],
      [{ filters: [{ memcmp: { offset: -1, bytes: '2' } }] }, 'Invalid params'],
      [{ filters: [{ dataLength: 1 }] }, 'Invalid params'],
      [{ encoding: 'base16' }, 'Invalid params'],
    ];
    for (const [settings, message] of refused) {
      expect((await ask(settings)).message)
        .to.contain('-32602')
        .and.to.contain(message);
    }
    expect((await ask({ encoding: 'base58' })).message)
      .to.contain('-32600')
      .and.to.contain('base 58');
  });

  it('are refused if they are more than one answer holds, unless a slice is asked for', async () => {
    const programId = Keypair.generate().publicKey;
    const space = 10 * 1024 * 1024;
    const owner = await fundedKeypair(world, 1000n);
    for (let count = 0; count < 7; count += 1) {
      const account = Keypair.generate();
      const make = SystemProgram.createAccount({
        ...{ fromPubkey: owner.publicKey, newAccountPubkey: account.publicKey, space, programId },
        lamports: await connection.getMinimumBalanceForRentExemption(space),
      });
      await connection.sendRawTransaction(await signed(connection, [owner, account], [make]));
    }
    const ask = (settings: object) =>
      world.call('getProgramAccounts', [programId.toBase58(), { ...PROCESSED, ...settings }]);
    const failure = await failureOf(ask({ encoding: 'base64' }));
    expect(failure.message).to.contain('-32012').and.to.contain('exceeded the limit');
    expect(await ask({ encoding: 'base64', dataSlice: { offset: 0, length: 1 } })).to.have.length(7);
  });

  it('of tokens are found by their mint, largest first', async () => {
    const { value } = await connection.getTokenLargestAccounts(mint, 'finalized');
    expect(value.map(({ address, amount }) => [address.toBase58(), amount])).to.deep.equal([
      [accountOf(bob).toBase58(), '7000000'],
      [accountOf(alice).toBase58(), '5000000'],
    ]);
    expect(value[0]).to.include({ decimals: 6, uiAmount: 7, uiAmountString: '7' });
    const carol = await fundedKeypair(world);
    await send(
      alice,
      createAssociatedTokenAccountInstruction(alice.publicKey, accountOf(carol), carol.publicKey, mint),
      createTransferInstruction(accountOf(alice), accountOf(carol), alice.publicKey, 4_000_000),
    );
    const now = await connection.getTokenLargestAccounts(mint, 'processed');
    expect(now.value.map(({ uiAmount }) => uiAmount)).to.deep.equal([7, 4, 1]);
    const before = await connection.getTokenLargestAccounts(mint, 'finalized');
    expect(before.value.map(({ uiAmount }) => uiAmount)).to.deep.equal([7, 5]);
    const noMint = failureOf(connection.getTokenLargestAccounts(alice.publicKey));
    expect((await noMint).message).to.contain('Invalid param: not a Token mint');
  });

  it('of tokens are found by their delegate', async () => {
    const delegate = Keypair.generate().publicKey;
    const find = async (filter: object) =>
      world
        .call('getTokenAccountsByDelegate', [
          delegate.toBase58(),
          filter,
          { encoding: 'jsonParsed', ...PROCESSED },
        ])
        .then((answer) => Reflect.get(Object(answer), 'value'));
    await send(bob, createApproveInstruction(accountOf(bob), delegate, bob.publicKey, 1_000_000));
    for (const filter of [{ mint: mint.toBase58() }, { programId: TOKEN_PROGRAM_ID.toBase58() }]) {
      const [found, ...others] = await find(filter);
      expect(others).to.deep.equal([]);
      expect(found.pubkey).to.equal(accountOf(bob).toBase58());
      expect(found.account.data.parsed.info).to.deep.include({ delegate: delegate.toBase58() });
    }
    expect(await find({ programId: TOKEN_2022_PROGRAM_ID.toBase58() })).to.deep.equal([]);
    const unknown = find({ programId: SystemProgram.programId.toBase58() });
    expect((await failureOf(unknown)).message).to.contain('unrecognized Token program id');
  });

  it('add up to the supply, of which the faucet holds what does not circulate', async () => {
    const supply = async (settings: object) => {
      const answer = await world.call('getSupply', [{ ...PROCESSED, ...settings }]);
      const { total, circulating, nonCirculating } = Reflect.get(Object(answer), 'value');
      return {
        total: BigInt(total),
        circulating: BigInt(circulating),
        nonCirculating: BigInt(nonCirculating),
      };
    };
    const before = await supply({});
    expect(before.total).to.equal(before.circulating + before.nonCirculating);
    const gift = LAMPORTS_PER_SOL * 1_000_000n;
    await world.call('requestAirdrop', [alice.publicKey.toBase58(), gift]);
    const after = await supply({});
    expect(before.total - after.total).to.equal(5000n);
    expect(after.circulating - before.circulating).to.equal(gift);
    const accounts = async (excludeNonCirculatingAccountsList: boolean) =>
      (await connection.getSupply({ excludeNonCirculatingAccountsList })).value.nonCirculatingAccounts;
    expect((await accounts(false)).map(String)).to.deep.equal([world.faucetAddress]);
    expect(await accounts(true)).to.deep.equal([]);
    // As it was before their fees were burnt.
    expect((await supply({ commitment: 'finalized' })).total > before.total).to.equal(true);
  });
});
