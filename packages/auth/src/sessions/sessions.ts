/** Sign-in sessions: opened by a sign-in, refreshed, checked on every call, ended. ADR 0017. */
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  type Clock,
  createBatchingLookup,
  createCoalescingCache,
  newId,
} from '@coffer/kernel';
import type { AuthMethod } from '../types.ts';
import { createAccessTokens } from './accessTokens.ts';
import { reject } from './errors.ts';
import { MAX_STALENESS_MS } from './lifetimes.ts';
import { expiryOf, type Session, tokenStateOf } from './refreshFamily.ts';
import {
  deleteOldSessions,
  endSession,
  endSessionsOf,
  findSession,
  findSessions,
  insertSession,
  rotateFamily,
} from './refreshFamilyRecords.ts';
import { createRefreshTokens, type RefreshToken } from './refreshTokens.ts';
import type { SigningKeys } from './signingKeys.ts';

export interface IssuedSession {
  /** A JWT, the bearer token of the player. */
  readonly accessToken: string;
  /** Opaque, used once; the answer carries the next. */
  readonly refreshToken: string;
  /** ISO 8601: the end of the access token. */
  readonly expiresAt: string;
}

/** The session's user. */
export interface SessionHolder {
  readonly place: AppPlace;
  readonly userId: string;
}

interface CheckedSession extends SessionHolder {
  readonly sessionId: string;
  readonly authMethod: AuthMethod;
  /** ISO 8601: when the player signed in. */
  readonly authenticatedAt: string;
}

export interface Sessions {
  readonly open: (place: AppPlace, userId: string, authMethod: AuthMethod) => Promise<IssuedSession>;
  /** The owner of the refresh token, if it is usable, or would be had not all the user's sessions been ended. */
  readonly holderOf: (refreshToken: string) => Promise<SessionHolder | undefined>;
  /** Throws `auth/invalid_refresh_token`. */
  readonly refresh: (refreshToken: string) => Promise<IssuedSession & SessionHolder>;
  /** Ends the session of the refresh token and its access tokens; any other text does nothing. */
  readonly logout: (refreshToken: string) => Promise<void>;
  /**
   * Checks signature, expiry, app and environment, and that the session has not ended; undefined for every kind of
   * bad token, without saying which. The caller must check the user's standing.
   */
  readonly check: (accessToken: string, place?: Place) => Promise<CheckedSession | undefined>;
  /** Ends every session of the user at once (suspension, erasure). */
  readonly endAllOf: (place: Pick<AppPlace, 'scopeId' | 'environment'>, userId: string) => Promise<void>;
  /** Deletes sessions that can no longer have any effect, up to this many. Returns how many. */
  readonly deleteOld: (limit: number) => Promise<number>;
}

type Place = Pick<AppPlace, 'appId' | 'environment'>;

export interface SessionsOptions {
  readonly keys: SigningKeys;
  /** At least 32 secret bytes that never change: refresh tokens are derived from them. */
  readonly refreshKey: Uint8Array;
  readonly clock: Clock;
  /** The prefix of claim `iss` of access tokens; the environment follows. */
  readonly issuer: string;
  /** Measures the age of an answer; must be monotonic. */
  readonly nowMs: () => number;
  /** Called when a refresh token was reused: the session was ended, as one of the two users is not the player. */
  readonly onReuse: (session: SessionHolder & { readonly sessionId: string }) => void;
}

const MAX_REMEMBERED_SESSIONS = 20_000;
const MAX_SESSIONS_PER_QUERY = 256;
/** A rotation can only lose its race to another one; then the family's state decides. */
const MAX_ATTEMPTS = 3;

