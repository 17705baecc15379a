/** Accounts in the encodings that clients ask for. */
import { zstdCompressSync } from 'node:zlib';
import { encodeBase58 } from '@coffer/kernel';
import { nonceOf } from '../ledger/nonces.ts';
import { mintOf, TOKEN_2022_PROGRAM, tokenAccountOf, uiAmountOf } from '../tokens.ts';
import type { AccountState } from '../vm.ts';
import { invalidParams, invalidRequestFor } from './errors.ts';
import type { Encoding, Settings } from './params.ts';

/** Longer data takes too long to write in base58; nodes refuse it too. */
const MAXIMUM_BASE58_BYTES = 128;
const TOO_LARGE_FOR_BASE58 = 'error: data too large for bs58 encoding';
/** For accounts that pay no rent, as all here. */
const RENT_EPOCH = 2n ** 64n - 1n;

export interface AccountView {
  readonly encoding?: Encoding | null | undefined;
  readonly dataSlice?: Settings['dataSlice'];
  /** For a subscriber, who can no longer be refused. */
  readonly isNotified?: boolean | undefined;
  /** Used to find the decimals of a mint. */
  readonly account: (address: string) => AccountState | undefined;
}

export function accountJson(state: AccountState, view: AccountView) {
  return {
    lamports: state.lamports,
    owner: state.owner,
    data: dataJson(state, view),
    executable: state.executable,
    rentEpoch: RENT_EPOCH,
    space: state.data.length,
  };
}

function dataJson(state: AccountState, view: AccountView): unknown {
  const { encoding = 'binary', dataSlice } = view;
  if (encoding === 'json') throw invalidParams('Invalid params: unknown variant `json`');
  if (encoding === 'jsonParsed') {
    const parsed = parsedJson(state, view.account);
    if (parsed) return parsed;
  }
  const data = dataSlice
    ? Buffer.from(state.data).subarray(dataSlice.offset, dataSlice.offset + dataSlice.length)
    : Buffer.from(state.data);
  if (encoding === 'base64' || encoding === 'jsonParsed') return [data.toString('base64'), 'base64'];
  if (encoding === 'base64+zstd') return [zstdCompressSync(data).toString('base64'), encoding];
  if (data.length > MAXIMUM_BASE58_BYTES) {
    if (view.isNotified)
      return encoding === 'base58' ? [TOO_LARGE_FOR_BASE58, 'base58'] : TOO_LARGE_FOR_BASE58;
    throw invalidRequestFor(
      'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
    );
  }
  return encoding === 'base58' ? [encodeBase58(data), 'base58'] : encodeBase58(data);
}

function parsedJson(state: AccountState, account: AccountView['account']): object | undefined {
  const program = state.owner === TOKEN_2022_PROGRAM ? 'spl-token-2022' : 'spl-token';
  const space = state.data.length;
  const nonce = nonceOf(state);
  if (nonce) {
    const feeCalculator = { lamportsPerSignature: nonce.lamportsPerSignature.toString() };
    const info = { authority: nonce.authority, blockhash: nonce.value, feeCalculator };
    return { program: 'nonce', parsed: { type: 'initialized', info }, space };
  }
  const mint = mintOf(state);
  if (mint) {
    const { decimals, supply, mintAuthority, freezeAuthority } = mint;
    const info = { decimals, supply: supply.toString(), isInitialized: true, mintAuthority, freezeAuthority };
    return { program, parsed: { type: 'mint', info }, space };
  }
  const token = tokenAccountOf(state);
  const decimals = token && mintOf(account(token.mint))?.decimals;
  if (!token || decimals === undefined) return undefined;
  const info = {
    mint: token.mint,
    owner: token.owner,
    state: token.state,
    isNative: token.nativeReserve !== null,
    tokenAmount: uiAmountOf(token.amount, decimals),
    ...(token.delegate && {
      delegate: token.delegate,
      delegatedAmount: uiAmountOf(token.delegatedAmount, decimals),
    }),
    ...(token.closeAuthority && { closeAuthority: token.closeAuthority }),
    ...(token.nativeReserve !== null && {
      rentExemptReserve: uiAmountOf(token.nativeReserve, decimals),
    }),
  };
  return { program, parsed: { type: 'account', info }, space };
}
