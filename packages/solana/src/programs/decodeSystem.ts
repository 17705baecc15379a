/** Instructions of the system program. Source: https://docs.rs/solana-system-interface (SystemInstruction). */
import type { Address } from '../port.ts';
import { addressAt, type InstructionContent, named } from './readInstruction.ts';

export type SystemInstruction =
  | {
      readonly program: 'system';
      readonly name: 'Transfer';
      readonly from: Address;
      readonly to: Address;
      readonly lamports: bigint;
    }
  | {
      readonly program: 'system';
      readonly name: 'CreateAccountWithSeed';
      readonly from: Address;
      readonly created: Address;
      readonly base: Address;
      readonly lamports: bigint;
      /** The program that will own it. */
      readonly owner: Address;
    }
  /** They define, or claim, who owns an account. */
  | {
      readonly program: 'system';
      readonly name:
        | 'CreateAccount'
        | 'Assign'
        | 'Allocate'
        | 'AllocateWithSeed'
        | 'AssignWithSeed'
        | 'TransferWithSeed';
    }
  | {
      readonly program: 'system';
      readonly name:
        | 'AdvanceNonceAccount'
        | 'WithdrawNonceAccount'
        | 'InitializeNonceAccount'
        | 'AuthorizeNonceAccount'
        | 'UpgradeNonceAccount';
    };

/** Undefined unless it is one of them, byte for byte. */
export function decodeSystem({ accounts, data: bytes }: InstructionContent): SystemInstruction | undefined {
  const data = Buffer.from(bytes);
  if (data.length < 4) return undefined;
  const { length } = data;
  switch (data.readUInt32LE(0)) {
    case 0:
      return length === 52 ? { program: 'system', name: 'CreateAccount' } : undefined;
    case 1:
      return length === 36 ? { program: 'system', name: 'Assign' } : undefined;
    case 2:
      return length === 12 ? transfer(accounts, data) : undefined;
    case 3:
      return createAccountWithSeed(accounts, data);
    case 4:
      return length === 4 ? { program: 'system', name: 'AdvanceNonceAccount' } : undefined;
    case 5:
      return length === 12 ? { program: 'system', name: 'WithdrawNonceAccount' } : undefined;
    case 6:
      return length === 36 ? { program: 'system', name: 'InitializeNonceAccount' } : undefined;
    case 7:
      return length === 36 ? { program: 'system', name: 'AuthorizeNonceAccount' } : undefined;
    case 8:
      return length === 12 ? { program: 'system', name: 'Allocate' } : undefined;
    case 9:
      return endOfSeed(data, 36) + 40 === length
        ? { program: 'system', name: 'AllocateWithSeed' }
        : undefined;
    case 10:
      return endOfSeed(data, 36) + 32 === length ? { program: 'system', name: 'AssignWithSeed' } : undefined;
    case 11:
      return endOfSeed(data, 12) + 32 === length
        ? { program: 'system', name: 'TransferWithSeed' }
        : undefined;
    case 12:
      return length === 4 ? { program: 'system', name: 'UpgradeNonceAccount' } : undefined;
    default:
      return undefined;
  }
}

function transfer(accounts: readonly Address[], data: Buffer): SystemInstruction | undefined {
  const roles = named(accounts, 'from', 'to');
  if (!roles) return undefined;
  const { from, to } = roles;
  return { program: 'system', name: 'Transfer', from, to, lamports: data.readBigUInt64LE(4) };
}

function createAccountWithSeed(accounts: readonly Address[], data: Buffer): SystemInstruction | undefined {
  const roles = named(accounts, 'from', 'created');
  const end = endOfSeed(data, 36);
  if (!roles || end + 48 !== data.length) return undefined;
  const { from, created } = roles;
  const base = addressAt(data, 4);
  return {
    program: 'system',
    name: 'CreateAccountWithSeed',
    from,
    created,
    base,
    lamports: data.readBigUInt64LE(end),
    owner: addressAt(data, end + 16),
  };
}

/**
 * The end of the text whose eight-byte length is at the offset; past the end of the data if there is no
 * length.
 */
function endOfSeed(data: Buffer, lengthAt: number): number {
  if (data.length < lengthAt + 8) return Number.POSITIVE_INFINITY;
  return lengthAt + 8 + Number(data.readBigUInt64LE(lengthAt));
}
