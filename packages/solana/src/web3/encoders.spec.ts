/** Compares our encoders and decoders with those of @solana/spl-token and web3.js, byte for byte. */
import { generateKeyPairSync } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import * as spl from '@solana/spl-token';
import { ComputeBudgetProgram, PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { ChainAccount } from '../port.ts';
import { setComputeUnitLimit, setComputeUnitPrice } from '../programs/computeBudget.ts';
import * as ids from '../programs/ids.ts';
import type { Instruction } from '../programs/instruction.ts';
import { decodeMint, type Mint, mintProblem } from '../programs/mint.ts';
import { systemTransfer } from '../programs/system.ts';
import { closeAccount, createAssociatedAccountIdempotent, transferChecked } from '../programs/token.ts';
import { decodeTokenAccount } from '../programs/tokenAccount.ts';
import { associatedTokenAddress, isOnCurve } from './addresses.ts';

const key = (address: string) => new PublicKey(address);
const U64_MAX = 2n ** 64n - 1n;

const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(encodeBase58);
const program = fc.constantFrom(...ids.TOKEN_PROGRAMS);
const u64 = fc.bigInt({ min: 0n, max: U64_MAX });
const u8 = fc.nat({ max: 255 });
const optionalAddress = fc.option(address);

/** web3.js's instruction in our form. */
const ours = ({ programId, keys, data }: TransactionInstruction) => ({
  programId: programId.toBase58(),
  accounts: keys.map(({ pubkey, isSigner, isWritable }) => ({
    address: pubkey.toBase58(),
    isSigner,
    isWritable,
  })),
  data: [...data],
});

const plain = (instruction: Instruction) => ({ ...instruction, data: [...instruction.data] });

function same(instruction: Instruction, theirs: TransactionInstruction): void {
  expect(plain(instruction)).to.deep.equal(ours(theirs));
}

describe('token instructions', () => {
  it("have the libraries' ids", () => {
    expect([ids.TOKEN_PROGRAM, ids.TOKEN_2022_PROGRAM]).to.deep.equal([
      spl.TOKEN_PROGRAM_ID.toBase58(),
      spl.TOKEN_2022_PROGRAM_ID.toBase58(),
    ]);
    expect(ids.ASSOCIATED_TOKEN_PROGRAM).to.equal(spl.ASSOCIATED_TOKEN_PROGRAM_ID.toBase58());
    expect(ids.NATIVE_MINT).to.equal(spl.NATIVE_MINT.toBase58());
    expect(ids.SYSTEM_PROGRAM).to.equal(SystemProgram.programId.toBase58());
    expect(ids.COMPUTE_BUDGET_PROGRAM).to.equal(ComputeBudgetProgram.programId.toBase58());
  });

  it('transfer what spl-token transfers', () =>
    fc.assert(
      fc.property(
        program,
        address,
        address,
        address,
        address,
        u64,
        u8,
        (programId, source, mint, destination, owner, amount, decimals) =>
          same(
            transferChecked({ program: programId, source, mint, destination, owner, amount, decimals }),
            spl.createTransferCheckedInstruction(
              key(source),
              key(mint),
              key(destination),
              key(owner),
              amount,
              decimals,
              [],
              key(programId),
            ),
          ),
      ),
    ));

  it('make and close the accounts that spl-token makes and closes', () =>
    fc.assert(
      fc.property(program, address, address, address, (programId, payer, owner, mint) => {
        const account = associatedTokenAddress(owner, mint, programId);
        expect(account).to.equal(
          spl.getAssociatedTokenAddressSync(key(mint), key(owner), true, key(programId)).toBase58(),
        );
        expect(isOnCurve(account)).to.equal(false);
        same(
          createAssociatedAccountIdempotent({ payer, address: account, owner, mint, program: programId }),
          spl.createAssociatedTokenAccountIdempotentInstruction(
            key(payer),
            key(account),
            key(owner),
            key(mint),
            key(programId),
          ),
        );
        same(
          closeAccount({ program: programId, account, destination: payer, owner }),
          spl.createCloseAccountInstruction(key(account), key(payer), key(owner), [], key(programId)),
        );
      }),
      { numRuns: 40 },
    ));

  it('send and offer what web3.js sends and offers', () =>
    fc.assert(
      fc.property(
        address,
        address,
        u64,
        u64,
        fc.nat({ max: 2 ** 32 - 1 }),
        (from, to, lamports, price, units) => {
          same(
            systemTransfer({ from, to, lamports }),
            SystemProgram.transfer({ fromPubkey: key(from), toPubkey: key(to), lamports }),
          );
          same(setComputeUnitLimit(units), ComputeBudgetProgram.setComputeUnitLimit({ units }));
          same(
            setComputeUnitPrice(price),
            ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price }),
          );
        },
      ),
    ));

  it('refuse an amount that is not a u64', () => {
    for (const lamports of [-1n, U64_MAX + 1n])
      expect(() => systemTransfer({ from: ids.TOKEN_PROGRAM, to: ids.TOKEN_PROGRAM, lamports })).to.throw(
        RangeError,
      );
  });
});

