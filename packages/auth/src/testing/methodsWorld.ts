/** For the specs of the sign-in methods: their endpoints over real HTTP and Postgres, with a stopped clock. */

import type { Pool } from '@coffer/database';
import type { CommandContext } from '@coffer/event-store';
import { type AppCaller, createLogger } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { type AppPlace, createSecretBox } from '@coffer/kernel';
import type { TestDatabase } from '@coffer/testing';
import { createAuthMethods } from '../methods/authMethods.ts';
import type { MailTransport } from '../methods/email/transport.ts';
import { authMethodsErrors } from '../methods/errors.ts';
import type { SessionBody } from '../methods/routes.ts';
import type { MethodSettings } from '../methods/settings.ts';
import type { OriginPolicy } from '../methods/siws/siws.ts';
import type { AuthMethod, FirstTouch, VerifiedIdentity } from '../types.ts';
import { PLACE } from './authRecords.ts';

interface SignedIn {
  readonly place: AppPlace;
  readonly identity: VerifiedIdentity;
  readonly method: AuthMethod;
  readonly firstTouch: FirstTouch;
  readonly context: CommandContext;
}

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly body: Record<string, unknown>;
  readonly retryAfter: string | null;
}

export interface MethodsWorld {
  readonly pool: Pool;
  /** What the endpoints have passed on. */
  readonly signedIn: readonly SignedIn[];
  readonly troubles: readonly unknown[];
  readonly logLines: readonly string[];
  /** Replaces some settings of the app. */
  readonly set: (settings: Partial<MethodSettings>) => void;
  readonly now: () => Date;
  readonly pass: (seconds: number) => void;
  /** With the test environment's publishable key, unless another is given. */
  readonly post: (
    path: string,
    body: unknown,
    options?: { readonly key?: string; readonly headers?: Record<string, string> },
  ) => Promise<Answer>;
  readonly stop: () => Promise<void>;
}

const SECRETS_KEY = Buffer.alloc(32, 7);

const caller = (kind: AppCaller['kind'], place: AppPlace): AppCaller => ({
  ...place,
  kind,
  keyId: `k_${kind}`,
});

const CALLERS: Readonly<Record<string, AppCaller>> = {
  pk_test_1: caller('publishable', PLACE),
  pk_live_1: caller('publishable', { ...PLACE, environment: 'live' }),
  pk_test_2: caller('publishable', { ...PLACE, appId: 'app_2', scopeId: 'scp_2' }),
  sk_test_1: caller('secret', PLACE),
};

export interface WorldOptions {
  readonly mail?: MailTransport;
  readonly origins?: OriginPolicy;
  readonly onSignIn?: () => void;
}

/** In a copy of the template, which is dropped when the world is stopped. */
export async function startMethodsWorld(
  { pool, drop }: TestDatabase,
  options: WorldOptions = {},
): Promise<MethodsWorld> {
  const signedIn: SignedIn[] = [];
  const troubles: unknown[] = [];
  const logLines: string[] = [];
  let nowMs = Date.parse('2026-03-01T12:00:00.000Z');
  let settings: MethodSettings = {
    appName: 'Arcade',
    allowedAuthMethods: ['siws', 'messenger', 'email'],
    allowedOrigins: ['https://play.example', 'https://beta.play.example:8443'],
    siwsStatement: 'Sign in to play.',
    botToken: '7000000001:AAspec-token-of-a-bot-that-never-was',
    botId: undefined,
    launchDataMaxAgeSeconds: 3_600,
  };
  const now = () => new Date(nowMs);
  const methods = createAuthMethods({
    pool,
    clock: now,
    secretsKey: SECRETS_KEY,
    secretBox: createSecretBox(SECRETS_KEY),
    settings: () => settings,
    origins: options.origins ?? { allowsLoopback: false, fallback: () => undefined },
    mail: options.mail,
    onTrouble: (error) => troubles.push(error),
    pollIntervalMs: 5,
    // The clock is stopped here: a wait would never end.
    firstRetryMs: 0,
    signIn: async (place, identity, method, firstTouch, context) => {
      options.onSignIn?.();
      signedIn.push({ place, identity, method, firstTouch, context });
      return sessionOf(place, identity);
    },
    signInErrors: [],
  });
  const running = methods.start();
  const server = await serve({
    endpoints: methods.endpoints,
    catalog: authMethodsErrors,
    resolveKey: (token) => CALLERS[token],
    logger: createLogger({ level: 'trace', destination: { write: (line) => logLines.push(line) } }),
  });

  return {
    pool,
    signedIn,
    troubles,
    logLines,
    set: (changed) => {
      settings = { ...settings, ...changed };
    },
    now,
    pass: (seconds) => {
      nowMs += seconds * 1000;
    },
    post: async (path, body, { key = 'pk_test_1', headers = {} } = {}) => {
      const response = await fetch(`${server.url}/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      const answer: Record<string, unknown> = JSON.parse(await response.text());
      const retryAfter = response.headers.get('retry-after');
      return { status: response.status, code: answer.code, body: answer, retryAfter };
    },
    stop: async () => {
      await server.stop(0);
      await running.stop();
      await drop();
    },
  };
}

function sessionOf(place: AppPlace, { type, externalId, profile }: VerifiedIdentity): SessionBody {
  const identity = { id: 'idn_1', type, externalId, profile };
  return {
    accessToken: 'access',
    refreshToken: 'refresh',
    expiresAt: '2026-03-01T13:00:00.000Z',
    user: {
      id: 'usr_1',
      appId: place.appId,
      primaryIdentity: identity,
      identities: [identity],
      wallets: [],
      createdAt: '2026-03-01T12:00:00.000Z',
    },
  };
}
