/**
 * The token program instructions that we sign, and no others. Written here instead of taken from
 * @solana/spl-token (docs/adr/0018-chain-port.md); the specs compare every byte with it.
 */
import type { Address } from '../port.ts';
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM } from './ids.ts';
import { type Instruction, readonly, signer, u64, writable, writableSigner } from './instruction.ts';

const CLOSE_ACCOUNT = 9;
const TRANSFER_CHECKED = 12;
const CREATE_IDEMPOTENT = 1;

/** Between token accounts, not wallets. The program checks mint and decimals against its own records. */
export const transferChecked = (transfer: {
  readonly program: Address;
  readonly source: Address;
  readonly mint: Address;
  readonly destination: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly decimals: number;
}): Instruction => ({
  programId: transfer.program,
  accounts: [
    writable(transfer.source),
    readonly(transfer.mint),
    writable(transfer.destination),
    signer(transfer.owner),
  ],
  data: Buffer.concat([
    Uint8Array.of(TRANSFER_CHECKED),
    u64(transfer.amount),
    Uint8Array.of(transfer.decimals),
  ]),
});

/** Does nothing if the account already exists, so a race to create it fails nobody. */
export const createAssociatedAccountIdempotent = (account: {
  readonly payer: Address;
  /** As computed by `associatedTokenAddress`. */
  readonly address: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly program: Address;
}): Instruction => ({
  programId: ASSOCIATED_TOKEN_PROGRAM,
  accounts: [
    writableSigner(account.payer),
    writable(account.address),
    readonly(account.owner),
    readonly(account.mint),
    readonly(SYSTEM_PROGRAM),
    readonly(account.program),
  ],
  data: Uint8Array.of(CREATE_IDEMPOTENT),
});

/** Closes an empty token account: its rent goes to `destination`. */
export const closeAccount = (close: {
  readonly program: Address;
  readonly account: Address;
  readonly destination: Address;
  readonly owner: Address;
}): Instruction => ({
  programId: close.program,
  accounts: [writable(close.account), writable(close.destination), signer(close.owner)],
  data: Uint8Array.of(CLOSE_ACCOUNT),
});
