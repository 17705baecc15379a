/**
 * Our ids are TypeIDs: a prefix, an underscore, and a UUID as 26 characters of lower-case base32.
 * Source: contract "Common rules", rows Ids and Caller's ids.
 */
import { hash } from 'node:crypto';
import { TypeID } from 'typeid-js';
import { parse, v7 } from 'uuid';
import { z } from 'zod';

/** `sid` is a sign-in session; `ses` is a play session. */
export type IdPrefix = 'app' | 'scp' | 'usr' | 'idn' | 'wlt' | 'whk' | 'ses' | 'sid' | 'mov' | 'evt' | 'key';

/** The namespace of every name-based id in Coffer. It is on disk for ever: another value would break retries. */
const NAMESPACE = parse('6f6b1f0e-8f57-5d0c-9c0e-3c1f7d2a4b61');

/** A fresh, time-ordered id. Not for `domain/`: it reads the clock and the random source. */
export function newId(prefix: IdPrefix): string {
  return TypeID.fromUUID(prefix, v7()).toString();
}

/** The id derived from the parts, the same for ever (UUIDv5). The parts are joined unambiguously. */
export function idFromParts(prefix: IdPrefix, ...parts: readonly string[]): string {
  return TypeID.fromUUIDBytes(prefix, Buffer.from(digitsFromParts(parts), 'hex')).toString();
}

/** The UUID derived from the parts, the same for ever (UUIDv5): ids of events that follow from a cause. */
export function uuidFromParts(...parts: readonly string[]): string {
  const digits = digitsFromParts(parts);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

/**
 * UUIDv5 (RFC 9562) by OpenSSL, as text: it is on the path of many writes and of sign-ins; bytes take twice as long, and
 * the library several times.
 */
function digitsFromParts(parts: readonly string[]): string {
  const name = JSON.stringify(parts);
  const named = Buffer.allocUnsafe(NAMESPACE.length + Buffer.byteLength(name));
  named.set(NAMESPACE);
  named.write(name, NAMESPACE.length);
  const digest = hash('sha1', named, 'hex');
  const variant = VARIANTS[Number.parseInt(digest.charAt(16), 16) & 3];
  return `${digest.slice(0, 12)}5${digest.slice(13, 16)}${variant}${digest.slice(17, 32)}`;
}

const VARIANTS = '89ab';

const SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** An id of ours in a request. Any text is accepted, since an id of the wrong form is simply not found; schemas show the form. */
export const idText = (prefix: IdPrefix) =>
  z.string().meta({
    pattern: `^${prefix}_${SUFFIX.source.slice(1)}`,
    example: `${prefix}_01j9zq7m5vfx8t3k2c4b6d8e0g`,
  });

/** Whether the text has the form of one of our ids. An id of the wrong form is not found, not an error. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && SUFFIX.test(text.slice(prefix.length + 1));
}

/** A currency code of an app. A code that no currency has is refused as unknown, whatever its form. */
export const currencyCode = z.string().meta({ pattern: '^[A-Z][A-Z0-9_]{1,15}$', example: 'CHIP' });

const callerIdOf = (maximum: number) =>
  z
    .string()
    .regex(
      new RegExp(`^[A-Za-z0-9._:-]{1,${maximum}}$`),
      `must be 1 to ${maximum} characters of A-Z, a-z, 0-9, ".", "_", ":" and "-"`,
    )
    .meta({ example: 'example-1' });

/** `transactionUuid`, `poolId`, `betId`, `gameCode`, `gameKey`, `roundId`. */
export const callerId = callerIdOf(64);

/** `ref`, `idemKey`, `idempotencyKey`. */
export const longCallerId = callerIdOf(128);

/** The id of a currency as a query parameter, so it arrives as text. */
export const currencyQuery = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,8})$/, "must be the id of one of the app's currencies")
  .transform(Number)
  .meta({ wire: { type: 'integer', minimum: 0 } });
