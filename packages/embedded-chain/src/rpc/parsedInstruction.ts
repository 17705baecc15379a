/** Instructions of well-known programs, in the words of Solana's JSON. */

import { encodeBase58 } from '@coffer/kernel';
import { ASSOCIATED_TOKEN_PROGRAM } from '@coffer/solana';
import { MEMO_PROGRAMS } from '../ledger/meta.ts';
import { isTokenProgram, uiAmountOf } from '../tokens.ts';

export interface NamedInstruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

type Info = Readonly<Record<string, unknown>>;

const SYSTEM_PROGRAM = '1'.repeat(32);

/** Undefined if it is shown unparsed: of another program, or not as its program reads it. */
export function parsedInstruction({ program, accounts, data }: NamedInstruction) {
  const name = nameOf(program);
  if (!name) return undefined;
  try {
    const parsed = name === 'spl-memo' ? textOf(data) : readInstruction(name, accounts, data);
    return parsed === undefined ? undefined : { program: name, programId: program, parsed };
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function nameOf(program: string) {
  if (program === SYSTEM_PROGRAM) return 'system';
  // Both of them are shown under this name.
  if (isTokenProgram(program)) return 'spl-token';
  if (program === ASSOCIATED_TOKEN_PROGRAM) return 'spl-associated-token-account';
  return MEMO_PROGRAMS.includes(program) ? 'spl-memo' : undefined;
}

function readInstruction(
  name: 'system' | 'spl-token' | 'spl-associated-token-account',
  accounts: readonly string[],
  data: Uint8Array,
) {
  const reader = new InstructionReader(accounts, data);
  if (name === 'system') return systemInstruction(reader);
  return name === 'spl-token' ? tokenInstruction(reader) : associatedInstruction(reader);
}

/** Throws a TypeError if the bytes are not text. */
const textOf = (bytes: Uint8Array) =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

/** Throws a RangeError if the instruction has less than it should. */
class InstructionReader {
  #at = 0;
  readonly #accounts: readonly string[];
  readonly #view: DataView;
  readonly #data: Uint8Array;

  constructor(accounts: readonly string[], data: Uint8Array) {
    this.#accounts = accounts;
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  #skip(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#data.length;
  }

  get accountCount(): number {
    return this.#accounts.length;
  }

  u8 = () => this.#view.getUint8(this.#skip(1));
  u32 = () => this.#view.getUint32(this.#skip(4), true);
  u64 = () => this.#view.getBigUint64(this.#skip(8), true);

  bytes(count: number): Uint8Array {
    const at = this.#skip(count);
    if (this.#at > this.#data.length) throw new RangeError('the data ends too early');
    return this.#data.subarray(at, this.#at);
  }

  key = () => encodeBase58(this.bytes(32));
  seed = () => textOf(this.bytes(Number(this.u64())));
  optionalKey = () => (this.u8() === 1 ? this.key() : null);

  account(index: number): string {
    const found = this.#accounts[index];
    if (found === undefined) throw new RangeError('an account is not there');
    return found;
  }

  /** The accounts under these names, in their order. */
  accounts(...names: readonly string[]): Info {
    return Object.fromEntries(names.map((name, index) => [name, this.account(index)]));
  }

  rest = (from: number) => this.#accounts.slice(from);

  /** Who signs for an account: its owner, or several in the owner's place. */
  signers(at: number, one: string, several: string): Info {
    const owner = this.account(at);
    const rest = this.rest(at + 1);
    return rest.length === 0 ? { [one]: owner } : { [several]: owner, signers: rest };
  }
}

function systemInstruction(reader: InstructionReader) {
  const read = SYSTEM_INSTRUCTIONS[reader.u32()];
  return read && typed(read, reader);
}

function typed([type, read]: Reading, reader: InstructionReader) {
  return { type, info: read(reader) };
}

type Reading = readonly [type: string, read: (reader: InstructionReader) => Info];

/** By number. Bytes are read in the order of the members. */
const SYSTEM_INSTRUCTIONS: readonly Reading[] = [
  [
    'createAccount',
    (at) => ({
      ...at.accounts('source', 'newAccount'),
      lamports: at.u64(),
      space: at.u64(),
      owner: at.key(),
    }),
  ],
  ['assign', (at) => ({ ...at.accounts('account'), owner: at.key() })],
  ['transfer', (at) => ({ ...at.accounts('source', 'destination'), lamports: at.u64() })],
  [
    'createAccountWithSeed',
    (at) => ({
      ...at.accounts('source', 'newAccount'),
      ...{ base: at.key(), seed: at.seed(), lamports: at.u64(), space: at.u64(), owner: at.key() },
    }),
  ],
  ['advanceNonce', (at) => at.accounts('nonceAccount', 'recentBlockhashesSysvar', 'nonceAuthority')],
  [
    'withdrawFromNonce',
    (at) => ({
      ...at.accounts(
        'nonceAccount',
        'destination',
        'recentBlockhashesSysvar',
        'rentSysvar',
        'nonceAuthority',
      ),
      lamports: at.u64(),
    }),
  ],
  [
    'initializeNonce',
    (at) => ({
      ...at.accounts('nonceAccount', 'recentBlockhashesSysvar', 'rentSysvar'),
      nonceAuthority: at.key(),
    }),
  ],
  ['authorizeNonce', (at) => ({ ...at.accounts('nonceAccount', 'nonceAuthority'), newAuthorized: at.key() })],
  ['allocate', (at) => ({ ...at.accounts('account'), space: at.u64() })],
  [
    'allocateWithSeed',
    (at) => ({
      ...at.accounts('account'),
      ...withSecond(at),
      ...{ base: at.key(), seed: at.seed(), space: at.u64(), owner: at.key() },
    }),
  ],
  [
    'assignWithSeed',
    (at) => ({
      ...at.accounts('account'),
      ...withSecond(at),
      ...{ base: at.key(), seed: at.seed(), owner: at.key() },
    }),
  ],
  [
    'transferWithSeed',
    (at) => ({
      ...at.accounts('source', 'sourceBase', 'destination'),
      ...{ lamports: at.u64(), sourceSeed: at.seed(), sourceOwner: at.key() },
    }),
  ],
  ['upgradeNonce', (at) => at.accounts('nonceAccount')],
  [
    'createAccountAllowPrefund',
    (at) => {
      const lamports = at.u64();
      const made = { space: at.u64(), owner: at.key() };
      if (lamports === 0n) return { ...at.accounts('newAccount'), ...made };
      return { ...at.accounts('newAccount', 'source'), lamports, ...made };
    },
  ],
];

/** Already named in the data; it must be present all the same. */
function withSecond(reader: InstructionReader): Info {
  reader.account(1);
  return {};
}

function associatedInstruction(reader: InstructionReader) {
  const number = reader.isAtEnd ? 0 : reader.u8();
  const read = ASSOCIATED_INSTRUCTIONS[number];
  return reader.isAtEnd && read ? typed(read, reader) : undefined;
}

const CREATED = ['source', 'account', 'wallet', 'mint', 'systemProgram', 'tokenProgram'];
const NESTED = [
  'nestedSource',
  'nestedMint',
  'destination',
  'nestedOwner',
  'ownerMint',
  'wallet',
  'tokenProgram',
];

const ASSOCIATED_INSTRUCTIONS: readonly Reading[] = [
  ['create', (at) => at.accounts(...CREATED)],
  ['createIdempotent', (at) => at.accounts(...CREATED)],
  ['recoverNested', (at) => at.accounts(...NESTED)],
];

function tokenInstruction(reader: InstructionReader) {
  const read = TOKEN_INSTRUCTIONS.get(reader.u8());
  return read && typed(read, reader);
}

const amount = (at: InstructionReader) => ({ amount: at.u64().toString() });
const tokenAmount = (at: InstructionReader) => ({ tokenAmount: uiAmountOf(at.u64(), at.u8()) });

function newMint(at: InstructionReader): Info {
  const made = { decimals: at.u8(), mintAuthority: at.key() };
  const freezeAuthority = at.optionalKey();
  return { ...made, ...(freezeAuthority && { freezeAuthority }) };
}

const AUTHORITIES = ['mintTokens', 'freezeAccount', 'accountOwner', 'closeAccount'];

function newAuthority(at: InstructionReader): Info {
  const authorityType = AUTHORITIES[at.u8()];
  // Those of extensions.
  if (!authorityType) throw new RangeError('the authority has no name');
  const isOfAccount = authorityType === 'accountOwner' || authorityType === 'closeAccount';
  return {
    [isOfAccount ? 'account' : 'mint']: at.account(0),
    authorityType,
    newAuthority: at.optionalKey(),
    ...at.signers(1, 'authority', 'multisigAuthority'),
  };
}

function frozen(at: InstructionReader): Info {
  return {
    ...at.accounts('account', 'mint'),
    ...at.signers(2, 'freezeAuthority', 'multisigFreezeAuthority'),
  };
}

const byAuthority = (at: InstructionReader, index: number) =>
  at.signers(index, 'authority', 'multisigAuthority');
const byOwner = (at: InstructionReader, index: number) => at.signers(index, 'owner', 'multisigOwner');
const byMinter = (at: InstructionReader, index: number) =>
  at.signers(index, 'mintAuthority', 'multisigMintAuthority');

/** By number, in both programs. Those of extensions are shown unparsed. */
const TOKEN_INSTRUCTIONS: ReadonlyMap<number, Reading> = new Map<number, Reading>([
  [0, ['initializeMint', (at) => ({ ...at.accounts('mint', 'rentSysvar'), ...newMint(at) })]],
  [1, ['initializeAccount', (at) => at.accounts('account', 'mint', 'owner', 'rentSysvar')]],
  [
    2,
    [
      'initializeMultisig',
      (at) => ({ ...at.accounts('multisig', 'rentSysvar'), signers: at.rest(2), m: at.u8() }),
    ],
  ],
  [
    3,
    ['transfer', (at) => ({ ...at.accounts('source', 'destination'), ...amount(at), ...byAuthority(at, 2) })],
  ],
  [4, ['approve', (at) => ({ ...at.accounts('source', 'delegate'), ...amount(at), ...byOwner(at, 2) })]],
  [5, ['revoke', (at) => ({ ...at.accounts('source'), ...byOwner(at, 1) })]],
  [6, ['setAuthority', newAuthority]],
  [7, ['mintTo', (at) => ({ ...at.accounts('mint', 'account'), ...amount(at), ...byMinter(at, 2) })]],
  [8, ['burn', (at) => ({ ...at.accounts('account', 'mint'), ...amount(at), ...byAuthority(at, 2) })]],
  [9, ['closeAccount', (at) => ({ ...at.accounts('account', 'destination'), ...byOwner(at, 2) })]],
  [10, ['freezeAccount', frozen]],
  [11, ['thawAccount', frozen]],
  [
    12,
    [
      'transferChecked',
      (at) => ({
        ...at.accounts('source', 'mint', 'destination'),
        ...tokenAmount(at),
        ...byAuthority(at, 3),
      }),
    ],
  ],
  [
    13,
    [
      'approveChecked',
      (at) => ({ ...at.accounts('source', 'mint', 'delegate'), ...tokenAmount(at), ...byOwner(at, 3) }),
    ],
  ],
  [
    14,
    [
      'mintToChecked',
      (at) => ({ ...at.accounts('mint', 'account'), ...tokenAmount(at), ...byMinter(at, 2) }),
    ],
  ],
  [
    15,
    [
      'burnChecked',
      (at) => ({ ...at.accounts('account', 'mint'), ...tokenAmount(at), ...byAuthority(at, 2) }),
    ],
  ],
  [
    16,
    [
      'initializeAccount2',
      (at) => ({ account: at.account(0), mint: at.account(1), owner: at.key(), rentSysvar: at.account(2) }),
    ],
  ],
  [17, ['syncNative', (at) => at.accounts('account')]],
  [18, ['initializeAccount3', (at) => ({ ...at.accounts('account', 'mint'), owner: at.key() })]],
  [19, ['initializeMultisig2', (at) => ({ ...at.accounts('multisig'), signers: at.rest(1), m: at.u8() })]],
  [20, ['initializeMint2', (at) => ({ ...at.accounts('mint'), ...newMint(at) })]],
  [22, ['initializeImmutableOwner', (at) => at.accounts('account')]],
  [23, ['amountToUiAmount', (at) => ({ ...at.accounts('mint'), ...amount(at) })]],
  [
    38,
    ['withdrawExcessLamports', (at) => ({ ...at.accounts('source', 'destination'), ...byAuthority(at, 2) })],
  ],
]);
