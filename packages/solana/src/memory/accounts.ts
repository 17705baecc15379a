/** The accounts of the memory chain: their contents, and the bytes that represent them. */
import assert from 'node:assert/strict';
import { decodeBase58Address } from '@coffer/kernel';
import type { Address, ChainAccount, TokenAccount } from '../port.ts';
import { SYSTEM_PROGRAM } from '../programs/ids.ts';
import { decodeMint, type Mint } from '../programs/mint.ts';
import { decodeTokenAccount } from '../programs/tokenAccount.ts';
import { ACCOUNT_TYPES, newTokenAccountBytes, TOKEN_ACCOUNT_BYTES } from '../programs/tokenExtensions.ts';

export interface HeldAccount {
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: Uint8Array;
}

/** All accounts after a block. Immutable: the next block has a new map. */
export type Accounts = ReadonlyMap<Address, HeldAccount>;

const LAMPORTS_PER_BYTE = 6_960n;
/** The size of an account besides its data. */
const ACCOUNT_OVERHEAD_BYTES = 128;

export const rentOf = (bytes: number): bigint => BigInt(bytes + ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE;

const NOTHING: HeldAccount = { owner: SYSTEM_PROGRAM, lamports: 0n, data: new Uint8Array() };

export const heldAt = (accounts: Accounts, address: Address): HeldAccount => accounts.get(address) ?? NOTHING;

export function chainAccountAt(accounts: Accounts, address: Address): ChainAccount | undefined {
  const held = accounts.get(address);
  return held && { address, ...held, isExecutable: false };
}

export function tokenAccountAt(accounts: Accounts, address: Address): TokenAccount | undefined {
  const account = chainAccountAt(accounts, address);
  return account && decodeTokenAccount(account);
}

export function mintAt(accounts: Accounts, address: Address): Mint | undefined {
  const account = chainAccountAt(accounts, address);
  return account && decodeMint(account);
}

/** An account without lamports does not exist. */
export function withLamports(accounts: Accounts, address: Address, change: bigint): Accounts {
  const held = heldAt(accounts, address);
  const lamports = held.lamports + change;
  assert(lamports >= 0n);
  const next = new Map(accounts);
  if (lamports === 0n) next.delete(address);
  else next.set(address, { ...held, lamports });
  return next;
}

export const withAccount = (accounts: Accounts, address: Address, account: HeldAccount): Accounts =>
  new Map(accounts).set(address, account);

const bytesOf = (address: Address): Uint8Array =>
  decodeBase58Address(address) ?? assert.fail(`${address} is not an address.`);

export function mintData(mint: Pick<Mint, 'decimals' | 'freezeAuthority'>): Uint8Array {
  const data = Buffer.alloc(82);
  data.writeUInt8(mint.decimals, 44);
  data.writeUInt8(1, 45);
  if (mint.freezeAuthority) {
    data.writeUInt32LE(1, 46);
    data.set(bytesOf(mint.freezeAuthority), 50);
  }
  return data;
}

const STATES = { initialized: 1, frozen: 2 } as const;
const IMMUTABLE_OWNER = 7;

export function tokenAccountData(
  account: Pick<TokenAccount, 'program' | 'mint' | 'owner' | 'amount' | 'isFrozen'>,
): Uint8Array {
  const data = Buffer.alloc(newTokenAccountBytes(account.program));
  if (data.length > TOKEN_ACCOUNT_BYTES) {
    data.writeUInt8(ACCOUNT_TYPES.account, TOKEN_ACCOUNT_BYTES);
    data.writeUInt16LE(IMMUTABLE_OWNER, TOKEN_ACCOUNT_BYTES + 1);
  }
  data.set(bytesOf(account.mint), 0);
  data.set(bytesOf(account.owner), 32);
  data.writeBigUInt64LE(account.amount, 64);
  data.writeUInt8(account.isFrozen ? STATES.frozen : STATES.initialized, 108);
  return data;
}
