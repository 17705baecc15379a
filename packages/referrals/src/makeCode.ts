/** Referral codes that Coffer makes. Source: contract, Referrals (codes). */
import { randomInt } from 'node:crypto';

/** Nothing that is easily mistaken for something else. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const LENGTH = 8;

export const makeCode = (): string =>
  Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
