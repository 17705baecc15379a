/**
 * A signed legacy transaction, parsed. For transactions that we have built ourselves; it validates nothing.
 */
import type { Address } from '../port.ts';
import type { Instruction } from '../programs/instruction.ts';
import { web3 } from './web3.ts';

const SIGNATURE_BYTES = 64;

export interface ReadTransaction {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
  readonly blockhash: string;
  /** In the order of the message: the signers first, starting with the fee payer. */
  readonly accounts: readonly Address[];
  readonly signers: readonly Address[];
  readonly instructions: readonly Instruction[];
}

/** Throws if the bytes are not a legacy transaction. */
export function readTransaction(transaction: Uint8Array): ReadTransaction {
  const count = transaction[0] ?? 0;
  const message = transaction.slice(1 + count * SIGNATURE_BYTES);
  const decoded = web3().Message.from(Buffer.from(message));
  const accounts = decoded.accountKeys.map((key) => key.toBase58());
  const addressAt = (index: number) => {
    const address = accounts[index];
    if (address === undefined) throw new Error(`The message has no account ${index}.`);
    return address;
  };
  return {
    signatures: Array.from({ length: count }, (_, index) =>
      transaction.slice(1 + index * SIGNATURE_BYTES, 1 + (index + 1) * SIGNATURE_BYTES),
    ),
    message,
    blockhash: decoded.recentBlockhash,
    accounts,
    signers: accounts.slice(0, decoded.header.numRequiredSignatures),
    instructions: decoded.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
      programId: addressAt(programIdIndex),
      accounts: accountKeyIndexes.map((index) => ({
        address: addressAt(index),
        isSigner: decoded.isAccountSigner(index),
        isWritable: decoded.isAccountWritable(index),
      })),
      data,
    })),
  };
}
