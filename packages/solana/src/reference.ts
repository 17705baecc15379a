/** How anyone who knows a move's id finds it on the chain, however old it is. */
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import type { Address } from './port.ts';

/**
 * An address without a key that is included, read-only, in the transfer of the move: its `transactionsOf` are then all
 * transactions of the move.
 */
export const referenceOf = (moveId: string): Address =>
  encodeBase58(createHash('sha256').update(`coffer move ${moveId}`, 'utf8').digest());
