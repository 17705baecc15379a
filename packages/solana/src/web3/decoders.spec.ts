/** Compares each decoder with the builders of the programs' own libraries. */
import {
  AuthorityType,
  createApproveCheckedInstruction,
  createApproveInstruction,
  createAssociatedTokenAccountIdempotentInstruction,
  createAssociatedTokenAccountInstruction,
  createBurnCheckedInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createFreezeAccountInstruction,
  createInitializeAccount2Instruction,
  createInitializeAccount3Instruction,
  createInitializeAccountInstruction,
  createInitializeImmutableOwnerInstruction,
  createInitializeMultisigInstruction,
  createMintToInstruction,
  createReallocateInstruction,
  createRecoverNestedInstruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
  createTransferCheckedWithFeeInstruction,
  createTransferInstruction,
  createUpdateTransferHookInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  AddressLookupTableProgram,
  ComputeBudgetProgram,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { decodeInstruction } from '../programs/decodeInstruction.ts';
import { MEMO_PROGRAM } from '../programs/ids.ts';

const key = (number: number) => new PublicKey(Buffer.alloc(32, number));
const [wallet, other, third, mint, owner] = [key(1), key(2), key(3), key(4), key(5)];
const [w, o, t, m, own] = [wallet, other, third, mint, owner].map((one) => one.toBase58());

const decode = ({ programId, keys, data }: TransactionInstruction) =>
  decodeInstruction({
    programId: programId.toBase58(),
    accounts: keys.map(({ pubkey }) => pubkey.toBase58()),
    data,
  });

const MAX = 2n ** 64n - 1n;
const TOKENS = [TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID];

const batchOf = (programId: PublicKey, ...parts: TransactionInstruction[]) =>
  new TransactionInstruction({
    programId,
    keys: parts.flatMap(({ keys }) => keys),
    data: Buffer.concat([
      Buffer.of(255),
      ...parts.map(({ keys, data }) => Buffer.concat([Buffer.of(keys.length, data.length), data])),
    ]),
  });

const seeded = { basePubkey: wallet, seed: 'seed', programId: owner };
const nonce = { noncePubkey: other, authorizedPubkey: wallet };

const read: readonly (readonly [what: string, built: TransactionInstruction, decoded: object])[] = [
  [
    'a transfer of lamports',
    SystemProgram.transfer({ fromPubkey: wallet, toPubkey: other, lamports: MAX }),
    { program: 'system', name: 'Transfer', from: w, to: o, lamports: MAX },
  ],
  [
    'an account made from a seed',
    SystemProgram.createAccountWithSeed({
      ...seeded,
      fromPubkey: wallet,
      newAccountPubkey: other,
      lamports: 7,
      space: 165,
    }),
    {
      program: 'system',
      name: 'CreateAccountWithSeed',
      from: w,
      created: o,
      base: w,
      lamports: 7n,
      owner: own,
    },
  ],
  [
    'the associated account',
    createAssociatedTokenAccountInstruction(wallet, other, owner, mint),
    { program: 'associatedToken', name: 'Create', payer: w, account: o, owner: own, mint: m },
  ],
  [
    'the associated account, if missing',
    createAssociatedTokenAccountIdempotentInstruction(wallet, other, owner, mint),
    { program: 'associatedToken', name: 'CreateIdempotent', payer: w, account: o, owner: own, mint: m },
  ],
  [
    'a limit of units',
    ComputeBudgetProgram.setComputeUnitLimit({ units: 300_000 }),
    { program: 'computeBudget', name: 'SetComputeUnitLimit', units: 300_000n },
  ],
  [
    'a price of units',
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: MAX }),
    { program: 'computeBudget', name: 'SetComputeUnitPrice', microLamports: MAX },
  ],
  [
    'a heap frame',
    ComputeBudgetProgram.requestHeapFrame({ bytes: 65_536 }),
    { program: 'computeBudget', name: 'RequestHeapFrame' },
  ],
  [
    'a memo',
    new TransactionInstruction({
      programId: new PublicKey(MEMO_PROGRAM),
      keys: [],
      data: Buffer.from('päck'),
    }),
    { program: 'memo', name: 'Memo', text: 'päck' },
  ],
  [
    'a new lookup table',
    AddressLookupTableProgram.createLookupTable({ authority: wallet, payer: other, recentSlot: 9 })[0],
    {
      program: 'lookupTable',
      name: 'CreateLookupTable',
      table: AddressLookupTableProgram.createLookupTable({
        authority: wallet,
        payer: other,
        recentSlot: 9,
      })[1].toBase58(),
      authority: w,
      payer: o,
    },
  ],
  [
    'more addresses in a lookup table',
    AddressLookupTableProgram.extendLookupTable({
      lookupTable: third,
      authority: wallet,
      payer: other,
      addresses: [mint, owner],
    }),
    { program: 'lookupTable', name: 'ExtendLookupTable', table: t, authority: w, payer: o },
  ],
  [
    'a lookup table deactivated',
    AddressLookupTableProgram.deactivateLookupTable({ lookupTable: third, authority: wallet }),
    { program: 'lookupTable', name: 'DeactivateLookupTable', table: t, authority: w },
  ],
  [
    'a lookup table closed',
    AddressLookupTableProgram.closeLookupTable({ lookupTable: third, authority: wallet, recipient: other }),
    { program: 'lookupTable', name: 'CloseLookupTable', table: t, authority: w, recipient: o },
  ],
  [
    'a lookup table frozen',
    AddressLookupTableProgram.freezeLookupTable({ lookupTable: third, authority: wallet }),
    { program: 'lookupTable', name: 'FreezeLookupTable' },
  ],
  ...TOKENS.flatMap((program) => tokenRows(program)),
];

