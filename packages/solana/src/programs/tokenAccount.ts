import { encodeBase58 } from '@coffer/kernel';
import type { ChainAccount, TokenAccount } from '../port.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './ids.ts';
import { optionalAddress } from './mint.ts';
import { decodeExtensions, TOKEN_ACCOUNT_BYTES } from './tokenExtensions.ts';

const INITIALIZED = 1;
const FROZEN = 2;

/** Undefined unless the account is an initialized token account. */
export function decodeTokenAccount({ address, owner, data: bytes }: ChainAccount): TokenAccount | undefined {
  const data = Buffer.from(bytes);
  if (owner !== TOKEN_PROGRAM && owner !== TOKEN_2022_PROGRAM) return undefined;
  if (data.length !== TOKEN_ACCOUNT_BYTES) {
    if (owner !== TOKEN_2022_PROGRAM || !decodeExtensions(data, 'account')) return undefined;
  }
  const state = data[108];
  if (state !== INITIALIZED && state !== FROZEN) return undefined;

  return {
    address,
    program: owner,
    mint: encodeBase58(data.subarray(0, 32)),
    owner: encodeBase58(data.subarray(32, 64)),
    amount: data.readBigUInt64LE(64),
    isFrozen: state === FROZEN,
    delegate: optionalAddress(data, 72),
    closeAuthority: optionalAddress(data, 129),
  };
}
