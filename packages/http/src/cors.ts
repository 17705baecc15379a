/**
 * Which origins' pages may read our answers. Credentials come in a header that the page's own code sets, never in a
 * cookie, so a browser never sends any by itself (no Access-Control-Allow-Credentials).
 *
 * The origins of an app are known once its credential is. Before that (a preflight carries none, a refused credential
 * belongs to nobody, a refresh token names its app with the answer) an origin passes if any app of the installation allows it.
 * So a page of another app may send a request and see that it is refused, but never reads anything of an app that did
 * not allow it. Source: contract, Common rules, CORS.
 */
import type { Environment } from '@coffer/kernel';
import type { Caller, Endpoint } from './endpoint.ts';

type MaybePromise<Value> = Value | Promise<Value>;

export interface AllowedOrigins {
  /** Whether the app allows the origin in the environment. */
  readonly ofApp: (
    place: { readonly appId: string; readonly environment: Environment },
    origin: string,
  ) => MaybePromise<boolean>;
  /** Whether any app does, in any environment. */
  readonly ofAnyApp: (origin: string) => MaybePromise<boolean>;
}

export type CorsHeaders = Readonly<Record<string, string>>;

/** The headers a page may send in addition to those that every page may. */
const ALLOWED_HEADERS = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
const EXPOSED_HEADERS = 'Idempotency-Replayed, Retry-After, X-Request-Id';
/** How long a browser may cache a preflight. A withdrawn origin still cannot read answers meanwhile. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Caches must keep answers with and without an origin apart. */
const VARY: CorsHeaders = { Vary: 'Origin' };

/** Only these are ever called from a page. */
export function takesBrowsers({ credential, browsers }: Pick<Endpoint, 'credential' | 'browsers'>): boolean {
  return credential === 'pk' || credential === 'session' || browsers === true;
}

export interface Cors {
  /** For an answer that belongs to the app, whoever the caller was. */
  readonly headersOf: (
    origin: string | undefined,
    place: { readonly appId: string; readonly environment: Environment },
  ) => MaybePromise<CorsHeaders>;
  /** For an answer that pages may read, to a caller that is known or not (yet). */
  readonly headersFor: (origin: string | undefined, caller: Caller | undefined) => MaybePromise<CorsHeaders>;
  /** For the answer to a preflight; unless it names the origin, a browser does not send the request. */
  readonly preflightHeaders: (endpoint: Endpoint, origin: string) => Promise<CorsHeaders>;
}

export function createCors(origins: AllowedOrigins): Cors {
  const isAllowed = (origin: string, caller: Caller | undefined): MaybePromise<boolean> =>
    caller && caller.kind !== 'operator' && caller.kind !== 'portal'
      ? origins.ofApp(caller, origin)
      : origins.ofAnyApp(origin);

  const headers = (origin: string, allowed: MaybePromise<boolean>): MaybePromise<CorsHeaders> =>
    allowed instanceof Promise
      ? allowed.then((answer) => answerHeaders(origin, answer))
      : answerHeaders(origin, allowed);

  return {
    headersOf: (origin, place) =>
      origin === undefined ? VARY : headers(origin, origins.ofApp(place, origin)),
    headersFor: (origin, caller) =>
      origin === undefined ? VARY : headers(origin, isAllowed(origin, caller)),
    preflightHeaders: async (endpoint, origin) => {
      const vary = { Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers' };
      if (!(await origins.ofAnyApp(origin))) return vary;
      return {
        ...vary,
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Methods': endpoint.method,
        'Access-Control-Allow-Headers': ALLOWED_HEADERS,
        'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_SECONDS),
      };
    },
  };
}

function answerHeaders(origin: string, isAllowed: boolean): CorsHeaders {
  if (!isAllowed) return VARY;
  return {
    ...VARY,
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': EXPOSED_HEADERS,
  };
}
