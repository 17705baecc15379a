/** Nodes of sign-in sessions on one database, with a clock that is set by hand. */

import { createHash } from 'node:crypto';
import { type Pool, withTransaction } from '@coffer/database';
import { createSecretBox, type SecretBox } from '@coffer/kernel';
import type { TestDatabase } from '@coffer/testing';
import { createSessions, type SessionHolder, type Sessions } from '../sessions/sessions.ts';
import { listSigningKeys, type Rotation, rotateSigningKeys } from '../sessions/signingKeyRecords.ts';
import { createSigningKeys, type SigningKeys } from '../sessions/signingKeys.ts';
import type { UserView } from '../types.ts';
import { PLACE } from './authRecords.ts';

export const START = new Date('2026-03-01T12:00:00.000Z');
export const ISSUER = 'coffer';

const keyFrom = (text: string) => createHash('sha256').update(text).digest();
export const REFRESH_KEY = keyFrom('refresh');
export const SECRETS_KEY = keyFrom('secrets');

/** A service as far as sessions go, with its own caches. */
export interface Node {
  readonly keys: SigningKeys;
  readonly sessions: Sessions;
}

export interface SessionsWorld {
  readonly pool: Pool;
  readonly secretBox: SecretBox;
  /** The clock, also used to measure ages. */
  readonly now: () => Date;
  readonly advance: (ms: number) => void;
  readonly newNode: (options?: { readonly issuer: string }) => Node;
  /** The users whose refresh tokens have been reused so far. */
  readonly reused: readonly SessionHolder[];
  readonly rotateKeys: (rotation: Rotation) => Promise<void>;
  readonly keyStates: (environment: 'test' | 'live') => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** In a copy of the template, which is dropped when the world is closed. */
export function startSessionsWorld({ pool, drop }: TestDatabase): SessionsWorld {
  const secretBox = createSecretBox(SECRETS_KEY);
  const reused: SessionHolder[] = [];
  let elapsedMs = 0;
  const now = () => new Date(START.getTime() + elapsedMs);
  const nowMs = () => elapsedMs;
  return {
    pool,
    secretBox,
    now,
    advance: (ms) => {
      elapsedMs += ms;
    },
    newNode: ({ issuer } = { issuer: ISSUER }) => {
      const keys = createSigningKeys(pool, { secretBox, clock: now, nowMs });
      const sessions = createSessions(pool, {
        keys,
        refreshKey: REFRESH_KEY,
        clock: now,
        issuer,
        nowMs,
        onReuse: (holder) => reused.push(holder),
      });
      return { keys, sessions };
    },
    reused,
    rotateKeys: async (rotation) => {
      await withTransaction(pool, (client) => rotateSigningKeys(client, secretBox, rotation, now()));
    },
    keyStates: async (environment) =>
      (await listSigningKeys(pool))
        .filter((key) => key.environment === environment)
        .map(({ state }) => state),
    close: drop,
  };
}

/** A user with one identity and one wallet, as others see it. */
export function userOf(userId: string, appId = PLACE.appId): UserView {
  const identity = {
    id: 'idn_1',
    type: 'email',
    externalId: 'ada@example.com',
    profile: { email: 'ada@example.com' },
  } as const;
  const wallet = {
    address: 'So11111111111111111111111111111111111111112',
    environment: 'test',
    custody: 'operator',
  } as const;
  return {
    id: userId,
    appId,
    primaryIdentity: identity,
    identities: [identity],
    wallets: [
      { id: 'wlt_0', ...wallet, address: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T', status: 'exported' },
      { id: 'wlt_1', ...wallet, status: 'active' },
    ],
    createdAt: START.toISOString(),
  };
}
