import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import {
  type Connection,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'chai';
import type { ChainWorld } from './testing/chainWorld.ts';
import { MEMO_PROGRAM, signed, startWithAlice, statusOf } from './testing/web3Client.ts';

const OLD_MEMO_PROGRAM = new PublicKey('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo');

describe('parsed instructions of the embedded chain', () => {
  const mint = Keypair.generate().publicKey;
  let world: ChainWorld;
  let connection: Connection;
  let alice: Keypair;
  before(async () => {
    ({ world, connection, alice } = await startWithAlice({
      mints: [{ address: mint.toBase58(), decimals: 6 }],
    }));
    await world.giveTokens(alice.publicKey.toBase58(), mint.toBase58(), 5_000_000n);
  });
  after(() => world.stop());

  /** As web3.js reads them, which checks them against its own schema. */
  const parsed = async (instructions: readonly TransactionInstruction[], ...others: readonly Keypair[]) => {
    const wire = await signed(connection, [alice, ...others], instructions);
    const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
    expect((await statusOf(connection, signature))?.err).to.equal(null);
    world.finalize();
    const found = await connection.getParsedTransaction(signature, {
      commitment: 'finalized',
      maxSupportedTransactionVersion: 0,
    });
    return {
      shown: found?.transaction.message.instructions ?? [],
      inner: found?.meta?.innerInstructions ?? [],
    };
  };
  const alices = () => alice.publicKey.toBase58();

  it('name a transfer of lamports', async () => {
    const to = Keypair.generate().publicKey;
    const pay = SystemProgram.transfer({ fromPubkey: alice.publicKey, toPubkey: to, lamports: 1_000_000 });
    const { shown } = await parsed([pay]);
    expect(shown[0]).to.deep.include({
      program: 'system',
      parsed: {
        type: 'transfer',
        info: { source: alices(), destination: to.toBase58(), lamports: 1_000_000 },
      },
    });
  });

  it('name everything else that the system program does', async () => {
    const fromPubkey = alice.publicKey;
    const account = Keypair.generate();
    const programId = SystemProgram.programId;
    const seeded = await PublicKey.createWithSeed(fromPubkey, 'chips', programId);
    const lamports = 5_000_000;
    const { shown } = await parsed(
      [
        SystemProgram.createAccount({
          fromPubkey,
          newAccountPubkey: account.publicKey,
          lamports,
          space: NONCE_ACCOUNT_LENGTH,
          programId,
        }),
        SystemProgram.nonceInitialize({ noncePubkey: account.publicKey, authorizedPubkey: fromPubkey }),
        SystemProgram.nonceAuthorize({
          noncePubkey: account.publicKey,
          authorizedPubkey: fromPubkey,
          newAuthorizedPubkey: fromPubkey,
        }),
        SystemProgram.nonceWithdraw({
          noncePubkey: account.publicKey,
          authorizedPubkey: fromPubkey,
          toPubkey: fromPubkey,
          lamports: 1,
        }),
        SystemProgram.createAccountWithSeed({
          fromPubkey,
          newAccountPubkey: seeded,
          basePubkey: fromPubkey,
          seed: 'chips',
          lamports,
          space: 0,
          programId,
        }),
        SystemProgram.transfer({
          fromPubkey: seeded,
          basePubkey: fromPubkey,
          toPubkey: fromPubkey,
          lamports: 1,
          seed: 'chips',
          programId,
        }),
        SystemProgram.allocate({
          accountPubkey: seeded,
          basePubkey: fromPubkey,
          seed: 'chips',
          space: 8,
          programId,
        }),
        SystemProgram.assign({ accountPubkey: fromPubkey, programId }),
      ],
      account,
    );
    const types = shown.map((one) => ('parsed' in one ? one.parsed.type : undefined));
    expect(types).to.deep.equal([
      ...['createAccount', 'initializeNonce', 'authorizeNonce', 'withdrawFromNonce', 'createAccountWithSeed'],
      ...['transferWithSeed', 'allocateWithSeed', 'assign'],
    ]);
    expect(shown[4])
      .to.have.nested.property('parsed.info')
      .that.deep.equals({
        ...{
          source: alices(),
          newAccount: seeded.toBase58(),
          base: alices(),
          seed: 'chips',
          lamports,
          space: 0,
        },
        owner: programId.toBase58(),
      });
    expect(shown[2]).to.have.nested.property('parsed.info').that.deep.equals({
      nonceAccount: account.publicKey.toBase58(),
      nonceAuthority: alices(),
      newAuthorized: alices(),
    });
    expect(shown[5])
      .to.have.nested.property('parsed.info')
      .that.deep.equals({
        ...{ source: seeded.toBase58(), sourceBase: alices(), destination: alices(), lamports: 1 },
        ...{ sourceSeed: 'chips', sourceOwner: programId.toBase58() },
      });
    expect(shown[6]).to.have.nested.property('parsed.info.space', 8);
  });

  it('name tokens that move, even within another instruction', async () => {
    const bob = Keypair.generate().publicKey;
    const from = getAssociatedTokenAddressSync(mint, alice.publicKey);
    const to = getAssociatedTokenAddressSync(mint, bob);
    const { shown, inner } = await parsed([
      createAssociatedTokenAccountIdempotentInstruction(alice.publicKey, to, bob, mint),
      createTransferCheckedInstruction(from, mint, to, alice.publicKey, 1_500_000, 6),
    ]);
    expect(shown[0]).to.have.nested.property('parsed.type', 'createIdempotent');
    expect(shown[0]).to.have.nested.property('parsed.info.wallet', bob.toBase58());
    expect(shown[1]).to.deep.include({
      program: 'spl-token',
      parsed: {
        type: 'transferChecked',
        info: {
          ...{
            source: from.toBase58(),
            mint: mint.toBase58(),
            destination: to.toBase58(),
            authority: alices(),
          },
          tokenAmount: { amount: '1500000', decimals: 6, uiAmount: 1.5, uiAmountString: '1.5' },
        },
      },
    });
    const types = inner[0]?.instructions.map((one) => ('parsed' in one ? one.parsed.type : undefined));
    expect(types).to.include.members(['createAccount', 'initializeImmutableOwner', 'initializeAccount3']);
  });

  for (const program of [MEMO_PROGRAM, OLD_MEMO_PROGRAM]) {
    it(`show a memo of ${program.toBase58()} as its text, and list it`, async () => {
      const memo = (text: Buffer) => new TransactionInstruction({ programId: program, keys: [], data: text });
      const { shown } = await parsed([memo(Buffer.from('well played ♠'))]);
      expect(shown[0]).to.deep.include({ program: 'spl-memo', parsed: 'well played ♠' });
      const [listed] = await connection.getSignaturesForAddress(program, { limit: 1 }, 'finalized');
      expect(listed?.memo).to.equal('[15] well played ♠');
    });
  }

  for (const data of [Buffer.of(99, 0, 0, 0), Buffer.of(2, 0, 0, 0)])
    it(`show what cannot be read unparsed: ${data.toString('hex')}`, async () => {
      const unread = SystemProgram.transfer({
        fromPubkey: alice.publicKey,
        toPubkey: alice.publicKey,
        lamports: 1,
      });
      const none = new TransactionInstruction({ ...unread, data });
      const wire = await signed(connection, [alice], [none]);
      const signature = await connection.sendRawTransaction(wire, { skipPreflight: true });
      world.finalize();
      const found = await connection.getParsedTransaction(signature, {
        commitment: 'finalized',
        maxSupportedTransactionVersion: 0,
      });
      expect(found?.transaction.message.instructions[0]).to.have.keys(
        'accounts',
        'data',
        'programId',
        'stackHeight',
      );
    });
});
