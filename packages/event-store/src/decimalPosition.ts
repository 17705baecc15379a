/** Positions that are the decimal text of a 64-bit number, as in all stores that number their events. */
import type { Position } from './port.ts';

const MAX_BIGINT = 2n ** 63n - 1n;

/** Undefined for a text that is no such position. */
export function parsePosition(text: string): Position | undefined {
  if (!/^(?:0|[1-9]\d{0,18})$/.test(text) || BigInt(text) > MAX_BIGINT) return undefined;
  // Just seen to be one.
  return text as Position;
}