export function createSessions(pool: Pool, options: SessionsOptions): Sessions {
  const { keys, refreshKey, clock, issuer, nowMs, onReuse } = options;
  const accessTokens = createAccessTokens({ keys, clock, issuer });
  const refreshTokens = createRefreshTokens(refreshKey);
  const states = createCoalescingCache({
    load: createBatchingLookup({
      findAll: (sessionIds: readonly string[]) => findSessions(pool, sessionIds),
      maximumKeys: MAX_SESSIONS_PER_QUERY,
    }),
    lifetimeMs: MAX_STALENESS_MS,
    maximumEntries: MAX_REMEMBERED_SESSIONS,
    nowMs,
  });

  const issued = async (session: Session, generation: number): Promise<IssuedSession> => {
    const { token, expiresAt } = await accessTokens.issue(session);
    const { sessionId } = session;
    return {
      accessToken: token,
      refreshToken: refreshTokens.textOf({
        sessionId,
        generation,
        expiresAtSeconds: expiryOf(session, generation),
      }),
      expiresAt: expiresAt.toISOString(),
    };
  };

  const unexpired = (text: string): RefreshToken | undefined => {
    const token = refreshTokens.read(text);
    return token && clock().getTime() < token.expiresAtSeconds * 1000 ? token : undefined;
  };

  const refresh = async ({ sessionId, generation }: RefreshToken): Promise<IssuedSession & SessionHolder> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const now = clock();
      // Usually the token is the newest, and nothing else is needed.
      const rotated = await rotateFamily(pool, sessionId, generation, now);
      if (rotated) return { ...(await issued(rotated, rotated.generation)), ...holderIn(rotated) };

      const session = await findSession(pool, sessionId);
      if (!session) break;
      const state = tokenStateOf(session, generation, now);
      // The row was restored between the two reads: try again.
      if (state === 'newest') continue;
      if (state === 'repeatable') {
        return { ...(await issued(session, generation + 1)), ...holderIn(session) };
      }
      if (state === 'spent') {
        await endSession(pool, sessionId, 'reuse', now);
        states.forget(sessionId);
        onReuse({ sessionId, ...holderIn(session) });
      }
      break;
    }
    throw reject('auth/invalid_refresh_token');
  };

  return {
    open: async (place, userId, authMethod) => {
      const session: Session = {
        sessionId: newId('sid'),
        place,
        userId,
        authMethod,
        signedInAt: clock(),
        generation: 0,
        firstUses: [],
        endedBecause: undefined,
      };
      await insertSession(pool, session);
      return issued(session, 0);
    },
    holderOf: async (text) => {
      const token = unexpired(text);
      const session = token && (await findSession(pool, token.sessionId));
      if (!session || session.endedBecause === 'logout' || session.endedBecause === 'reuse') return undefined;
      return holderIn(session);
    },
    refresh: async (text) => {
      const token = unexpired(text);
      if (!token) throw reject('auth/invalid_refresh_token');
      return refresh(token);
    },
    logout: async (text) => {
      const token = refreshTokens.read(text);
      if (!token) return;
      await endSession(pool, token.sessionId, 'logout', clock());
      states.forget(token.sessionId);
    },
    check: async (accessToken, place) => {
      const read = accessTokens.read(accessToken);
      const claims = read instanceof Promise ? await read : read;
      if (!claims || (place && !isAt(place, { appId: claims.aud, environment: claims.env })))
        return undefined;
      const found = states.get(claims.sid);
      const session = found instanceof Promise ? await found : found;
      if (!session || session.endedBecause || session.userId !== claims.sub) return undefined;
      if (!isAt(session.place, { appId: claims.aud, environment: claims.env })) return undefined;
      const { sessionId, authMethod, signedInAt } = session;
      return { ...holderIn(session), sessionId, authMethod, authenticatedAt: signedInAt.toISOString() };
    },
    endAllOf: async (place, userId) => {
      for (const sessionId of await endSessionsOf(pool, place, userId, clock())) states.forget(sessionId);
    },
    deleteOld: (limit) => deleteOldSessions(pool, clock(), limit),
  };
}

const holderIn = ({ place, userId }: Session): SessionHolder => ({ place, userId });

const isAt = (place: Place, other: Place): boolean =>
  place.appId === other.appId && place.environment === other.environment;
