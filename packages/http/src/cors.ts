/**
 * Which pages of which origins may read our answers. Credentials come in a header that the page's own code sets,
 * never in a cookie, so a browser is never asked to send any by itself (no Access-Control-Allow-Credentials).
 *
 * The origins of an app are known once its credential is. Before that (a preflight carries none, a refused
 * credential belongs to nobody, a refresh token names its app too late) an origin passes that any app of the
 * installation allows: the union. So a page of another app may send a request and see that it is refused, and
 * never reads what belongs to an app that did not allow it. Source: contract, Common rules, CORS.
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

/** What a page may send beside the headers that every page may. */
const ALLOWED_HEADERS = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
const EXPOSED_HEADERS = 'Idempotency-Replayed, Retry-After, X-Request-Id';
/** How long a browser goes by a preflight. A withdrawn origin still cannot read an answer meanwhile. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** An answer with and one without an origin are two, for whatever keeps answers in between. */
const VARY: CorsHeaders = { Vary: 'Origin' };

/** Only these are ever called from a page. */
export function takesBrowsers({ credential, browsers }: Pick<Endpoint, 'credential' | 'browsers'>): boolean {
  return credential === 'pk' || credential === 'session' || browsers === true;
}

export interface Cors {
  /** For an answer that pages may read, to a caller who is known, or is not (yet). */
  readonly headersFor: (origin: string | undefined, caller: Caller | undefined) => MaybePromise<CorsHeaders>;
  /** For the answer to a preflight; without the origin among them a browser does not send the request. */
  readonly preflightHeaders: (endpoint: Endpoint, origin: string) => Promise<CorsHeaders>;
}

export function createCors(origins: AllowedOrigins): Cors {
  const isAllowed = (origin: string, caller: Caller | undefined): MaybePromise<boolean> =>
    caller && caller.kind !== 'operator' ? origins.ofApp(caller, origin) : origins.ofAnyApp(origin);

  return {
    headersFor: (origin, caller) => {
      if (origin === undefined) return VARY;
      const allowed = isAllowed(origin, caller);
      return allowed instanceof Promise
        ? allowed.then((answer) => answerHeaders(origin, answer))
        : answerHeaders(origin, allowed);
    },
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
