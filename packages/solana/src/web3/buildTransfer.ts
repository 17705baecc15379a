/** Builds transfers, ready to be signed. Signing happens elsewhere: no secret key is ever passed in. */
import assert from 'node:assert/strict';
import { encodeBase58 } from '@coffer/kernel';
import type { Address, Signature } from '../port.ts';
import { setComputeUnitLimit, setComputeUnitPrice } from '../programs/computeBudget.ts';
import { type Instruction, readonly } from '../programs/instruction.ts';
import { memo } from '../programs/memo.ts';
import { systemTransfer } from '../programs/system.ts';
import { createAssociatedAccountIdempotent, transferChecked } from '../programs/token.ts';
import { referenceOf } from '../reference.ts';
import { associatedTokenAddress } from './addresses.ts';
import { web3 } from './web3.ts';

/** The size of a network packet. */
export const MAX_TRANSACTION_BYTES = 1_232;
const SIGNATURE_BYTES = 64;
/** A smaller count takes one byte. */
const SHORT_COUNT = 128;

export interface TransferMint {
  readonly address: Address;
  readonly program: Address;
  readonly decimals: number;
}

/** The amount that leaves this token account, or wallet. */
export interface TransferSource {
  readonly account: Address;
  readonly amount: bigint;
}

export interface TransferOrder {
  /** Pays the fees, and the rent unless somebody else does, and is never the source. */
  readonly feePayer: Address;
  /** Wallet addresses, even for tokens: their token accounts are derived from them. */
  readonly from: Address;
  readonly to: Address;
  readonly mint: 'native' | TransferMint;
  readonly amount: bigint;
  /** The token accounts of `from` that pay together; default: the associated one. */
  readonly sources?: readonly TransferSource[];
  readonly moveId: string;
  readonly blockhash: string;
  readonly priority: { readonly unitLimit: number; readonly microLamports: bigint };
  /** Whether to create the recipient's token account first, if it is missing. */
  readonly createsAccount: boolean;
  /** The wallet that pays for it instead of the fee payer. It signs. */
  readonly rentPayer?: Address | undefined;
}

export interface UnsignedTransaction {
  /** The bytes to sign. */
  readonly message: Uint8Array;
  /** The signers, in order. */
  readonly signers: readonly Address[];
  /** The wire bytes. Signatures are in the order of `signers`. */
  readonly withSignatures: (signatures: readonly Uint8Array[]) => Uint8Array;
}

export function buildTransfer(order: TransferOrder): UnsignedTransaction {
  // A payer of others' fees must not be made to pay anything else.
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
    // Directly before each transfer, where a token account that requires a memo looks for it. Text costs compute units.
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

/** Both programs ignore accounts that they did not ask for. */
const withReference = (transfer: Instruction, moveId: string): Instruction => ({
  ...transfer,
  accounts: [...transfer.accounts, readonly(referenceOf(moveId))],
});

/** A legacy message: without lookup tables none of it can refer to another account later. */
export function compile(
  feePayer: Address,
  blockhash: string,
  instructions: readonly Instruction[],
): UnsignedTransaction {
  const { PublicKey, TransactionInstruction, TransactionMessage } = web3();
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
