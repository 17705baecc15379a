import type { VerifiedSession } from './api.ts';

/** Whether the player holds this wallet now: the check a backend owes to every address a browser tells it. */
export function ownsWallet(
  session: Pick<VerifiedSession, 'walletAddress' | 'wallets'>,
  address: string,
): boolean {
  return (
    session.walletAddress === address ||
    session.wallets.some((wallet) => wallet.status === 'active' && wallet.address === address)
  );
}
