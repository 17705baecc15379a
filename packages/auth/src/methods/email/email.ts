/**
 * Sign-in with a mailed code. Nothing here knows whether an address has a user, so neither the answer nor its
 * timing can reveal it. Source: contract, Sign-in and sessions.
 */

import { type Pool, withTransaction } from '@coffer/database';
import type { AppPlace } from '@coffer/kernel';
import type { VerifiedIdentity } from '../../types.ts';
import type { Codes } from './codes.ts';
import type { Outbox } from './outbox.ts';

export interface EmailSignIn {
  /** Queues the mail without waiting for delivery. Throws `request/rate_limited`. */
  readonly initiate: (place: AppPlace, appName: string, address: string) => Promise<{ expiresAt: string }>;
  /** Throws `auth/code_invalid`. */
  readonly verify: (place: AppPlace, address: string, code: string) => Promise<VerifiedIdentity>;
}

export interface EmailDependencies {
  readonly pool: Pool;
  readonly codes: Codes;
  readonly outbox: Outbox;
  /** Called once the queued mail is committed. */
  readonly onQueued: () => void;
}

export function createEmailSignIn({ pool, codes, outbox, onQueued }: EmailDependencies): EmailSignIn {
  return {
    initiate: async (place, appName, address) => {
      await codes.sweep(pool);
      const addressHash = codes.hashOf(place, address);
      const { expiresAt } = await withTransaction(pool, async (client) => {
        const issued = await codes.issue(client, place, addressHash);
        const mail = { to: address, ...wordsOf(appName, issued.code), date: issued.issuedAt };
        await outbox.put(client, { place, addressHash, mail, expiresAt: issued.expiresAt });
        return issued;
      });
      onQueued();
      return { expiresAt: expiresAt.toISOString() };
    },

    verify: async (place, address, code) => {
      await codes.use(pool, place, codes.hashOf(place, address), code);
      return { type: 'email', externalId: address, profile: { email: address } };
    },
  };
}

function wordsOf(appName: string, code: string) {
  return {
    subject: `Your sign-in code for ${appName}`,
    text: [
      `Your sign-in code for ${appName}:`,
      '',
      `    ${code}`,
      '',
      'It works once, for 5 minutes. If you did not ask for it, do nothing: without it nobody gets in.',
      '',
    ].join('\n'),
  };
}
