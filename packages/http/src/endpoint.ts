/**
 * An endpoint as a value: what it takes, what it answers and who may call it. The app mounts it, checks a
 * request against it in the documented order, and the OpenAPI document is made from the same schemas.
 */
import type { Environment } from '@coffer/kernel';
import type { z } from 'zod';
import type { JsonDocument } from './jsonDocument.ts';

/** Who calls, as the credential says. Nothing else says which app and environment a request is about. */
export interface AppCaller {
  readonly kind: 'secret' | 'publishable';
  readonly appId: string;
  readonly scopeId: string;
  readonly environment: Environment;
  readonly keyId: string;
}

export interface OperatorCaller {
  readonly kind: 'operator';
}

/** A signed-in player, by an access token. Acts on what is the player's own, in the app of the sign-in. */
export interface SessionCaller {
  readonly kind: 'session';
  readonly userId: string;
  /** Of the sign-in session, a `sid_` id. */
  readonly sessionId: string;
  readonly appId: string;
  readonly scopeId: string;
  readonly environment: Environment;
  /** ISO 8601: when the player signed in, however often the session was refreshed since. */
  readonly authenticatedAt: string;
}

export type Caller = AppCaller | OperatorCaller | SessionCaller;

/**
 * `sk`, `pk`: an app's key. `session`: a player's access token. `operator`: the installation's operator token
 * (admin API).
 */
export type CredentialKind = 'sk' | 'pk' | 'session' | 'operator' | 'none';

export interface RequestContext {
  readonly requestId: string;
  /** Milliseconds of `performance.now()` by which the answer must be on its way. */
  readonly deadlineMs: number;
  /** Goes into the metadata of the events: `key:<id>`, `user:<id>`, `operator`, or `anonymous` where no credential is taken. */
  readonly actor: string;
  /** The value of the request header, if any. */
  header(name: string): string | undefined;
  /** Aborted when the client has gone away: for endpoints that stream. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  /** Serialized once. Undefined for 204. */
  readonly body?: unknown;
  /** In place of a body: what is the same for everybody. */
  readonly document?: JsonDocument;
  /** Adds `Idempotency-Replayed: true`. */
  readonly replayed?: boolean;
  /** Anyone may keep the answer for so long. Without it nobody may keep it at all. */
  readonly maxAgeSeconds?: number;
  /** JSON lines instead of a body: streamed with back-pressure as application/x-ndjson. */
  readonly lines?: AsyncIterable<unknown>;
}

/** Groups of endpoints that share a rate limit. */
export type RateLimitGroup = 'signIn';

export type CallerOf<Credential extends CredentialKind> = Credential extends 'sk' | 'pk'
  ? AppCaller
  : Credential extends 'session'
    ? SessionCaller
    : Credential extends 'operator'
      ? OperatorCaller
      : undefined;

export interface EndpointRequest<Credential extends CredentialKind, Params, Query, Body> {
  readonly caller: CallerOf<Credential>;
  /** Path parameters as they stand in the path: an id of the wrong form is an absent one (404), not a 400. */
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly context: RequestContext;
}

export interface EndpointDefinition<
  Credential extends CredentialKind = CredentialKind,
  Path extends string = string,
  Query = unknown,
  Body = unknown,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base address, with `:name` parameters. */
  readonly path: Path;
  readonly credential: Credential;
  /** One line, imperative, for the OpenAPI document. */
  readonly summary: string;
  /** What a caller must know beyond the schemas. */
  readonly description?: string;
  /** Strict objects: an unknown query parameter or body field is refused. */
  readonly query?: z.ZodType<Query, unknown>;
  readonly body?: z.ZodType<Body, unknown>;
  /**
   * Texts of its body may hold a NUL or half a surrogate pair, which elsewhere is `request/invalid`: it has an answer
   * for every text, and lets none that is not checked come to the database.
   */
  readonly anyText?: boolean;
  /**
   * It takes the header `Idempotency-Key`: in place of that field of the body, which is read as though it stood there;
   * with no field the handler reads it (`idempotencyKeyOf`). Different keys in both are refused.
   */
  readonly idempotencyHeader?: { readonly insteadOf?: string };
  /** 64 KiB unless said otherwise. */
  readonly bodyLimitBytes?: number;
  /** Replaces the app's request timeout: for the few operator's requests that may take long. */
  readonly timeoutMs?: number;
  readonly rateLimit?: RateLimitGroup;
  /**
   * Whether pages of the allowed origins may call it although it takes no credential. Those that take `pk` or
   * `session` always may, no others ever.
   */
  readonly browsers?: true;
  /**
   * The feature switch: throws the rejection of a feature that is off for this caller. Runs after the
   * credential and before rate limit and body, where the documented order has it.
   */
  readonly admit?: (caller: CallerOf<Credential>) => Promise<void> | void;
  readonly success: {
    readonly status: 200 | 201 | 204;
    /** Of the body or, with `lines`, of each line. */
    readonly schema?: z.ZodType;
    /** The reply is JSON lines (`Reply.lines`). */
    readonly lines?: true;
    /** The reply is a document (`Reply.document`), which is not sent again to who has it. */
    readonly cached?: true;
  };
  /**
   * What can be asked with its answer: by operation ("POST /ledger/bet") the values of parameters and fields, as runtime
   * expressions of OpenAPI ("$response.body#/sessionId").
   */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Codes of the catalogue beyond the common ones (credentials, parsing, limits, service). */
  readonly errors: readonly string[];
  readonly handle: (
    request: EndpointRequest<Credential, PathParams<Path>, Query, Body>,
  ) => Promise<Reply> | Reply;
}

/** `{ userId: string }` of `/users/:userId/accounts`. */
export type PathParams<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? { readonly [Name in Param]: string } & PathParams<`/${Rest}`>
  : Path extends `${string}:${infer Param}`
    ? { readonly [Name in Param]: string }
    : object;

/** An endpoint whose types have done their work: what the app mounts. */
export interface Endpoint extends Omit<EndpointDefinition, 'handle' | 'query' | 'body' | 'admit'> {
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly admit?: (caller: never) => Promise<void> | void;
  readonly handle: (
    request: EndpointRequest<never, Readonly<Record<string, string>>, unknown, unknown>,
  ) => Promise<Reply> | Reply;
}

/** A body is looked at where one is expected, and on every write: a field that nobody reads is refused. */
export function takesBody(endpoint: Pick<Endpoint, 'body' | 'method'>): boolean {
  return endpoint.body !== undefined || endpoint.method === 'POST' || endpoint.method === 'PUT';
}

/** Checks an endpoint's types against each other, then forgets them. */
export function endpoint<
  Credential extends CredentialKind,
  const Path extends string,
  Query = undefined,
  Body = undefined,
>(definition: EndpointDefinition<Credential, Path, Query, Body>): Endpoint {
  // The app parses query and body with these very schemas and resolves this very credential first.
  return definition as unknown as Endpoint;
}
