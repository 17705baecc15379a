import type { Address, Chain } from './port.ts';
import { decodeMint } from './programs/mint.ts';

/** Lamports have 9 decimals. */
export const NATIVE_DECIMALS = 9;
/** The most accounts per call of the port. */
const MOST_ACCOUNTS = 100;

/** By mint, at commitment `confirmed`; addresses that are not mints are omitted. */
export async function mintDecimals(
  chain: Pick<Chain, 'accounts'>,
  mints: readonly Address[],
): Promise<ReadonlyMap<Address, number>> {
  const known = new Map<Address, number>();
  for (let start = 0; start < mints.length; start += MOST_ACCOUNTS) {
    const accounts = await chain.accounts(mints.slice(start, start + MOST_ACCOUNTS), 'confirmed');
    for (const account of accounts) {
      const mint = account && decodeMint(account);
      if (mint) known.set(mint.address, mint.decimals);
    }
  }
  return known;
}