const mintBytes = fc.record({
  mintAuthority: optionalAddress,
  supply: u64,
  decimals: u8,
  freezeAuthority: optionalAddress,
});
const option = (value: string | null) => ({
  option: value === null ? 0 : 1,
  key: key(value ?? ids.SYSTEM_PROGRAM),
});

function encodedMint(of: {
  mintAuthority: string | null;
  supply: bigint;
  decimals: number;
  freezeAuthority: string | null;
}): Buffer {
  const data = Buffer.alloc(spl.MINT_SIZE);
  const [mintAuthority, freezeAuthority] = [option(of.mintAuthority), option(of.freezeAuthority)];
  spl.MintLayout.encode(
    {
      mintAuthorityOption: mintAuthority.option === 1 ? 1 : 0,
      mintAuthority: mintAuthority.key,
      supply: of.supply,
      decimals: of.decimals,
      isInitialized: true,
      freezeAuthorityOption: freezeAuthority.option === 1 ? 1 : 0,
      freezeAuthority: freezeAuthority.key,
    },
    data,
  );
  return data;
}

const account = (owner: string, data: Uint8Array): ChainAccount => ({
  address: ids.NATIVE_MINT,
  owner,
  lamports: 1n,
  data,
  isExecutable: false,
});

/** A Token-2022 mint with these extensions, each of the given size in bytes. */
function extended(base: Buffer, types: readonly (readonly [type: number, bytes: number])[]): Buffer {
  const parts = types.map(([type, bytes]) => {
    const entry = Buffer.alloc(4 + bytes, 7);
    entry.writeUInt16LE(type, 0);
    entry.writeUInt16LE(bytes, 2);
    return entry;
  });
  return Buffer.concat([base, Buffer.alloc(165 - base.length), Uint8Array.of(1), ...parts]);
}

describe('mints', () => {
  it('are read as spl-token reads them', () =>
    fc.assert(
      fc.property(program, mintBytes, (owner, of) => {
        const data = encodedMint(of);
        const theirs = spl.unpackMint(
          key(ids.NATIVE_MINT),
          { owner: key(owner), data, lamports: 1, executable: false },
          key(owner),
        );
        const mint: Mint | undefined = decodeMint(account(owner, data));
        expect(mint).to.deep.equal({
          address: ids.NATIVE_MINT,
          program: owner,
          supply: theirs.supply,
          decimals: theirs.decimals,
          mintAuthority: theirs.mintAuthority?.toBase58() ?? null,
          freezeAuthority: theirs.freezeAuthority?.toBase58() ?? null,
          extensions: [],
        });
      }),
    ));

  const base = encodedMint({ mintAuthority: null, supply: 1n, decimals: 6, freezeAuthority: null });
  const supported = (data: Uint8Array) => {
    const mint = decodeMint(account(ids.TOKEN_2022_PROGRAM, data));
    return mint && mintProblem(mint, 6) === undefined;
  };
  const { ExtensionType } = spl;

  it('name their extensions as the program does', () => {
    for (const [name, type] of Object.entries(ExtensionType)) {
      if (typeof type !== 'number' || type === ExtensionType.Uninitialized) continue;
      const [found] =
        decodeMint(account(ids.TOKEN_2022_PROGRAM, extended(base, [[type, 8]])))?.extensions ?? [];
      // The library names these two differently from the program.
      const known = name
        .replace('ScaledUiAmountConfig', 'ScaledUiAmount')
        .replace('PausableConfig', 'Pausable');
      expect(found).to.equal(known.charAt(0).toLowerCase() + known.slice(1));
    }
  });

  it('are supported with every harmless extension, and with no others', () => {
    const harmless: readonly number[] = [
      ExtensionType.ImmutableOwner,
      ExtensionType.MetadataPointer,
      ExtensionType.TokenMetadata,
      ExtensionType.GroupPointer,
      ExtensionType.TokenGroup,
      ExtensionType.GroupMemberPointer,
      ExtensionType.TokenGroupMember,
    ];
    expect(supported(base)).to.equal(true);
    expect(
      supported(
        extended(
          base,
          harmless.map((type) => [type, 64] as const),
        ),
      ),
    ).to.equal(true);
    for (let type = 1; type < 70; type++) {
      const data = extended(base, [
        [ExtensionType.MetadataPointer, 64],
        [type, 33],
      ]);
      expect(supported(data), String(type)).to.equal(harmless.includes(type));
    }
  });

  it('are not found in the bytes of something else', () => {
    const with2022 = (data: Uint8Array) => decodeMint(account(ids.TOKEN_2022_PROGRAM, data));
    const uninitialized = Buffer.from(base);
    uninitialized[45] = 0;
    const cut = extended(base, [[ExtensionType.MetadataPointer, 64]]).subarray(0, -1);
    const ofAccount = extended(base, [[ExtensionType.MetadataPointer, 64]]);
    ofAccount[165] = 2;
    const multisig = extended(base, [[ExtensionType.TokenMetadata, 355 - 166 - 4]]);
    for (const data of [uninitialized, cut, ofAccount, multisig, Buffer.alloc(0), Buffer.alloc(165)])
      expect(with2022(data)).to.equal(undefined);
    expect(decodeMint(account(ids.TOKEN_PROGRAM, extended(base, [])))).to.equal(undefined);
    expect(decodeMint(account(ids.SYSTEM_PROGRAM, base))).to.equal(undefined);
  });
});

