/** Who may call: one user with one password. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import { RefusalError } from './refusals.ts';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Slows down password guessing, by address. */
export interface FailedLogins {
  /** 0, or the number of seconds during which nobody is admitted from that address. */
  wait(address: string): number;
  /** Records a failed login. */
  take(address: string): unknown;
}

/**
 * Checks the header `authorization` of a call. Throws a `RefusalError` if it is wrong, or if it is missing and `needed`
 * is not false.
 */
export function accessCheck(
  { user, password }: Credentials,
  needed: boolean,
  failedLogins: FailedLogins | undefined,
) {
  const expected = digest(`${user}:${password}`);
  return (headers: Metadata, address: string): void => {
    const [header] = headers.get('authorization');
    if (header === undefined && !needed) return;
    if (header === undefined) throw new RefusalError('accessDenied', NEEDED);
    // Even the right password is refused, otherwise the answer would reveal it.
    const seconds = failedLogins?.wait(address) ?? 0;
    if (seconds > 0) {
      const message = `Too many wrong passwords came from this address. Try again in ${seconds} s.`;
      throw new RefusalError('tooMuchAtOnce', message);
    }
    const [, given] = /^basic +(\S+)$/i.exec(`${header}`) ?? [];
    // Digests have a fixed length, so the comparison reveals nothing about the password's length.
    if (given && timingSafeEqual(digest(`${Buffer.from(given, 'base64')}`), expected)) return;
    failedLogins?.take(address);
    throw new RefusalError('unauthenticated', NEEDED);
  };
}

const NEEDED = 'This needs the user and the password of the store gateway.';

const digest = (text: string) => createHash('sha256').update(text).digest();
