/** Positions that are the decimal text of a 64-bit number, as in all stores that number their events. */
import type { Position } from './port.ts';

const MAX_BIGINT = 2n ** 63n - 1n;

/** Undefined for a text that is no such position. */
export function parsePosition(text: string): Position | undefined {
  if (!/^(?:0|[1-9]\d{0,18})$/.test(text) || BigInt(text) > MAX_BIGINT) return undefined;
  // Just seen to be one.
  return text as Position;
}

/** Readers compare the position of every event. */
export const comparePositions = (left: Position, right: Position): number =>
  // Without leading zeros, the longer one is the greater.
  left.length === right.length ? (left < right ? -1 : Number(left > right)) : left.length - right.length;

/** How many positions there are after one, up to another. */
export const distance = (from: Position | undefined, to: Position): number =>
  to.length <= EXACT_DIGITS && (from?.length ?? 0) <= EXACT_DIGITS
    ? Number(to) - Number(from ?? 0)
    : Number(BigInt(to) - BigInt(from ?? 0));

/** A number of this many digits is exact in floating point. */
const EXACT_DIGITS = 15;