describe('token accounts', () => {
  const state = fc.constantFrom(spl.AccountState.Initialized, spl.AccountState.Frozen);

  it('are read as spl-token reads them', () =>
    fc.assert(
      fc.property(
        program,
        address,
        address,
        u64,
        optionalAddress,
        optionalAddress,
        state,
        fc.boolean(),
        (programId, mint, owner, amount, delegate, closeAuthority, accountState, isExtended) => {
          const data = Buffer.alloc(spl.ACCOUNT_SIZE);
          const [by, closes] = [option(delegate), option(closeAuthority)];
          spl.AccountLayout.encode(
            {
              mint: key(mint),
              owner: key(owner),
              amount,
              delegateOption: by.option === 1 ? 1 : 0,
              delegate: by.key,
              state: accountState,
              isNativeOption: 0,
              isNative: 0n,
              delegatedAmount: 0n,
              closeAuthorityOption: closes.option === 1 ? 1 : 0,
              closeAuthority: closes.key,
            },
            data,
          );
          const isLong = isExtended && programId === ids.TOKEN_2022_PROGRAM;
          const bytes = isLong ? Buffer.concat([data, Uint8Array.of(2, 7, 0, 0, 0)]) : data;
          const theirs = spl.unpackAccount(
            key(ids.NATIVE_MINT),
            { owner: key(programId), data: bytes, lamports: 1, executable: false },
            key(programId),
          );
          expect(decodeTokenAccount(account(programId, bytes))).to.deep.equal({
            address: ids.NATIVE_MINT,
            program: programId,
            mint,
            owner,
            amount: theirs.amount,
            isFrozen: theirs.isFrozen,
            delegate: theirs.delegate?.toBase58() ?? null,
            closeAuthority: theirs.closeAuthority?.toBase58() ?? null,
          });
        },
      ),
    ));

  it('are not found in the bytes of something else', () => {
    const zeros = account(ids.TOKEN_PROGRAM, Buffer.alloc(spl.ACCOUNT_SIZE));
    expect(decodeTokenAccount(zeros)).to.equal(undefined);
    const initialized = Buffer.alloc(spl.ACCOUNT_SIZE);
    initialized[108] = 1;
    expect(decodeTokenAccount(account(ids.TOKEN_PROGRAM, initialized))).not.to.equal(undefined);
    expect(decodeTokenAccount(account(ids.SYSTEM_PROGRAM, initialized))).to.equal(undefined);
    const ofMint = Buffer.concat([initialized, Uint8Array.of(1)]);
    expect(decodeTokenAccount(account(ids.TOKEN_2022_PROGRAM, ofMint))).to.equal(undefined);
    const ofAccount = Buffer.concat([initialized, Uint8Array.of(2)]);
    expect(decodeTokenAccount(account(ids.TOKEN_2022_PROGRAM, ofAccount))).not.to.equal(undefined);
    expect(decodeTokenAccount(account(ids.TOKEN_PROGRAM, ofAccount))).to.equal(undefined);
  });
});

describe('addresses', () => {
  it('are on the curve if somebody has the key', () => {
    for (let count = 0; count < 20; count++) {
      const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
      expect(isOnCurve(encodeBase58(Buffer.from(x, 'base64url')))).to.equal(true);
    }
  });
});
