/** Reads back the transfers that `buildTransfer` makes, and nothing else: for the simulated chain. */
import { encodeBase58 } from '@coffer/kernel';
import {
  type Address,
  COMPUTE_BUDGET_PROGRAM,
  SYSTEM_PROGRAM,
  signatureOf,
  TOKEN_PROGRAMS,
} from '@coffer/solana';

export interface SentTransfer {
  readonly signature: string;
  readonly blockhash: string;
  readonly signers: readonly Address[];
  readonly addresses: readonly Address[];
  readonly amount: bigint;
  /** What it offers beyond the fee of its signatures, in lamports. */
  readonly priorityFee: bigint;
  /** Undefined for lamports; then `from` and `to` are wallets. */
  readonly mint: Address | undefined;
  readonly from: Address;
  readonly to: Address;
}

const SIGNATURE_BYTES = 64;
const ADDRESS_BYTES = 32;
const HEADER_BYTES = 3;

export function decodeTransfer(transaction: Uint8Array): SentTransfer {
  const bytes = Buffer.from(transaction);
  const signatureCount = bytes[0] ?? 0;
  const message = bytes.subarray(1 + signatureCount * SIGNATURE_BYTES);
  const addressCount = message[HEADER_BYTES] ?? 0;
  let at = HEADER_BYTES + 1;
  const take = (length: number) => {
    at += length;
    return message.subarray(at - length, at);
  };
  const addresses = Array.from({ length: addressCount }, () => encodeBase58(take(ADDRESS_BYTES)));
  const blockhash = encodeBase58(take(ADDRESS_BYTES));
  const instructions = Array.from({ length: take(1)[0] ?? 0 }, () => {
    const program = addresses[take(1)[0] ?? 0] ?? '';
    const accounts = [...take(take(1)[0] ?? 0)].map((index) => addresses[index] ?? '');
    return { program, accounts, data: take(take(1)[0] ?? 0) };
  });
  const budget = instructions.filter(({ program }) => program === COMPUTE_BUDGET_PROGRAM);
  const limit = budget.find(({ data }) => data[0] === 2)?.data.readUInt32LE(1) ?? 0;
  const price = budget.find(({ data }) => data[0] === 3)?.data.readBigUInt64LE(1) ?? 0n;
  const common = {
    priorityFee: (BigInt(limit) * price) / 1_000_000n,
    signature: signatureOf(transaction),
    blockhash,
    signers: addresses.slice(0, signatureCount),
    addresses,
  };
  for (const { program, accounts, data } of instructions) {
    if (program === SYSTEM_PROGRAM) {
      const [from = '', to = ''] = accounts;
      return { ...common, mint: undefined, from, to, amount: data.readBigUInt64LE(4) };
    }
    if (TOKEN_PROGRAMS.includes(program)) {
      const [from = '', mint = '', to = ''] = accounts;
      return { ...common, mint, from, to, amount: data.readBigUInt64LE(1) };
    }
  }
  throw new Error('That transaction transfers nothing.');
}
