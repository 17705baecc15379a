/** The checks before a move is signed, and the transaction to sign. */
import assert from 'node:assert/strict';
import { Rejection } from '@coffer/kernel';
import {
  type Address,
  buildTransfer,
  type Chain,
  canSpare,
  planTransfer,
  type RecentBlockhash,
  type TransferProblem,
  type UnsignedTransaction,
} from '@coffer/solana';
import type { MoveTerms } from './domain/move.ts';
import type { MoveFailureCode } from './errors.ts';
import type { PayerFunds } from './feePayers.ts';
import type { MovePolicy } from './policy.ts';
import { isRentOfApp } from './rent.ts';
import type { PayingWallet } from './types.ts';

/** A reason against the move that is likely to last. Nothing is signed. */
export class MoveRefusal extends Error {
  override readonly name = 'MoveRefusal';
  readonly code: MoveFailureCode;
  constructor(code: MoveFailureCode, reason: string) {
    super(`${code}: ${reason}`);
    this.code = code;
  }
}

/** Temporary trouble on our side: someone must look, and the move waits. */
class PreparationError extends Error {
  override readonly name = 'PreparationError';
}

export interface Prepared {
  readonly unsigned: UnsignedTransaction;
  readonly recent: RecentBlockhash;
  /** Signs in addition to the paying wallet and the fee payer, because it pays for an account. */
  readonly rentPayer: PayingWallet | undefined;
}

export interface FeePayer extends PayingWallet {
  readonly funds: PayerFunds;
}

/** Who can pay for the account of a recipient without one. */
export interface RentSources {
  /** The player's wallet whose key is kept and in use here; undefined for any other address. */
  readonly walletAt: (address: Address) => Promise<PayingWallet | undefined>;
  /** Whether the app pays for this move's account; if so, it is counted from then on. */
  readonly isSponsored: () => Promise<boolean>;
}

const SIGNATURE_FEE_LAMPORTS = 5_000n;
const MICRO_LAMPORTS = 1_000_000n;
const SIGNATURE_BYTES = 64;

export async function prepareTransfer(
  chain: Chain,
  terms: MoveTerms,
  feePayer: FeePayer,
  policy: MovePolicy,
  sources: RentSources,
): Promise<Prepared> {
  const { from, toAddress: to, mint, decimals, amount, moveId } = terms;
  const plan = await planTransfer(chain, {
    from: from.address,
    to,
    mint,
    decimals,
    amount,
    // Other accounts of the owner do not count as the treasury's.
    onlyAssociated: terms.operation === 'cashOut',
  });
  if (plan.outcome !== 'possible') throw refusalOf(plan, amount);
  const rentPayer = plan.createsAccount ? await rentPayerOf(chain, terms, plan.rent, sources) : undefined;
  const { address: payer, funds } = feePayer;
  const signatures = BigInt(new Set([payer, from.address, rentPayer?.address ?? payer]).size);
  mustAfford(funds, policy, { signatures, rent: rentPayer ? 0n : plan.rent });

  const [asked, recent] = await Promise.all([
    chain.recentPriorityFee([payer, ...plan.sources.map(({ account }) => account), plan.destination]),
    chain.latestBlockhash(),
  ]);
  const unsigned = buildTransfer({
    feePayer: payer,
    from: from.address,
    to,
    mint: plan.mint,
    amount,
    sources: plan.sources,
    moveId,
    blockhash: recent.blockhash,
    priority: { unitLimit: policy.unitLimit, microLamports: priceWithin(policy, asked) },
    createsAccount: plan.createsAccount,
    rentPayer: rentPayer?.address,
  });
  await mustSucceed(chain, unsigned);
  return { unsigned, recent, rentPayer };
}

/**
 * Undefined if the fee payer pays. That must be settled even when little is missing now: an account paid for beforehand
 * can be closed by others before this transaction lands, and then the fee payer would pay all of it.
 */
async function rentPayerOf(
  chain: Chain,
  terms: MoveTerms,
  rent: bigint,
  { walletAt, isSponsored }: RentSources,
): Promise<PayingWallet | undefined> {
  if (isRentOfApp(terms)) return undefined;
  const wallet = terms.operation === 'cashOut' ? await walletAt(terms.toAddress) : terms.from;
  if (wallet && (await canSpare(chain, wallet.address, rent))) return wallet;
  if (await isSponsored()) return undefined;
  throw new MoveRefusal('moves/rent_not_sponsored', `an account costs ${rent}`);
}

function refusalOf(problem: TransferProblem, amount: bigint): MoveRefusal {
  switch (problem.outcome) {
    case 'insufficientFunds':
      return new MoveRefusal(
        'moves/insufficient_source_funds',
        `${problem.available} of ${amount} available`,
      );
    case 'belowRentMinimum':
      return new MoveRefusal('moves/below_rent_minimum', `an account must hold ${problem.minimum}`);
    case 'unacceptableRecipient':
      return new MoveRefusal('moves/recipient_refused', problem.reason);
    case 'unsupportedMint':
      return new MoveRefusal('moves/mint_not_supported', problem.reason);
    case 'frozen':
      return new MoveRefusal(
        problem.side === 'source' ? 'moves/source_frozen' : 'moves/recipient_refused',
        `${problem.account} is frozen`,
      );
    default:
      throw new assert.AssertionError({ message: 'no such problem', actual: problem satisfies never });
  }
}

/** Throws if the fee payer cannot pay that; by default, for the cheapest transfer. */
export function mustAfford(
  { lamports: held, minimum }: PayerFunds,
  policy: Pick<MovePolicy, 'priorityFeeCapLamports' | 'rentAllowanceLamports'>,
  { signatures, rent } = { signatures: 2n, rent: 0n },
): void {
  if (rent > policy.rentAllowanceLamports) {
    throw new PreparationError(`An account costs ${rent} lamports of rent; the allowance is less.`);
  }
  const needed = signatures * SIGNATURE_FEE_LAMPORTS + policy.priorityFeeCapLamports + rent + minimum;
  if (held < needed) {
    throw new PreparationError(`The fee payer holds ${held} lamports and needs ${needed}: send it some.`);
  }
}

/** The fee is price times limit. */
function priceWithin(
  { priorityFeeCapLamports, unitLimit }: Pick<MovePolicy, 'priorityFeeCapLamports' | 'unitLimit'>,
  asked: bigint,
): bigint {
  // Rounds down: never more than the cap.
  const most = (priorityFeeCapLamports * MICRO_LAMPORTS) / BigInt(unitLimit);
  return asked < most ? asked : most;
}

async function mustSucceed(chain: Pick<Chain, 'simulate'>, unsigned: UnsignedTransaction): Promise<void> {
  const noSignatures = unsigned.signers.map(() => new Uint8Array(SIGNATURE_BYTES));
  const { error, logs } = await chain.simulate(unsigned.withSignatures(noSignatures), []);
  if (error === null) return;
  const reason = [error, ...logs.slice(-3)].join(' | ');
  // Only a refusal by the programs, or an account below its minimum, says anything about the transfer.
  if (/InstructionError|InsufficientFundsForRent/.test(error))
    throw new MoveRefusal('moves/refused_by_chain', reason);
  throw new PreparationError(`The simulation failed: ${reason}`);
}

/** A refusal by the signer that lasts: the wallet was exported, or does not exist. */
export const isLastingRefusal = (error: unknown): boolean =>
  error instanceof Rejection &&
  error.code.startsWith('wallets/') &&
  error.code !== 'wallets/keys_unavailable';
