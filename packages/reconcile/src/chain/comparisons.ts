/** Compares the chain with the books. Pure. */
import type { Decided } from '@coffer/moves';
import type { Address, ExecutedTransaction, Signature } from '@coffer/solana';
import type { Discrepancy } from '../report.ts';
import type { CurrencyOnChain, TreasuryFigures } from './chainReport.ts';

export type ChainCheck = 'chain/confirmed_moves' | 'chain/failed_moves' | 'chain/unknown_transfer';

export interface CurrencyOfChain {
  readonly id: number;
  readonly code: string;
  /** `native` or a mint address. */
  readonly mint: string;
}

/** Currencies of one mint share its funds: a surplus or shortfall is reported with each of them. */
export function currenciesOnChain(
  found: readonly { readonly currency: CurrencyOfChain; readonly figures: TreasuryFigures }[],
): readonly CurrencyOnChain[] {
  return found.map(({ currency: { id: currencyId, code, mint }, figures }) => {
    const owed = found
      .filter(({ currency }) => currency.mint === mint)
      .reduce((sum, { figures: { liabilities, inFlight } }) => sum + liabilities - inFlight, 0n);
    const surplus = figures.onChain - owed;
    const shortfall = surplus < 0n ? -surplus : 0n;
    return { currencyId, code, mint, ...figures, surplus, shortfall };
  });
}

export interface TreasuryChange {
  readonly mint: string;
  /** Negative if it left. */
  readonly change: bigint;
}

/**
 * What a transaction did to the treasury, in the mints of the app's currencies. Other mints are not its
 * money.
 */
export function treasuryChanges(
  { lamports, tokens }: Pick<ExecutedTransaction, 'lamports' | 'tokens'>,
  treasury: Address,
  mints: readonly string[],
): readonly TreasuryChange[] {
  const changes = mints.map((mint) => {
    const own =
      mint === 'native'
        ? lamports.filter(({ address }) => address === treasury)
        : tokens.filter((token) => token.owner === treasury && token.mint === mint);
    return { mint, change: own.reduce((sum, { before, after }) => sum + after - before, 0n) };
  });
  return changes.filter(({ change }) => change !== 0n);
}

/** A final transaction that changed the treasury differently from what moves say. */
export interface UnmatchedTransfer extends TreasuryChange {
  readonly signature: Signature;
  /** The change according to the moves that name it; 0 if there are none. */
  readonly byMoves: bigint;
}

export type TransferVerdict =
  | { readonly verdict: 'ofMoves' }
  | { readonly verdict: 'unattributed'; readonly amount: bigint }
  | { readonly verdict: 'unknown'; readonly discrepancy: Discrepancy };

/** Whatever leaves must belong to a move, to the unit. More may arrive than moves say, never less. */
export function transferVerdict({ signature, mint, change, byMoves }: UnmatchedTransfer): TransferVerdict {
  if (change === byMoves) return { verdict: 'ofMoves' };
  const claimed = byMoves > 0n ? byMoves : 0n;
  if (change > claimed) return { verdict: 'unattributed', amount: change - claimed };
  const figures = (figure: bigint) => ({ mint, change: figure.toString() });
  return {
    verdict: 'unknown',
    discrepancy: {
      check: 'chain/unknown_transfer',
      subject: signature,
      expected: byMoves === 0n ? null : figures(byMoves),
      actual: figures(change),
    },
  };
}

/** An ended move, according to the books. */
export interface EndedMove {
  readonly moveId: string;
  readonly status: 'confirmed' | 'failed';
  readonly signature: Signature | null;
  readonly mint: string;
  readonly amount: bigint;
  readonly fromAddress: Address;
  readonly toAddress: Address;
  /** Null if nothing was executed. */
  readonly slot: bigint | null;
  readonly requestedAt: Date;
}

/** What the chain shows for a move; `untold`: no node can tell, or none has got that far. */
export type MoveOnChain = Pick<Decided, 'outcome' | 'signature'> | 'untold' | undefined;

/** Undefined if the chain confirms how the move ended, or if nobody can tell. */
export function endedMoveDiscrepancy(move: EndedMove, found: MoveOnChain): Discrepancy | undefined {
  if (found === 'untold') return undefined;
  const outcome = found?.outcome;
  const isMoved = outcome === 'moved';
  if (isMoved === (move.status === 'confirmed')) return undefined;
  const { moveId: subject, signature, mint, amount, fromAddress: from, toAddress: to } = move;
  if (found && isMoved) {
    return { check: 'chain/failed_moves', subject, expected: null, actual: { signature: found.signature } };
  }
  return {
    check: 'chain/confirmed_moves',
    subject,
    expected: { signature, from, to, mint, amount: amount.toString() },
    actual: outcome === 'failed' ? { signature, outcome } : null,
  };
}
