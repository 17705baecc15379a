/** Amounts are bigint base units here and canonical decimal text on the wire. Source: contract, Common rules. */

/** The most that an SPL token amount can hold. */
export const MAX_AMOUNT = 2n ** 64n - 1n;

const FIGURE = /^(0|[1-9][0-9]*)$/;
const SIGNED_FIGURE = /^(0|-?[1-9][0-9]*)$/;

/**
 * The text of an amount in a request. Throws a RangeError below 0 and above 2^64 − 1: no such amount exists.
 */
export function encodeAmount(value: bigint): string {
  if (typeof value !== 'bigint') throw new TypeError('An amount is a bigint of base units.');
  if (value < 0n || value > MAX_AMOUNT) throw new RangeError(`An amount is from 0 to ${MAX_AMOUNT}.`);
  return value.toString();
}

/** A figure in an answer, which may be wider than an amount; undefined unless it is canonical text. */
export function decodeFigure(text: unknown): bigint | undefined {
  return typeof text === 'string' && FIGURE.test(text) ? BigInt(text) : undefined;
}

/** A figure in an answer that may be negative; undefined unless it is canonical text. */
export function decodeSignedFigure(text: unknown): bigint | undefined {
  return typeof text === 'string' && SIGNED_FIGURE.test(text) ? BigInt(text) : undefined;
}
