/**
 * An endpoint as a value: what it takes, what it answers and who may call it. The app mounts it and checks requests
 * against it in the documented order; the OpenAPI document is made from the same schemas.
 */
import type { Environment } from '@coffer/kernel';
import type { z } from 'zod';
import type { JsonDocument } from './jsonDocument.ts';

/** The caller according to the credential, which alone decides the app and environment of a request. */
export interface AppCaller {
  readonly kind: 'secret' | 'publishable';
  readonly appId: string;
  readonly scopeId: string;
  readonly environment: Environment;
  readonly keyId: string;
}

interface OperatorCaller {
  readonly kind: 'operator';
}

/** A signed-in player, by an access token. Acts on the player's own things, in the app of the sign-in. */
export interface SessionCaller {
  readonly kind: 'session';
  readonly userId: string;
  /** The sign-in session, a `sid_` id. */
  readonly sessionId: string;
  readonly appId: string;
  readonly scopeId: string;
  readonly environment: Environment;
  /** ISO 8601: when the player signed in, regardless of refreshes since. */
  readonly authenticatedAt: string;
}

/** Somebody at the portal of one app, in both its environments, by a portal session token. */
export interface PortalCaller {
  readonly kind: 'portal';
  readonly appId: string;
  readonly role: 'viewer' | 'admin';
}

export type Caller = AppCaller | OperatorCaller | SessionCaller | PortalCaller;

/**
 * `sk`, `pk`: an app's key. `session`: a player's access token. `operator`: the installation's operator token
 * (admin API). `portal`: a portal session token of the app in the path, or the operator token.
 */
export type CredentialKind = 'sk' | 'pk' | 'session' | 'operator' | 'portal' | 'none';

export interface RequestContext {
  readonly requestId: string;
  /** The time of `performance.now()`, in milliseconds, by which the answer must be sent. */
  readonly deadlineMs: number;
  /** For the metadata of events: `key:<id>`, `user:<id>`, `operator`, or `anonymous` if no credential is taken. */
  readonly actor: string;
  /** The value of the request header, if any. */
  header(name: string): string | undefined;
  /** Aborts when the client has gone away: for endpoints that stream or wait. */
  readonly signal: AbortSignal;
  /** Whether it may keep its place among the requests served only to wait: not while half of them are taken. */
  mayWait(): boolean;
}

export interface Reply {
  readonly status: number;
  /** Serialized once. Undefined for 204. */
  readonly body?: unknown;
  /** Instead of a body: an answer that is the same for everybody. */
  readonly document?: JsonDocument;
  /** Where the endpoint takes no credential: whose answer it is. Only pages that this app allows may read it. */
  readonly readersOf?: { readonly appId: string; readonly environment: Environment };
  /** Adds `Idempotency-Replayed: true`. */
  readonly replayed?: boolean;
  /** How long anyone may cache the answer. Without it nobody may cache it at all. */
  readonly maxAgeSeconds?: number;
  /** Instead of a body: JSON lines, streamed with back-pressure as application/x-ndjson. */
  readonly lines?: AsyncIterable<unknown>;
}

export type RateLimitGroup = 'signIn';

type CallerOf<Credential extends CredentialKind> = Credential extends 'sk' | 'pk'
  ? AppCaller
  : Credential extends 'session'
    ? SessionCaller
    : Credential extends 'operator'
      ? OperatorCaller
      : Credential extends 'portal'
        ? PortalCaller
        : undefined;

interface EndpointRequest<Credential extends CredentialKind, Params, Query, Body> {
  readonly caller: CallerOf<Credential>;
  /** Path parameters as they are in the path: an id of the wrong form is not found (404), not a 400. */
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
  /** What a caller needs to know beyond the schemas. */
  readonly description?: string;
  /** Strict objects: an unknown query parameter or body field is refused. */
  readonly query?: z.ZodType<Query, unknown>;
  readonly body?: z.ZodType<Body, unknown>;
  /**
   * Texts of its body may hold a NUL or half a surrogate pair, which elsewhere is `request/invalid`: it has an answer for
   * every text, and lets no unchecked text reach the database.
   */
  readonly anyText?: boolean;
  /**
   * It takes the header `Idempotency-Key` instead of that field of the body, as if the field had that value; without a
   * field the handler reads the header (`idempotencyKeyOf`). Different keys in both are refused.
   */
  readonly idempotencyHeader?: { readonly insteadOf?: string };
  /** Default 64 KiB. */
  readonly bodyLimitBytes?: number;
  /** Replaces the app's request timeout, for the few operator requests that may take long. */
  readonly timeoutMs?: number;
  readonly rateLimit?: RateLimitGroup;
  /**
   * Whether pages of the allowed origins may call it although it takes no credential. Endpoints that take `pk` or
   * `session` always allow that, others never.
   */
  readonly browsers?: true;
  /**
   * The feature switch: throws the rejection if the feature is off for this caller. Runs after the credential and before
   * rate limit and body, as the documented order requires.
   */
  readonly admit?: (caller: CallerOf<Credential>) => Promise<void> | void;
  readonly success: {
    readonly status: 200 | 201 | 204;
    /** The schema of the body or, with `lines`, of each line. */
    readonly schema?: z.ZodType;
    /** The reply is JSON lines (`Reply.lines`). */
    readonly lines?: true;
    /** The reply is a document (`Reply.document`), which is not sent again to callers that have it. */
    readonly cached?: true;
  };
  /**
   * Requests that can follow from its answer: by operation ("POST /ledger/bet") the values of parameters and fields, as
   * runtime expressions of OpenAPI ("$response.body#/sessionId").
   */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Codes of the catalogue in addition to the common ones (credentials, parsing, limits, service). */
  readonly errors: readonly string[];
  readonly handle: (
    request: EndpointRequest<Credential, PathParams<Path>, Query, Body>,
  ) => Promise<Reply> | Reply;
}

/** `{ userId: string }` of `/users/:userId/accounts`. */
type PathParams<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? { readonly [Name in Param]: string } & PathParams<`/${Rest}`>
  : Path extends `${string}:${infer Param}`
    ? { readonly [Name in Param]: string }
    : object;

/** An endpoint with its types checked and erased: what the app mounts. */
export interface Endpoint extends Omit<EndpointDefinition, 'handle' | 'query' | 'body' | 'admit'> {
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly admit?: (caller: never) => Promise<void> | void;
  readonly handle: (
    request: EndpointRequest<never, Readonly<Record<string, string>>, unknown, unknown>,
  ) => Promise<Reply> | Reply;
}

/** A body is checked where one is expected, and on every write: a field that nobody reads is refused. */
export function takesBody(endpoint: Pick<Endpoint, 'body' | 'method'>): boolean {
  return endpoint.body !== undefined || endpoint.method === 'POST' || endpoint.method === 'PUT';
}

/** Checks the types of an endpoint against each other, then erases them. */
export function endpoint<
  Credential extends CredentialKind,
  const Path extends string,
  Query = undefined,
  Body = undefined,
>(definition: EndpointDefinition<Credential, Path, Query, Body>): Endpoint {
  // The app parses query and body with these same schemas, and resolves this same credential, first.
  return definition as unknown as Endpoint;
}
