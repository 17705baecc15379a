/** A token account as far as its keeper must know it: what it holds, and who may take it. */
import { encodeBase58 } from '@coffer/kernel';
import type { Address, ChainAccount } from '../port.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './ids.ts';

export interface TokenState {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly delegate: Address | null;
  /** How much the delegate may take. */
  readonly delegatedAmount: bigint;
  /** It holds the native currency: its tokens are its lamports beyond the rent. */
  readonly isNative: boolean;
  readonly closeAuthority: Address | null;
}

const BASE_BYTES = 165;
/** Where Token-2022 says what kind of account it is, when there is more than the base. */
const IS_ACCOUNT = 2;
const MULTISIG_BYTES = 355;

/** Undefined where the account is no initialized token account of either token program. */
export function decodeTokenState({ owner: program, data: bytes }: ChainAccount): TokenState | undefined {
  const data = Buffer.from(bytes);
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return undefined;
  const hasExtensions =
    program === TOKEN_2022_PROGRAM && data.length !== MULTISIG_BYTES && data[BASE_BYTES] === IS_ACCOUNT;
  if (data.length !== BASE_BYTES && !hasExtensions) return undefined;
  // 1 is initialized, 2 frozen.
  if (data[108] !== 1 && data[108] !== 2) return undefined;

  return {
    mint: encodeBase58(data.subarray(0, 32)),
    owner: encodeBase58(data.subarray(32, 64)),
    amount: data.readBigUInt64LE(64),
    delegate: optionalAddress(data, 72),
    isNative: data.readUInt32LE(109) === 1,
    delegatedAmount: data.readBigUInt64LE(121),
    closeAuthority: optionalAddress(data, 129),
  };
}

/** Behind a number that says whether there is one. */
const optionalAddress = (data: Buffer, at: number): Address | null =>
  data.readUInt32LE(at) === 1 ? encodeBase58(data.subarray(at + 4, at + 36)) : null;
