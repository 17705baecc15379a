/** What a reconciliation of the books with the chain says. Source: docs/api.md, Reconciling. */
import type { Address, Signature } from '@coffer/solana';
import type { BooksPlace, Check, Discrepancy, Mode } from '../report.ts';

/** What the treasury holds in a currency and what it is for, in base units. */
export interface TreasuryFigures {
  /** In finalized blocks, where cash-outs are paid from. */
  readonly onChain: bigint;
  /** What is owed to players and earners: available, held, pools and referrals. */
  readonly liabilities: bigint;
  /** Of that, what may have left already: cash-outs that are signed and were not booked as paid. */
  readonly inFlight: bigint;
}

export interface CurrencyOnChain extends TreasuryFigures {
  readonly currencyId: number;
  readonly code: string;
  readonly mint: string;
  /** onChain + inFlight − liabilities. */
  readonly surplus: bigint;
  /** What is missing; 0 where nothing is. */
  readonly shortfall: bigint;
}

/** Came to the treasury, and no move says why: anyone may send money there. It is surplus. */
export interface UnattributedTransfer {
  readonly signature: Signature;
  readonly mint: string;
  readonly amount: bigint;
}

/** Nodes have thrown it away, or have not come so far. */
export interface NotCovered {
  /** A move; or an address of the treasury whose history nodes no longer have as a whole. */
  readonly subject: string;
  /** Of the move; null where nothing was executed. */
  readonly signature: Signature | null;
  /** Of the move, or the last one up to which the address was seen; null where none is known. */
  readonly slot: bigint | null;
}

export interface ChainReport extends BooksPlace {
  /** Nothing is missing and nothing disagrees, of what could be told. */
  readonly ok: boolean;
  /** ISO 8601 UTC with milliseconds. */
  readonly checkedAt: string;
  /** `incremental`: of transactions and ended moves only those that were not looked at before. */
  readonly mode: Mode;
  /** Null where the app has none yet. */
  readonly treasury: Address | null;
  readonly currencies: readonly CurrencyOnChain[];
  readonly checks: readonly Check[];
  /** At most 100, the largest first. */
  readonly unattributed: readonly UnattributedTransfer[];
  /** Transactions that name the treasury in a form that is newer than this release: it has signed none of these. */
  readonly unreadable: readonly Signature[];
  /** What no node can tell any more: nothing is claimed of it. At most 100. */
  readonly notCovered: readonly NotCovered[];
  /** At most 100 a check. */
  readonly discrepancies: readonly Discrepancy[];
}
