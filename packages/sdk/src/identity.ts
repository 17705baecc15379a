import type { VerifiedSession } from './api.ts';

/**
 * Whether the player holds this wallet now: a backend must check this for every address that a browser sends
 * it.
 */
export function ownsWallet(
  session: Pick<VerifiedSession, 'walletAddress' | 'wallets'>,
  address: string,
): boolean {
  return (
    session.walletAddress === address ||
    session.wallets.some((wallet) => wallet.status === 'active' && wallet.address === address)
  );
}
