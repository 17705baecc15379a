/** Transfers, ready to be signed. The signing itself is elsewhere: no secret key comes here. */
import assert from 'node:assert/strict';
import { encodeBase58 } from '@coffer/kernel';
import { PublicKey, TransactionInstruction, TransactionMessage } from '@solana/web3.js';
import type { Address, Signature } from '../port.ts';
import { setComputeUnitLimit, setComputeUnitPrice } from '../programs/computeBudget.ts';
import { type Instruction, readonly } from '../programs/instruction.ts';
import { memo } from '../programs/memo.ts';
import { systemTransfer } from '../programs/system.ts';
import { createAssociatedAccountIdempotent, transferChecked } from '../programs/token.ts';
import { referenceOf } from '../reference.ts';
import { associatedTokenAddress } from './addresses.ts';

/** What fits into one packet of the network. */
export const MAX_TRANSACTION_BYTES = 1_232;
const SIGNATURE_BYTES = 64;
/** A count below this is one byte. */
const SHORT_COUNT = 128;

export interface TransferMint {
  readonly address: Address;
  readonly program: Address;
  readonly decimals: number;
}

/** So much of what is moved leaves this token account, or wallet. */
export interface TransferSource {
  readonly account: Address;
  readonly amount: bigint;
}

export interface TransferOrder {
  /** Pays the fees, and the rent where nobody else does, and is the source of nothing else. */
  readonly feePayer: Address;
  /** Wallets, also where tokens move: their token accounts follow from them. */
  readonly from: Address;
  readonly to: Address;
  readonly mint: 'native' | TransferMint;
  readonly amount: bigint;
  /** The token accounts of `from` that pay it together; left out, the one that follows from wallet and mint. */
  readonly sources?: readonly TransferSource[];
  readonly moveId: string;
  readonly blockhash: string;
  readonly priority: { readonly unitLimit: number; readonly microLamports: bigint };
  /** Whether the recipient's token account is made first, where it is missing. */
  readonly createsAccount: boolean;
  /** The wallet that pays for it in place of the fee payer. It signs. */
  readonly rentPayer?: Address | undefined;
}

export interface UnsignedTransaction {
  /** What is signed. */
  readonly message: Uint8Array;
  /** Who signs it, in this order. */
  readonly signers: readonly Address[];
  /** The wire bytes. The signatures stand in the order of `signers`. */
  readonly withSignatures: (signatures: readonly Uint8Array[]) => Uint8Array;
}

export function buildTransfer(order: TransferOrder): UnsignedTransaction {
  // Who pays the fees of strangers must not be made to pay anything else.
  assert.notEqual(order.feePayer, order.from, 'The fee payer is never the source of a transfer.');
  const transaction = compile(order.feePayer, order.blockhash, [
    setComputeUnitLimit(order.priority.unitLimit),
    setComputeUnitPrice(order.priority.microLamports),
    ...transferInstructions(order),
  ]);
  const { feePayer, from, rentPayer = from } = order;
  assert.deepEqual(new Set(transaction.signers), new Set([feePayer, from, rentPayer]));
  return transaction;
}

function transferInstructions(order: TransferOrder): readonly Instruction[] {
  const { feePayer, rentPayer = feePayer, from, to, mint, amount } = order;
  const noted = memo(order.moveId);
  if (mint === 'native')
    return [noted, withReference(systemTransfer({ from, to, lamports: amount }), order.moveId)];

  const { program, decimals } = mint;
  const destination = associatedTokenAddress(to, mint.address, program);
  const { sources = [{ account: associatedTokenAddress(from, mint.address, program), amount }] } = order;
  assert.equal(
    sources.reduce((sum, source) => sum + source.amount, 0n),
    amount,
    'All of it is paid, and no more.',
  );
  const transfers = sources.flatMap(({ account: source, amount: part }, index) => [
    // Just before each transfer: there a token account that insists on a memo looks for it. Text costs computing.
    index === 0 ? noted : memo('+'),
    withReference(
      transferChecked({
        program,
        source,
        mint: mint.address,
        destination,
        owner: from,
        amount: part,
        decimals,
      }),
      order.moveId,
    ),
  ]);
  const account = { payer: rentPayer, address: destination, owner: to, mint: mint.address, program };
  return [...(order.createsAccount ? [createAssociatedAccountIdempotent(account)] : []), ...transfers];
}

/** Both programs leave accounts alone that they did not ask for. */
const withReference = (transfer: Instruction, moveId: string): Instruction => ({
  ...transfer,
  accounts: [...transfer.accounts, readonly(referenceOf(moveId))],
});

/** A legacy message: without lookup tables nothing of it can mean another account tomorrow. */
export function compile(
  feePayer: Address,
  blockhash: string,
  instructions: readonly Instruction[],
): UnsignedTransaction {
  const compiled = new TransactionMessage({
    payerKey: new PublicKey(feePayer),
    recentBlockhash: blockhash,
    instructions: instructions.map(
      ({ programId, accounts, data }) =>
        new TransactionInstruction({
          programId: new PublicKey(programId),
          keys: accounts.map(({ address, isSigner, isWritable }) => ({
            pubkey: new PublicKey(address),
            isSigner,
            isWritable,
          })),
          data: Buffer.from(data),
        }),
    ),
  }).compileToLegacyMessage();
  const message = Uint8Array.from(compiled.serialize());
  const signers = compiled.accountKeys
    .slice(0, compiled.header.numRequiredSignatures)
    .map((key) => key.toBase58());
  assert(
    1 + signers.length * SIGNATURE_BYTES + message.length <= MAX_TRANSACTION_BYTES,
    'The transaction does not fit into a packet.',
  );
  return { message, signers, withSignatures: (signatures) => wire(message, signers, signatures) };
}

function wire(
  message: Uint8Array,
  signers: readonly Address[],
  signatures: readonly Uint8Array[],
): Uint8Array {
  assert.equal(signatures.length, signers.length, 'Each signer signs once.');
  for (const signature of signatures) assert.equal(signature.length, SIGNATURE_BYTES);
  return Uint8Array.from(Buffer.concat([Uint8Array.of(signatures.length), ...signatures, message]));
}

/** The id of a signed transaction, known before it is sent. */
export function signatureOf(transaction: Uint8Array): Signature {
  const count = transaction[0] ?? 0;
  assert(count > 0 && count < SHORT_COUNT && transaction.length > SIGNATURE_BYTES);
  return encodeBase58(transaction.subarray(1, 1 + SIGNATURE_BYTES));
}
