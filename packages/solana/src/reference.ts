/** How anyone who knows a move's id finds it on the chain, however old it is. */
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import type { Address } from './port.ts';
import { isOnCurve } from './web3/addresses.ts';

/**
 * An address that is included, read-only, in the transfer of the move: its `transactionsOf` are then all transactions of
 * the move. Anybody can compute it, so it is off the curve: no key can ever exist for it and no transfer goes to it.
 * Otherwise the transfer of one move to the reference of another would count as both.
 */
export function referenceOf(moveId: string): Address {
  for (let counter = 0; ; counter += 1) {
    const hash = createHash('sha256').update(`coffer move ${moveId} ${counter}`, 'utf8').digest();
    const address = encodeBase58(hash);
    if (!isOnCurve(address)) return address;
  }
}
