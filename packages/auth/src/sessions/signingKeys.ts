/** The access token keys in memory, at most a fraction of a second old. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { type Clock, createCoalescingCache, type Environment } from '@coffer/kernel';
import { MAX_STALENESS_MS } from './lifetimes.ts';
import {
  loadSigningKeys,
  type PublicJwk,
  privateKeyOf,
  type SecretBox,
  type SigningKeyRecord,
} from './signingKeyRecords.ts';

interface VerificationKey {
  readonly kid: string;
  readonly environment: Environment;
  readonly publicKey: KeyObject;
}

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

export interface KeySet {
  readonly verifying: (kid: string) => VerificationKey | undefined;
  /** Throws if the key was sealed with another installation key; a rotation helps. */
  readonly signing: (environment: Environment) => SigningKey;
  /** RFC 7517, the keys of both environments. */
  readonly jwks: readonly PublishedKey[];
  readonly jwksOf: (environment: Environment) => readonly PublishedKey[];
}

export type PublishedKey = PublicJwk & {
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
};

export interface SigningKeys {
  /** Returns at once if fresh. Rejects with a database error. */
  readonly current: () => KeySet | Promise<KeySet>;
  /** After a rotation in this process; other processes notice by themselves. */
  readonly forget: () => void;
}

export interface SigningKeysOptions {
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  /** Measures the age of an answer; must be monotonic. */
  readonly nowMs: () => number;
}

const ALL = 'all';

export function createSigningKeys(pool: Pool, { secretBox, clock, nowMs }: SigningKeysOptions): SigningKeys {
  /** A key is opened once: its kid identifies it. */
  const opened = new Map<string, KeyObject>();
  const remembered = (name: string, open: () => KeyObject): KeyObject => {
    const key = opened.get(name) ?? open();
    opened.set(name, key);
    return key;
  };
  const sets = createCoalescingCache<KeySet>({
    load: async () => keySetOf(await loadSigningKeys(pool, secretBox, clock())),
    lifetimeMs: MAX_STALENESS_MS,
    maximumEntries: 1,
    nowMs,
  });

  const keySetOf = (keys: readonly SigningKeyRecord[]): KeySet => {
    const names = new Set(keys.flatMap(({ kid }) => [`public ${kid}`, `private ${kid}`]));
    for (const name of opened.keys()) if (!names.has(name)) opened.delete(name);
    const verifying = new Map(keys.map((key) => [key.kid, verificationKeyOf(key)]));
    return {
      verifying: (kid) => verifying.get(kid),
      signing: (environment) => {
        const key = keys.find((one) => one.state === 'signing' && one.environment === environment);
        if (!key) throw new Error(`No key signs in ${environment}.`);
        return {
          kid: key.kid,
          privateKey: remembered(`private ${key.kid}`, () => privateKeyOf(key, secretBox)),
        };
      },
      jwks: keys.map(publishedKeyOf),
      jwksOf: (environment) => keys.filter((key) => key.environment === environment).map(publishedKeyOf),
    };
  };

  const verificationKeyOf = ({ kid, environment, publicJwk }: SigningKeyRecord): VerificationKey => ({
    kid,
    environment,
    publicKey: remembered(`public ${kid}`, () => createPublicKey({ key: publicJwk, format: 'jwk' })),
  });

  return { current: () => sets.get(ALL), forget: () => sets.forget(ALL) };
}

function publishedKeyOf({ kid, publicJwk }: SigningKeyRecord): PublishedKey {
  return { ...publicJwk, kid, use: 'sig', alg: 'ES256' };
}
