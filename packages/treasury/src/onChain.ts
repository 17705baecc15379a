/** What wallets hold on the chain, and whether a transfer between two of them is worth asking for. */
import type { Address, Chain, Commitment } from '@coffer/solana';
import { reject } from './errors.ts';

/** What the treasury asks of a chain. It never signs or sends: the driver of moves does. */
export type ChainFunds = Pick<Chain, 'accounts' | 'tokenAccountsOf' | 'rentMinimum'>;

/** The token account that a wallet's tokens of a mint are in, and paid from. */
export type AssociatedTokenAddress = (owner: Address, mint: Address, tokenProgram: Address) => Address;

export interface OnChainDependencies {
  readonly chain: ChainFunds;
  readonly associatedTokenAddress: AssociatedTokenAddress;
}

/** What the wallet could pay. `mint` is `native` or a mint address. */
export async function fundsOf(
  dependencies: OnChainDependencies,
  owner: Address,
  mint: string,
  commitment: Commitment,
): Promise<bigint> {
  if (mint !== 'native') return tokensOf(dependencies, owner, mint, commitment);
  const [account] = await dependencies.chain.accounts([owner], commitment);
  return account?.lamports ?? 0n;
}

async function tokensOf(
  { chain, associatedTokenAddress }: OnChainDependencies,
  owner: Address,
  mint: Address,
  commitment: Commitment,
): Promise<bigint> {
  const accounts = await chain.tokenAccountsOf(owner, commitment);
  const account = accounts.find(
    (one) => one.mint === mint && one.address === associatedTokenAddress(owner, mint, one.program),
  );
  return account?.amount ?? 0n;
}

export interface Transfer {
  readonly from: Address;
  readonly to: Address;
  readonly mint: string;
  readonly amount: bigint;
}

/**
 * Refuses what the chain would refuse as of now, so that nothing is kept of it. What changes until it is carried out
 * the driver sees. Fees and the rent of token accounts are the fee payer's.
 */
export async function requirePayable(
  dependencies: OnChainDependencies,
  { from, to, mint, amount }: Transfer,
  insufficient: 'treasury/insufficient_wallet_funds' | 'treasury/insufficient_treasury',
): Promise<void> {
  const available = await fundsOf(dependencies, from, mint, 'confirmed');
  if (amount > available) throw reject(insufficient, { available, amount });
  if (mint !== 'native') return;

  const minimum = await dependencies.chain.rentMinimum(0);
  const received = await fundsOf(dependencies, to, mint, 'confirmed');
  for (const [address, balance] of [
    [from, available - amount],
    [to, received + amount],
  ] as const) {
    // An account of nothing is gone, which the chain allows.
    if (balance > 0n && balance < minimum) {
      throw reject('treasury/below_rent_minimum', { address, balance, minimum });
    }
  }
}
