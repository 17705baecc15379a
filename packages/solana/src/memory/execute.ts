/**
 * Executes a transaction as a cluster would, limited to what transfers consist of; anything else is a mistake
 * in the spec.
 */
import type { Address } from '../port.ts';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAMS,
} from '../programs/ids.ts';
import type { Instruction } from '../programs/instruction.ts';
import type { createAssociatedAccountIdempotent, transferChecked } from '../programs/token.ts';
import { associatedTokenAddress } from '../web3/addresses.ts';
import type { ReadTransaction } from '../web3/readTransaction.ts';
import {
  type Accounts,
  heldAt,
  mintAt,
  rentOf,
  tokenAccountAt,
  tokenAccountData,
  withAccount,
  withLamports,
} from './accounts.ts';

const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO_LAMPORTS = 1_000_000n;
const UNITS_PER_INSTRUCTION = 1_500n;

/** Errors of the programs, by the numbers that a cluster reports. */
const CUSTOM = { insufficientFunds: 1, mintMismatch: 3, ownerMismatch: 4, frozen: 17, decimals: 18 } as const;

/** `landed` false: the payer cannot pay the fee, so no block takes it. */
export type Executed =
  | { readonly landed: false; readonly error: string }
  | {
      readonly landed: true;
      readonly error: string | null;
      readonly accounts: Accounts;
      readonly feeLamports: bigint;
      readonly unitsConsumed: bigint;
    };

/** A program's error; anything else that is thrown is our mistake. */
class ProgramError extends Error {
  readonly detail: unknown;

  constructor(detail: unknown) {
    super();
    this.detail = detail;
  }
}

const custom = (code: number) => new ProgramError({ Custom: code });

export function execute(before: Accounts, transaction: ReadTransaction): Executed {
  const feeLamports = feeOf(transaction);
  const [payer = ''] = transaction.signers;
  const left = heldAt(before, payer).lamports - feeLamports;
  if (left < 0n || (left > 0n && left < rentOf(0)))
    return { landed: false, error: before.has(payer) ? 'InsufficientFundsForFee' : 'AccountNotFound' };

  const paid = withLamports(before, payer, -feeLamports);
  const unitsConsumed = BigInt(transaction.instructions.length) * UNITS_PER_INSTRUCTION;
  const failed = (error: unknown): Executed => ({
    landed: true,
    error: JSON.stringify(error),
    accounts: paid,
    feeLamports,
    unitsConsumed,
  });

  let accounts = paid;
  for (const [index, instruction] of transaction.instructions.entries()) {
    try {
      accounts = run(accounts, instruction);
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      return failed({ InstructionError: [index, error.detail] });
    }
  }
  const poor = transaction.accounts.findIndex((address) => fellBelowRent(before, accounts, address));
  if (poor >= 0) return failed({ InsufficientFundsForRent: { account_index: poor } });
  return { landed: true, error: null, accounts, feeLamports, unitsConsumed };
}

function feeOf({ signers, instructions }: ReadTransaction): bigint {
  const budget = (kind: number) =>
    instructions.find(({ programId, data }) => programId === COMPUTE_BUDGET_PROGRAM && data[0] === kind);
  const limit = budget(2);
  const price = budget(3);
  const priority =
    limit && price
      ? BigInt(Buffer.from(limit.data).readUInt32LE(1)) * Buffer.from(price.data).readBigUInt64LE(1)
      : 0n;
  return BigInt(signers.length) * LAMPORTS_PER_SIGNATURE + (priority + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS;
}

function fellBelowRent(before: Accounts, after: Accounts, address: Address): boolean {
  const { lamports, data } = heldAt(after, address);
  return lamports > 0n && lamports < rentOf(data.length) && lamports !== heldAt(before, address).lamports;
}

function run(accounts: Accounts, { programId, ...instruction }: Instruction): Accounts {
  const data = Buffer.from(instruction.data);
  const at = (index: number) => {
    const account = instruction.accounts[index];
    if (!account) throw new ProgramError('NotEnoughAccountKeys');
    return account.address;
  };
  if (programId === COMPUTE_BUDGET_PROGRAM || programId === MEMO_PROGRAM) return accounts;
  if (programId === SYSTEM_PROGRAM && data.readUInt32LE(0) === 2)
    return moveLamports(accounts, at(0), at(1), data.readBigUInt64LE(4));
  if (programId === ASSOCIATED_TOKEN_PROGRAM && data[0] === 1)
    return createAccount(accounts, {
      payer: at(0),
      address: at(1),
      owner: at(2),
      mint: at(3),
      program: at(5),
    });
  if (TOKEN_PROGRAMS.includes(programId) && data[0] === 12)
    return moveTokens(accounts, {
      program: programId,
      source: at(0),
      mint: at(1),
      destination: at(2),
      owner: at(3),
      amount: data.readBigUInt64LE(1),
      decimals: data.readUInt8(9),
    });
  throw new Error(`The memory chain does not run this instruction of ${programId}.`);
}

function moveLamports(accounts: Accounts, from: Address, to: Address, lamports: bigint): Accounts {
  if (heldAt(accounts, from).lamports < lamports) throw custom(CUSTOM.insufficientFunds);
  return withLamports(withLamports(accounts, from, -lamports), to, lamports);
}

function createAccount(
  accounts: Accounts,
  of: Parameters<typeof createAssociatedAccountIdempotent>[0],
): Accounts {
  if (of.address !== associatedTokenAddress(of.owner, of.mint, of.program))
    throw new ProgramError('InvalidSeeds');
  if (mintAt(accounts, of.mint)?.program !== of.program) throw new ProgramError('InvalidAccountData');
  if (tokenAccountAt(accounts, of.address)) return accounts;
  const { program, mint, owner } = of;
  const data = tokenAccountData({ program, mint, owner, amount: 0n, isFrozen: false });
  const missing = rentOf(data.length) - heldAt(accounts, of.address).lamports;
  const funded = missing > 0n ? moveLamports(accounts, of.payer, of.address, missing) : accounts;
  const { lamports } = heldAt(funded, of.address);
  return withAccount(funded, of.address, { owner: of.program, lamports, data });
}

function moveTokens(accounts: Accounts, of: Parameters<typeof transferChecked>[0]): Accounts {
  const { program } = of;
  const mint = mintAt(accounts, of.mint);
  const source = tokenAccountAt(accounts, of.source);
  const destination = tokenAccountAt(accounts, of.destination);
  if (source?.program !== program || destination?.program !== program || mint?.program !== program)
    throw new ProgramError('InvalidAccountData');
  if (source.isFrozen || destination.isFrozen) throw custom(CUSTOM.frozen);
  if (source.amount < of.amount) throw custom(CUSTOM.insufficientFunds);
  if (source.mint !== of.mint || destination.mint !== of.mint) throw custom(CUSTOM.mintMismatch);
  if (mint.decimals !== of.decimals) throw custom(CUSTOM.decimals);
  if (source.owner !== of.owner) throw custom(CUSTOM.ownerMismatch);
  const changed = [
    { ...source, amount: source.amount - of.amount },
    { ...destination, amount: destination.amount + of.amount },
  ];
  if (of.source === of.destination) return accounts;
  return changed.reduce(
    (next, account) =>
      withAccount(next, account.address, {
        ...heldAt(next, account.address),
        data: tokenAccountData(account),
      }),
    accounts,
  );
}
