/** Solana's virtual machine with its programs, in this process: executes, and knows nothing of blocks or time. */
// The addon itself, which takes and gives bytes: the package's own wrapper would decode and encode each transaction.

import { decodeBase58Address, encodeBase58 } from '@coffer/kernel';
import {
  Account,
  type FailedTransactionMetadata,
  LiteSvm,
  type TransactionMetadata,
} from 'litesvm/dist/internal.js';
import { type TransactionError, transactionErrorOf } from './transactionError.ts';

export interface AccountState {
  readonly lamports: bigint;
  /** The program that owns it. */
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export interface InnerInstruction {
  readonly programIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

export interface Execution {
  /** Null on success. */
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** By instruction of the message. */
  readonly innerInstructions: readonly (readonly InnerInstruction[])[];
  readonly returnData: { readonly program: string; readonly data: Uint8Array } | null;
}

export interface SimulatedExecution extends Execution {
  /** The writable accounts afterwards; empty on failure. */
  readonly accounts: ReadonlyMap<string, AccountState>;
}

export interface Vm {
  /** Undefined if it holds nothing: such an account does not exist. */
  readonly account: (address: string) => AccountState | undefined;
  readonly setAccount: (address: string, state: AccountState | undefined) => void;
  readonly setTime: (slot: bigint, unixSeconds: bigint) => void;
  /** Newest first. Lookup tables need them to be created and closed. */
  readonly setSlotHashes: (hashes: readonly { slot: bigint; hash: string }[]) => void;
  readonly rentMinimum: (bytes: number) => bigint;
  /** The bytes must have been read by `readTransaction`. */
  readonly execute: (transaction: Uint8Array) => Execution;
  readonly simulate: (transaction: Uint8Array, verifySignatures: boolean) => SimulatedExecution;
}

const SYSTEM_PROGRAM = '1'.repeat(32);

export function createVm(): Vm {
  const svm = new LiteSvm();
  // Blockhashes and duplicates are the ledger's: the machine knows one blockhash only, and no height.
  svm.setBlockhashCheck(false);
  svm.setTransactionHistory(0n);
  // Wrapped lamports are tokens of mints that every cluster has.
  svm.withNativeMints();

  return {
    account: (address) => stateOf(svm.getAccount(addressBytes(address))),
    setAccount: (address, state) => svm.setAccount(addressBytes(address), accountOf(state)),
    setTime: (slot, unixSeconds) => {
      const clock = svm.getClock();
      clock.slot = slot;
      clock.unixTimestamp = unixSeconds;
      svm.setClock(clock);
    },
    setSlotHashes: (hashes) => svm.setSlotHashes([...hashes]),
    rentMinimum: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    execute: (transaction) => executionOf(svm.sendVersionedTransaction(transaction)),
    simulate: (transaction, verifySignatures) => {
      svm.setSigverify(verifySignatures);
      try {
        const outcome = svm.simulateVersionedTransaction(transaction);
        if ('err' in outcome) return { ...executionOf(outcome), accounts: new Map() };
        const accounts = outcome.postAccounts().flatMap((found) => {
          const state = stateOf(found.account());
          return state ? [[encodeBase58(found.address), state] as const] : [];
        });
        return { ...executionOf(outcome.meta()), accounts: new Map(accounts) };
      } finally {
        svm.setSigverify(true);
      }
    },
  };
}

export function addressBytes(address: string): Uint8Array {
  const bytes = decodeBase58Address(address);
  if (!bytes) throw new TypeError(`${address} is not an address`);
  return bytes;
}

function stateOf(account: Account | null): AccountState | undefined {
  if (!account || account.lamports() === 0n) return undefined;
  return {
    lamports: account.lamports(),
    owner: encodeBase58(account.owner()),
    data: account.data(),
    executable: account.executable(),
  };
}

function accountOf(state: AccountState | undefined): Account {
  if (!state) return new Account(0n, new Uint8Array(), addressBytes(SYSTEM_PROGRAM), false, 0n);
  return new Account(state.lamports, state.data, addressBytes(state.owner), state.executable, 0n);
}

function executionOf(outcome: TransactionMetadata | FailedTransactionMetadata): Execution {
  const error = 'err' in outcome ? transactionErrorOf(outcome.err()) : null;
  const meta = 'err' in outcome ? outcome.meta() : outcome;
  const returned = meta.returnData();
  return {
    error,
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
    innerInstructions: meta.innerInstructions().map((list) =>
      list.map((inner) => ({
        programIndex: inner.instruction().programIdIndex(),
        accounts: [...inner.instruction().accounts()],
        data: inner.instruction().data(),
        stackHeight: inner.stackHeight(),
      })),
    ),
    returnData:
      returned.data().length === 0
        ? null
        : { program: encodeBase58(returned.programId()), data: returned.data() },
  };
}
