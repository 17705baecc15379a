/** The report of a reconciliation of the books with the chain. Source: docs/api.md, Reconciling. */
import type { Address, Signature } from '@coffer/solana';
import type { BooksPlace, Check, Discrepancy, Mode } from '../report.ts';

/** What the treasury holds in a currency and what it owes, in base units. */
export interface TreasuryFigures {
  /** In finalized blocks, the funds that cash-outs are paid from. */
  readonly onChain: bigint;
  /** What is owed to players and earners: available, held, pools and referrals. */
  readonly liabilities: bigint;
  /** The part of it that may have left already: cash-outs that are signed but not booked as paid. */
  readonly inFlight: bigint;
}

export interface CurrencyOnChain extends TreasuryFigures {
  readonly currencyId: number;
  readonly code: string;
  readonly mint: string;
  /** onChain + inFlight − liabilities. */
  readonly surplus: bigint;
  /** What is missing; 0 if nothing is. */
  readonly shortfall: bigint;
}

/** Came to the treasury without a move that explains it: anyone may send money there. It is surplus. */
interface UnattributedTransfer {
  readonly signature: Signature;
  readonly mint: string;
  readonly amount: bigint;
}

/** Nodes have pruned it, or have not got that far. */
export interface NotCovered {
  /** A move, or an address of the treasury whose full history the nodes no longer have. */
  readonly subject: string;
  /** Of the move; null if nothing was executed. */
  readonly signature: Signature | null;
  /** Of the move, or the last slot up to which the address was seen; null if none is known. */
  readonly slot: bigint | null;
}

export interface ChainReport extends BooksPlace {
  /** Nothing is missing and nothing disagrees, as far as could be determined. */
  readonly ok: boolean;
  /** ISO 8601 UTC with milliseconds. */
  readonly checkedAt: string;
  /** `incremental`: only transactions and ended moves that were not checked before. */
  readonly mode: Mode;
  /** Null if the app has none yet. */
  readonly treasury: Address | null;
  readonly currencies: readonly CurrencyOnChain[];
  readonly checks: readonly Check[];
  /** At most 100, the largest first. */
  readonly unattributed: readonly UnattributedTransfer[];
  /** Transactions that name the treasury in a form newer than this release: it has signed none of these. */
  readonly unreadable: readonly Signature[];
  /** What no node can tell any more: no claim is made about it. At most 100. */
  readonly notCovered: readonly NotCovered[];
  /** At most 100 per check. */
  readonly discrepancies: readonly Discrepancy[];
}