function tokenRows(program: PublicKey): typeof read {
  const name = program === TOKEN_PROGRAM_ID ? '' : ' of Token-2022';
  const transfer = createTransferInstruction(other, third, wallet, MAX, [], program);
  const transferred = {
    program: 'token',
    name: 'Transfer',
    source: o,
    destination: t,
    authority: w,
    rest: [],
    mint: null,
    amount: MAX,
  };
  const close = createCloseAccountInstruction(other, third, wallet, [], program);
  const closed = {
    program: 'token',
    name: 'CloseAccount',
    account: o,
    destination: t,
    authority: w,
    rest: [],
  };
  return [
    [`a transfer${name}`, transfer, transferred],
    [
      `a transfer${name} by several signers`,
      createTransferInstruction(other, third, owner, 1n, [wallet], program),
      { ...transferred, authority: own, rest: [w], amount: 1n },
    ],
    [
      `a checked transfer${name}`,
      createTransferCheckedInstruction(other, mint, third, wallet, 5n, 6, [], program),
      { ...transferred, name: 'TransferChecked', mint: m, amount: 5n },
    ],
    [`an account closed${name}`, close, closed],
    [
      `a delegate revoked${name}`,
      createRevokeInstruction(other, wallet, [], program),
      { program: 'token', name: 'Revoke', source: o, authority: w, rest: [] },
    ],
    [
      `native tokens synchronized${name}`,
      createSyncNativeInstruction(other, program),
      { program: 'token', name: 'SyncNative', account: o },
    ],
    [
      `an account initialized${name}`,
      createInitializeAccountInstruction(other, mint, wallet, program),
      { program: 'token', name: 'InitializeAccount', programId: program.toBase58(), account: o, owner: w },
    ],
    [
      `an account initialized${name}, the second way`,
      createInitializeAccount2Instruction(other, mint, wallet, program),
      { program: 'token', name: 'InitializeAccount', programId: program.toBase58(), account: o, owner: w },
    ],
    [
      `an account initialized${name}, the third way`,
      createInitializeAccount3Instruction(other, mint, wallet, program),
      { program: 'token', name: 'InitializeAccount', programId: program.toBase58(), account: o, owner: w },
    ],
    [
      `an immutable owner${name}`,
      createInitializeImmutableOwnerInstruction(other, program),
      { program: 'token', name: 'InitializeImmutableOwner', account: o },
    ],
    [
      `a batch${name}`,
      batchOf(program, transfer, close),
      { program: 'token', name: 'Batch', instructions: [transferred, closed] },
    ],
    [
      `a batch${name} that changes an authority`,
      batchOf(
        program,
        createSetAuthorityInstruction(other, wallet, AuthorityType.AccountOwner, third, [], program),
      ),
      { program: 'token', name: 'Batch', instructions: [{ program: 'token', name: 'SetAuthority' }] },
    ],
  ];
}

