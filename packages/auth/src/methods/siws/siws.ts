/** Sign-In With Solana: a challenge for a public key, and one attempt at it. Source: contract, Sign-in and sessions. */
import type { AppPlace } from '@coffer/kernel';
import type { VerifiedIdentity } from '../../types.ts';
import { reject } from '../errors.ts';
import { type MethodSettings, notAllowed } from '../settings.ts';
import { isSignedBy } from '../signature.ts';
import type { Challenges } from './challenges.ts';
import { type Challenge, messageOf, signablesOf } from './message.ts';
import { publicKeyBytes } from './publicKey.ts';

/** A challenge as the client receives it. */
interface IssuedChallenge extends Challenge {
  /** The text to sign, for clients that render none. */
  readonly message: string;
}

/** A returned challenge, with or without the text. */
interface ReturnedChallenge extends Challenge {
  readonly message?: string | undefined;
}

interface SiwsAnswer {
  readonly challenge: ReturnedChallenge;
  readonly publicKey: string;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

export interface Siws {
  /** Throws `auth/method_not_allowed` if the app has no origin. The key is one that `publicKeyBytes` accepts. */
  readonly challenge: (
    place: AppPlace,
    settings: MethodSettings,
    publicKey: string,
    origin: string | undefined,
  ) => Promise<IssuedChallenge>;
  /** Throws `auth/challenge_invalid`, `auth/signature_invalid`; either way the challenge is used up. */
  readonly verify: (place: AppPlace, answer: SiwsAnswer) => Promise<VerifiedIdentity>;
}

/** What applies to an app without an origin of its own. */
export interface OriginPolicy {
  /** Any origin on this machine is allowed: for an embedded installation. */
  readonly allowsLoopback: boolean;
  /** For a request without an allowed origin, if the app has none. Undefined: none. */
  readonly fallback: () => string | undefined;
}

export function createSiws(challenges: Challenges, origins: OriginPolicy): Siws {
  return {
    challenge: async (place, settings, publicKey, requestOrigin) => {
      const origin = originFor(settings.allowedOrigins, requestOrigin, origins);
      if (origin === undefined) throw notAllowed('siws');
      const challenge = await challenges.issue(
        { place, publicKey },
        { domain: new URL(origin).host, statement: settings.siwsStatement, uri: origin },
      );
      return { ...challenge, message: messageOf(challenge, publicKey, place.environment) };
    },

    verify: async (place, { challenge, publicKey, signature }) => {
      const { publicKey: owner, ...stored } = await takeOrReject(challenges, place, challenge.nonce);
      const { message, ...returned } = challenge;
      if (publicKey !== owner || !isSame(returned, stored)) throw reject('auth/challenge_invalid');
      if (message !== undefined && message !== messageOf(stored, owner, place.environment)) {
        throw reject('auth/challenge_invalid');
      }
      const key = publicKeyBytes(owner);
      if (!key || !isSignedBy(key, signature, signablesOf(stored, owner, key, place.environment))) {
        throw reject('auth/signature_invalid');
      }

      return { type: 'wallet', externalId: owner, profile: {} };
    },
  };
}

async function takeOrReject(challenges: Challenges, place: AppPlace, nonce: string) {
  const stored = await challenges.take(place, nonce);
  if (!stored) throw reject('auth/challenge_invalid');
  return stored;
}

function isSame(returned: Challenge, stored: Challenge): boolean {
  return (
    returned.nonce === stored.nonce &&
    returned.domain === stored.domain &&
    returned.statement === stored.statement &&
    returned.uri === stored.uri &&
    returned.issuedAt === stored.issuedAt &&
    returned.expiresAt === stored.expiresAt
  );
}

/** The request's own origin if it is allowed, otherwise the first allowed one. */
function originFor(
  allowed: readonly string[],
  requested: string | undefined,
  policy: OriginPolicy,
): string | undefined {
  if (requested !== undefined) {
    if (allowed.includes(requested)) return requested;
    if (policy.allowsLoopback && isLoopbackOrigin(requested)) return requested;
  }
  return allowed[0] ?? policy.fallback();
}

function isLoopbackOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, hostname, protocol } = new URL(text);
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return origin === text && isLoopback && (protocol === 'http:' || protocol === 'https:');
}
