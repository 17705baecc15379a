/**
 * What the chain knows of a move, whatever our log says: a log restored from a backup may have lost that something was
 * signed. Every transfer names an address derived from the move's id, so the search is exact.
 */
import {
  type Address,
  type Chain,
  type ExecutedTransaction,
  referenceOf,
  type Signature,
  TransactionUnreadableError,
} from '@coffer/solana';
import type { MoveTerms, OnChain } from './domain/move.ts';

/** The effect of a move on the chain: an amount, from one wallet to another. */
export type TransferTerms = Pick<MoveTerms, 'moveId' | 'mint' | 'amount' | 'toAddress'> & {
  readonly from: Pick<MoveTerms['from'], 'address'>;
};

export type Decided = { readonly outcome: 'moved' | 'failed' } & OnChain;
export type Found =
  | Decided
  /** Something that names the move is not finalized yet: its result must be awaited. */
  | { readonly outcome: 'undecided'; readonly signature: string };

export interface Searched {
  /** Undefined if nothing of ours was ever in a block, as far as the chain knows. */
  readonly found: Found | undefined;
  /** Of what was looked at, the `MOST_NEWEST` newest. */
  readonly newest: readonly Signature[];
}

export type SearchedChain = Pick<Chain, 'transactionsOf' | 'transaction'>;

const PAGE = 1_000;
const MOST_NEWEST = 10;

export async function searchOnChain(
  chain: SearchedChain,
  terms: TransferTerms,
  feePayer: Address,
): Promise<Searched> {
  let failed: Found | undefined;
  let undecided: Found | undefined;
  const newest: Signature[] = [];
  for await (const signature of namedBy(chain, referenceOf(terms.moveId))) {
    if (newest.length < MOST_NEWEST) newest.push(signature);
    const verdict = await judge(chain, signature, terms, feePayer);
    if (verdict === 'undecided') undecided = { outcome: 'undecided', signature };
    else if (verdict?.outcome === 'moved') return { found: verdict, newest };
    else failed ??= verdict;
  }
  return { found: undecided ?? failed, newest };
}

/** Whether anything names the move that the search has not looked at: it would be among the newest. */
export async function isNamedSince(
  chain: Pick<Chain, 'transactionsOf'>,
  moveId: string,
  newest: readonly Signature[],
): Promise<boolean> {
  const named = await chain.transactionsOf(referenceOf(moveId), { limit: MOST_NEWEST });
  return named.some(({ signature }) => !newest.includes(signature));
}

/** The effect of the transaction for the move; undefined if it is not the move's: anybody can name the move. */
export async function judge(
  chain: Pick<Chain, 'transaction'>,
  named: Signature,
  terms: TransferTerms,
  feePayer: Address,
): Promise<Decided | 'undecided' | undefined> {
  const executed = await readable(chain, named);
  if (!executed) return executed === undefined ? 'undecided' : undefined;
  const { signature, slot, error, signers } = executed;
  if (signers[0] !== feePayer || !signers.includes(terms.from.address)) return undefined;
  if (!isNamedBy(executed, terms.moveId)) return undefined;
  if (error !== null) return { outcome: 'failed', signature, slot };
  return movedExactly(executed, terms, feePayer) ? { outcome: 'moved', signature, slot } : undefined;
}

/** Null for a transaction in a form that we have never signed; undefined while it is not known to be finalized. */
async function readable(chain: Pick<Chain, 'transaction'>, signature: Signature) {
  try {
    return await chain.transaction(signature);
  } catch (error) {
    if (error instanceof TransactionUnreadableError) return null;
    throw error;
  }
}

async function* namedBy(chain: Pick<Chain, 'transactionsOf'>, reference: Address) {
  let before: string | undefined;
  for (;;) {
    const page = await chain.transactionsOf(reference, {
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    });
    for (const { signature } of page) yield signature;
    if (page.length < PAGE) return;
    before = page.at(-1)?.signature;
  }
}

/** Another move may have the same amount and the same wallets. */
function isNamedBy({ lamports }: ExecutedTransaction, moveId: string): boolean {
  const reference = referenceOf(moveId);
  return lamports.some(({ address }) => address === reference);
}

function movedExactly(executed: ExecutedTransaction, terms: TransferTerms, feePayer: Address): boolean {
  const { from, toAddress, amount } = terms;
  const gained = terms.mint === 'native' ? lamportsGained(executed) : tokensGained(executed, terms.mint);
  // The fee payer's lamports change by the fee as well.
  const paysFeeFromIt = terms.mint === 'native' && toAddress === feePayer;
  return gained(from.address) === -amount && (paysFeeFromIt || gained(toAddress) === amount);
}

const lamportsGained =
  ({ lamports }: ExecutedTransaction) =>
  (wallet: Address): bigint =>
    lamports
      .filter(({ address }) => address === wallet)
      .reduce((sum, { before, after }) => sum + after - before, 0n);

const tokensGained =
  ({ tokens }: ExecutedTransaction, mint: Address) =>
  (wallet: Address): bigint =>
    tokens
      .filter((one) => one.owner === wallet && one.mint === mint)
      .reduce((sum, { before, after }) => sum + after - before, 0n);