const namedOnly: readonly (readonly [name: string, built: TransactionInstruction])[] = [
  [
    'CreateAccount',
    SystemProgram.createAccount({
      fromPubkey: wallet,
      newAccountPubkey: other,
      lamports: 1,
      space: 0,
      programId: owner,
    }),
  ],
  ['Assign', SystemProgram.assign({ accountPubkey: wallet, programId: owner })],
  ['AssignWithSeed', SystemProgram.assign({ ...seeded, accountPubkey: wallet })],
  ['Allocate', SystemProgram.allocate({ accountPubkey: wallet, space: 8 })],
  ['AllocateWithSeed', SystemProgram.allocate({ ...seeded, accountPubkey: wallet, space: 8 })],
  [
    'TransferWithSeed',
    SystemProgram.transfer({ ...seeded, fromPubkey: wallet, toPubkey: other, lamports: 1 }),
  ],
  ['AdvanceNonceAccount', SystemProgram.nonceAdvance(nonce)],
  ['WithdrawNonceAccount', SystemProgram.nonceWithdraw({ ...nonce, toPubkey: third, lamports: 1 })],
  ['InitializeNonceAccount', SystemProgram.nonceInitialize(nonce)],
  ['AuthorizeNonceAccount', SystemProgram.nonceAuthorize({ ...nonce, newAuthorizedPubkey: third })],
  ...TOKENS.flatMap((program): (readonly [string, TransactionInstruction])[] => [
    [
      'SetAuthority',
      createSetAuthorityInstruction(other, wallet, AuthorityType.AccountOwner, third, [], program),
    ],
    [
      'SetAuthority',
      createSetAuthorityInstruction(other, wallet, AuthorityType.CloseAccount, null, [], program),
    ],
    ['Approve', createApproveInstruction(other, third, wallet, 1n, [], program)],
    ['ApproveChecked', createApproveCheckedInstruction(other, mint, third, wallet, 1n, 6, [], program)],
    ['Burn', createBurnInstruction(other, mint, wallet, 1n, [], program)],
    ['BurnChecked', createBurnCheckedInstruction(other, mint, wallet, 1n, 6, [], program)],
    ['InitializeMultisig', createInitializeMultisigInstruction(other, [wallet, third], 1, program)],
  ]),
];

/** Instructions to a program that we read, but in no list. */
const unread: readonly (readonly [what: string, built: TransactionInstruction])[] = [
  ['RecoverNested', createRecoverNestedInstruction(other, mint, third, other, mint, wallet)],
  ['MintTo', createMintToInstruction(mint, other, wallet, 1n)],
  ['FreezeAccount', createFreezeAccountInstruction(other, mint, wallet)],
  [
    'Reallocate',
    createReallocateInstruction(
      other,
      wallet,
      [ExtensionType.MemoTransfer],
      wallet,
      [],
      TOKEN_2022_PROGRAM_ID,
    ),
  ],
  [
    'the update of a transfer hook',
    createUpdateTransferHookInstruction(mint, wallet, third, [], TOKEN_2022_PROGRAM_ID),
  ],
  [
    'a batch in a batch',
    batchOf(TOKEN_PROGRAM_ID, batchOf(TOKEN_PROGRAM_ID, createRevokeInstruction(other, wallet))),
  ],
  [
    'an associated account of a program that is not a token program',
    createAssociatedTokenAccountInstruction(wallet, other, owner, mint, third),
  ],
  ['an empty batch', batchOf(TOKEN_PROGRAM_ID)],
  [
    'a batch with an account left over',
    new TransactionInstruction({
      programId: TOKEN_PROGRAM_ID,
      keys: [
        ...createRevokeInstruction(other, wallet).keys,
        { pubkey: third, isSigner: false, isWritable: false },
      ],
      data: batchOf(TOKEN_PROGRAM_ID, createRevokeInstruction(other, wallet)).data,
    }),
  ],
  [
    'a memo that is not text',
    new TransactionInstruction({ programId: new PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.of(0xff) }),
  ],
];

