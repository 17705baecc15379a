/** Lists in pages: a cursor stands for the last row given, so later rows never shift a page. */
import { createHash } from 'node:crypto';
import { Rejection } from '@coffer/kernel';

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Which rows a list shows: column names with the required values; undefined does not restrict. */
export type Filter = Readonly<Record<string, string | undefined>>;

export function encodeCursor(list: string, filter: Filter, ordinal: bigint): string {
  return Buffer.from(`${digestOf(list, filter)}.${ordinal}`).toString('base64url');
}

/** The ordinal of the last row given. Throws `request/invalid`, also for the cursor of another filter. */
export function decodeCursor(list: string, filter: Filter, cursor: string): bigint {
  const match = /^([0-9a-f]{16})\.(0|[1-9][0-9]{0,17})$/.exec(Buffer.from(cursor, 'base64url').toString());
  const [, digest, ordinal = ''] = match ?? [];
  if (digest !== digestOf(list, filter)) {
    const message = 'The cursor does not belong to this list with this filter.';
    throw new Rejection('request/invalid', { issues: [{ path: 'cursor', message }] });
  }
  return BigInt(ordinal);
}

function digestOf(list: string, filter: Filter): string {
  const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
  return createHash('sha256')
    .update(JSON.stringify([list, chosen.sort(([left], [right]) => (left < right ? -1 : 1))]))
    .digest('hex')
    .slice(0, 16);
}
