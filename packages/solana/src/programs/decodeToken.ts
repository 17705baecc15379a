/**
 * Instructions of both token programs, which have the same numbers for those listed here. Source:
 * https://docs.rs/spl-token-2022-interface (TokenInstruction), https://github.com/solana-program/token
 * (batch).
 */
import type { Address } from '../port.ts';
import { addressAt, type InstructionContent, named } from './readInstruction.ts';

interface Authorized {
  /** Who may do it: the owner, a delegate, or a multisig account. */
  readonly authority: Address;
  /** After the accounts that it needs: the signers of a multisig, or any others. */
  readonly rest: readonly Address[];
}

export type SingleTokenInstruction = { readonly program: 'token' } & (
  | (Authorized & {
      readonly name: 'Transfer' | 'TransferChecked' | 'TransferCheckedWithFee';
      readonly source: Address;
      readonly destination: Address;
      /** Null if the instruction does not name it: then it is the source's mint. */
      readonly mint: Address | null;
      readonly amount: bigint;
    })
  | (Authorized & { readonly name: 'CloseAccount'; readonly account: Address; readonly destination: Address })
  | (Authorized & {
      readonly name: 'WithdrawExcessLamports' | 'UnwrapLamports';
      readonly source: Address;
      readonly destination: Address;
    })
  | (Authorized & { readonly name: 'Revoke'; readonly source: Address })
  | { readonly name: 'SyncNative' | 'InitializeImmutableOwner'; readonly account: Address }
  | {
      readonly name: 'InitializeAccount';
      /** Which of the two token programs. */
      readonly programId: Address;
      readonly account: Address;
      readonly owner: Address;
    }
  | { readonly name: 'SetAuthority' | 'InitializeMultisig' }
  | { readonly name: 'Approve' | 'ApproveChecked' }
  | { readonly name: 'Burn' | 'BurnChecked' }
);

export type TokenInstruction =
  | SingleTokenInstruction
  | {
      readonly program: 'token';
      readonly name: 'Batch';
      readonly instructions: readonly SingleTokenInstruction[];
    };

const BATCH = 255;

/** Undefined unless it is one of them, byte for byte; a batch with one unknown part is unknown as a whole. */
export const decodeToken = (content: InstructionContent): TokenInstruction | undefined =>
  content.data[0] === BATCH ? batch(content) : single(content);

/**
 * Each part is the number of its accounts, the number of its bytes, and the bytes; its accounts are the next
 * in the list.
 */
function batch({ programId, accounts, data: bytes }: InstructionContent): TokenInstruction | undefined {
  const data = Buffer.from(bytes);
  const instructions: SingleTokenInstruction[] = [];
  let at = 1;
  let used = 0;
  while (at < data.length) {
    if (at + 2 > data.length) return undefined;
    const accountCount = data.readUInt8(at);
    const end = at + 2 + data.readUInt8(at + 1);
    if (end > data.length || used + accountCount > accounts.length) return undefined;
    // A nested batch is not a single instruction, so it is refused here.
    const part = single({
      programId,
      accounts: accounts.slice(used, used + accountCount),
      data: data.subarray(at + 2, end),
    });
    if (!part) return undefined;
    instructions.push(part);
    used += accountCount;
    at = end;
  }
  if (instructions.length === 0 || used !== accounts.length) return undefined;
  return { program: 'token', name: 'Batch', instructions };
}

/** Lengths of the instructions that are only named, because they are never signed. */
const NAMED_ONLY = new Map<
  number,
  {
    readonly name:
      | 'SetAuthority'
      | 'InitializeMultisig'
      | 'Approve'
      | 'ApproveChecked'
      | 'Burn'
      | 'BurnChecked';
    readonly lengths: readonly number[];
  }
