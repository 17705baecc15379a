/** Token accounts and mints, read from their bytes; of both token programs. */
import { encodeBase58 } from '@coffer/kernel';
import type { AccountState } from './vm.ts';

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';

const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;
/** Where Token-2022 says what kind of account this is, if it has extensions. */
const KIND_AT = 165;
const KIND_MINT = 1;
const KIND_TOKEN_ACCOUNT = 2;

export interface TokenAccount {
  readonly program: string;
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
  readonly delegate: string | null;
  readonly delegatedAmount: bigint;
  readonly state: 'initialized' | 'frozen';
  /** The lamports that the account must keep if it holds wrapped ones. */
  readonly nativeReserve: bigint | null;
  readonly closeAuthority: string | null;
}

export interface Mint {
  readonly program: string;
  readonly supply: bigint;
  readonly decimals: number;
  readonly mintAuthority: string | null;
  readonly freezeAuthority: string | null;
}

export const isTokenProgram = (address: string) =>
  address === TOKEN_PROGRAM || address === TOKEN_2022_PROGRAM;

export function tokenAccountOf(account: AccountState | undefined): TokenAccount | undefined {
  if (!account || !isTokenProgram(account.owner)) return undefined;
  const { data } = account;
  const isPlain = data.length === TOKEN_ACCOUNT_BYTES;
  const isExtended = data.length > KIND_AT && data[KIND_AT] === KIND_TOKEN_ACCOUNT;
  const state = data[108];
  if (!(isPlain || isExtended) || (state !== 1 && state !== 2)) return undefined;
  const view = viewOf(data);
  return {
    program: account.owner,
    mint: keyAt(data, 0),
    owner: keyAt(data, 32),
    amount: view.getBigUint64(64, true),
    delegate: optionalKeyAt(data, 72),
    delegatedAmount: view.getBigUint64(121, true),
    state: state === 2 ? 'frozen' : 'initialized',
    nativeReserve: view.getUint32(109, true) === 1 ? view.getBigUint64(113, true) : null,
    closeAuthority: optionalKeyAt(data, 129),
  };
}

export function mintOf(account: AccountState | undefined): Mint | undefined {
  if (!account || !isTokenProgram(account.owner)) return undefined;
  const { data } = account;
  const isExtended = data.length > KIND_AT && data[KIND_AT] === KIND_MINT;
  if (!(data.length === MINT_BYTES || isExtended) || data[45] !== 1) return undefined;
  return {
    program: account.owner,
    supply: viewOf(data).getBigUint64(36, true),
    decimals: data[44] ?? 0,
    mintAuthority: optionalKeyAt(data, 0),
    freezeAuthority: optionalKeyAt(data, 46),
  };
}

/** The bytes of a mint that nobody can freeze, with nothing minted yet. */
export function newMintData(mintAuthority: Uint8Array, decimals: number): Uint8Array {
  const data = Buffer.alloc(MINT_BYTES);
  data.writeUInt32LE(1, 0);
  data.set(mintAuthority, 4);
  data.writeUInt8(decimals, 44);
  data.writeUInt8(1, 45);
  return data;
}

/** An amount in Solana's JSON. */
export function uiAmountOf(amount: bigint, decimals: number) {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const fraction = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  const uiAmountString = fraction ? `${whole}.${fraction}` : whole;
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString };
}

const viewOf = (data: Uint8Array) => new DataView(data.buffer, data.byteOffset, data.byteLength);
const keyAt = (data: Uint8Array, at: number) => encodeBase58(data.subarray(at, at + 32));
const optionalKeyAt = (data: Uint8Array, at: number) =>
  viewOf(data).getUint32(at, true) === 1 ? keyAt(data, at + 4) : null;