describe('an instruction', () => {
  for (const [what, built, decoded] of read) {
    it(`is read: ${what}`, () => expect(decode(built)).to.deep.equal(decoded));
  }

  it('is read: a transfer of Token-2022 with its fee', () =>
    expect(
      decode(createTransferCheckedWithFeeInstruction(other, mint, third, wallet, 9n, 6, 1n)),
    ).to.deep.include({
      name: 'TransferCheckedWithFee',
      source: o,
      destination: t,
      authority: w,
      amount: 9n,
    }));

  it('is read: native tokens unwrapped, and surplus lamports', () => {
    const keys = [other, third, wallet].map((pubkey) => ({ pubkey, isSigner: false, isWritable: true }));
    const amount = Buffer.alloc(8, 1);
    const rows: readonly [data: Buffer, name: string][] = [
      [Buffer.of(38), 'WithdrawExcessLamports'],
      [Buffer.of(45, 0), 'UnwrapLamports'],
      [Buffer.concat([Buffer.of(45, 1), amount]), 'UnwrapLamports'],
    ];
    for (const [data, name] of rows) {
      const decoded = decode(new TransactionInstruction({ programId: TOKEN_PROGRAM_ID, keys, data }));
      expect(decoded).to.deep.equal({
        program: 'token',
        name,
        source: o,
        destination: t,
        authority: w,
        rest: [],
      });
    }
    const odd = new TransactionInstruction({ programId: TOKEN_PROGRAM_ID, keys, data: Buffer.of(45, 1) });
    expect(decode(odd).program).to.equal('unread');
  });

  for (const [name, built] of namedOnly) {
    it(`is known by name: ${name}`, () => expect(decode(built)).to.deep.include({ name }));
  }

  for (const [what, built] of unread) {
    it(`is not read: ${what}`, () =>
      expect(decode(built)).to.deep.equal({ program: 'unread', programId: built.programId.toBase58() }));
  }

  const known = [...read.map(([, built]) => built), ...namedOnly.map(([, built]) => built)];

  it('is not read with one byte more or less, or without one of its accounts', () => {
    for (const built of known) {
      const { programId, keys, data } = built;
      const isText = programId.toBase58() === MEMO_PROGRAM;
      // The associated token program allows a single byte to be left out.
      const isShort = data.length > 1 && !isText;
      const decoded = decode(built);
      if (!isText) {
        const longer = { ...built, data: Buffer.concat([data, Buffer.of(0)]) };
        // An instruction without data is the same as one with a zero byte.
        if (data.length > 0)
          expect(decode(longer).program, `${data.toString('hex')} and 00`).to.equal('unread');
      }
      if (isShort) expect(decode({ ...built, data: data.subarray(0, -1) }).program).to.equal('unread');
      if ('rest' in decoded) {
        expect(decode({ ...built, keys: keys.slice(0, 1) }).program).to.equal('unread');
      }
    }
  });

  it('to another program is foreign', () =>
    expect(
      decode(new TransactionInstruction({ programId: third, keys: [], data: Buffer.alloc(0) })),
    ).to.deep.equal({ program: 'foreign', programId: t }));

  it('of any bytes and accounts is read or not, but never throws', () => {
    const programs = [...new Set(known.map(({ programId }) => programId.toBase58()))];
    fc.assert(
      fc.property(
        fc.constantFrom(...programs),
        fc.array(fc.constantFrom(w ?? '', o ?? '', t ?? ''), { maxLength: 8 }),
        fc.oneof(
          fc.uint8Array({ maxLength: 64 }),
          // Bytes of a known instruction, some of them altered.
          fc
            .tuple(fc.constantFrom(...known), fc.nat(), fc.integer({ min: 0, max: 255 }))
            .map(([{ data }, at, byte]) => {
              const altered = Uint8Array.from(data);
              if (altered.length > 0) altered[at % altered.length] = byte;
              return altered;
            }),
        ),
        (programId, accounts, data) => {
          expect(decodeInstruction({ programId, accounts, data })).to.have.property('program');
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