>([
  [2, { name: 'InitializeMultisig', lengths: [2] }],
  [4, { name: 'Approve', lengths: [9] }],
  [6, { name: 'SetAuthority', lengths: [3, 35] }],
  [8, { name: 'Burn', lengths: [9] }],
  [13, { name: 'ApproveChecked', lengths: [10] }],
  [15, { name: 'BurnChecked', lengths: [10] }],
  [19, { name: 'InitializeMultisig', lengths: [2] }],
]);

function single(content: InstructionContent): SingleTokenInstruction | undefined {
  const { accounts } = content;
  const data = Buffer.from(content.data);
  const tag = data[0] ?? -1;
  const known = NAMED_ONLY.get(tag);
  if (known) return known.lengths.includes(data.length) ? { program: 'token', name: known.name } : undefined;

  switch (tag) {
    case 1:
      return initializeAccount(data.length === 1 ? accounts[2] : undefined, content);
    case 16:
    case 18:
      return initializeAccount(data.length === 33 ? addressAt(data, 1) : undefined, content);
    case 3:
      return data.length === 9 ? transfer(accounts, data) : undefined;
    case 12:
      return data.length === 10
        ? transferChecked('TransferChecked', accounts, data.readBigUInt64LE(1))
        : undefined;
    case 26:
      // The only instruction of the fee extension that moves an amount.
      return data[1] === 1 && data.length === 19
        ? transferChecked('TransferCheckedWithFee', accounts, data.readBigUInt64LE(2))
        : undefined;
    case 5: {
      const roles = named(accounts, 'source', 'authority');
      return roles && data.length === 1 ? { program: 'token', name: 'Revoke', ...roles } : undefined;
    }
    case 9: {
      const roles = named(accounts, 'account', 'destination', 'authority');
      return roles && data.length === 1 ? { program: 'token', name: 'CloseAccount', ...roles } : undefined;
    }
    case 17:
      return onAccount('SyncNative', accounts, data);
    case 22:
      return onAccount('InitializeImmutableOwner', accounts, data);
    case 38:
      return data.length === 1 ? lamportsOut('WithdrawExcessLamports', accounts) : undefined;
    case 45:
      // Everything, or a given amount: one byte says whether an amount follows.
      return (data.length === 2 && data[1] === 0) || (data.length === 10 && data[1] === 1)
        ? lamportsOut('UnwrapLamports', accounts)
        : undefined;
    default:
      return undefined;
  }
}

function transfer(accounts: readonly Address[], data: Buffer): SingleTokenInstruction | undefined {
  const roles = named(accounts, 'source', 'destination', 'authority');
  return (
    roles && { program: 'token', name: 'Transfer', ...roles, mint: null, amount: data.readBigUInt64LE(1) }
  );
}

function transferChecked(
  name: 'TransferChecked' | 'TransferCheckedWithFee',
  accounts: readonly Address[],
  amount: bigint,
): SingleTokenInstruction | undefined {
  const roles = named(accounts, 'source', 'mint', 'destination', 'authority');
  return roles && { program: 'token', name, ...roles, amount };
}

function lamportsOut(
  name: 'WithdrawExcessLamports' | 'UnwrapLamports',
  accounts: readonly Address[],
): SingleTokenInstruction | undefined {
  const roles = named(accounts, 'source', 'destination', 'authority');
  return roles && { program: 'token', name, ...roles };
}

function initializeAccount(
  owner: Address | undefined,
  { programId, accounts }: InstructionContent,
): SingleTokenInstruction | undefined {
  const roles = named(accounts, 'account', 'mint');
  if (!roles || owner === undefined) return undefined;
  return { program: 'token', name: 'InitializeAccount', programId, account: roles.account, owner };
}

function onAccount(
  name: 'SyncNative' | 'InitializeImmutableOwner',
  accounts: readonly Address[],
  data: Buffer,
): SingleTokenInstruction | undefined {
  const account = accounts[0];
  return account !== undefined && data.length === 1 ? { program: 'token', name, account } : undefined;
}
