/**
 * An app's own addresses. What a player's wallet sends there is in nobody's books: a deposit must be requested as one.
 */
import type { Deadline } from '@coffer/event-store';
import { environment } from '@coffer/kernel';
import {
  type Address,
  associatedTokenAddress,
  type Chain,
  decodeTokenState,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '@coffer/solana';
import { operatorWalletRole } from './operator/domain/operatorWallet.events.ts';
import type { OperatorWallets } from './operator/operatorWallets.ts';

/** The app's treasuries and fee payers in both environments. */
export type OwnAddressesOf = (appId: string, deadline: Deadline) => Promise<readonly Address[]>;

export const ownAddressesOf =
  (operatorWallets: Pick<OperatorWallets, 'find'>): OwnAddressesOf =>
  async (appId, deadline) => {
    const owners = environment.options.flatMap((one) =>
      operatorWalletRole.options.map((role) => ({ environment: one, appId, role })),
    );
    const found = await Promise.all(owners.map((owner) => operatorWallets.find(owner, deadline)));
    return found.flatMap((wallet) => wallet?.address ?? []);
  };

/** Whether that address is a token account of one of the owners, or would be one for these mints if it were made. */
export async function isTokenAccountOf(
  owners: readonly Address[],
  address: Address,
  mints: readonly Address[],
  chain: Pick<Chain, 'accounts'>,
): Promise<boolean> {
  const programs = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
  const isAssociated = owners.some((owner) =>
    mints.some((mint) =>
      programs.some((program) => associatedTokenAddress(owner, mint, program) === address),
    ),
  );
  if (isAssociated) return true;
  const [account] = await chain.accounts([address], 'confirmed');
  const token = account && decodeTokenState(account);
  return token !== undefined && owners.includes(token.owner);
}
