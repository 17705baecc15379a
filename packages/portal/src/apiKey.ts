/**
 * The format of an API key. `sk_test_` and 40 characters of base32: 200 random bits, so a plain SHA-256 of it is
 * safe to store. Source: specification, API keys.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Environment } from '@coffer/kernel';

export type KeyKind = 'secret' | 'publishable';

const PREFIXES = { secret: 'sk', publishable: 'pk' } as const;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const RANDOM_LENGTH = 40;
const TOKEN = /^[sp]k_(?:test|live)_[0-9a-z]{40}$/;

export function mintToken(kind: KeyKind, environment: Environment): string {
  let random = '';
  // 256 is a multiple of 32, so every character is equally likely.
  for (const byte of randomBytes(RANDOM_LENGTH)) random += ALPHABET[byte % ALPHABET.length];
  return `${PREFIXES[kind]}_${environment}_${random}`;
}

/** Whether the text has the form of a key; anything else is refused without querying the database. */
export const isToken = (text: string): boolean => TOKEN.test(text);

/** SHA-256 in hexadecimal: the only trace kept of a secret key. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex');

/** The last four characters: enough to tell keys apart in a list, useless to a thief. */
export const hintOf = (token: string): string => token.slice(-4);
