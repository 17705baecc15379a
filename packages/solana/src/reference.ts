/** How a move is found on the chain by anyone who knows its id, however long ago it was. */
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import type { Address } from './port.ts';

/**
 * An address that nobody has the key of and that stands, read-only, in the transfer of the move: `transactionsOf` it
 * is then every transaction of the move.
 */
export const referenceOf = (moveId: string): Address =>
  encodeBase58(createHash('sha256').update(`coffer move ${moveId}`, 'utf8').digest());
