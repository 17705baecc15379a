/** A token account as far as its custodian must know it: what it holds, and who may take it. */
import type { ChainAccount, TokenAccount } from '../port.ts';
import { decodeTokenAccount } from './tokenAccount.ts';

export interface TokenState extends TokenAccount {
  /** How much the delegate may take. */
  readonly delegatedAmount: bigint;
  /** It holds the native currency: its tokens are its lamports in excess of the rent. */
  readonly isNative: boolean;
}

/** Undefined unless the account is an initialized token account of either token program. */
export function decodeTokenState(account: ChainAccount): TokenState | undefined {
  const token = decodeTokenAccount(account);
  if (!token) return undefined;
  const data = Buffer.from(account.data);
  return {
    ...token,
    isNative: data.readUInt32LE(109) === 1,
    delegatedAmount: data.readBigUInt64LE(121),
  };
}
