/**
 * Everything below the base address: finds the endpoint, runs the checks in the documented order, calls the handler,
 * answers. Source: contract, Order of checks.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ErrorCatalog } from '@coffer/kernel';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { actorOf, authenticate, type Credentials } from './authenticate.ts';
import { type AllowedOrigins, type CorsHeaders, createCors, takesBrowsers } from './cors.ts';
import { type Caller, type Endpoint, type Reply, takesBody } from './endpoint.ts';
import { reject } from './errors.ts';
import { type ErrorOf, type Failure, failureOf } from './failure.ts';
import { createFailureLog } from './failureLog.ts';
import { withHeaderKey } from './idempotencyKey.ts';
import { sendDocument } from './jsonDocument.ts';
import { sendLines } from './lines.ts';
import { createHttpMetrics } from './metrics.ts';
import { type MountedEndpoint, mount } from './mount.ts';
import { createOverruns, type Timed } from './overruns.ts';
import { parseRequest, readJson } from './parseRequest.ts';
import { createPlaces } from './places.ts';
import { createRateGate, type RateLimits, type TakeToken } from './rateLimits.ts';
import { ClientGoneError } from './readBody.ts';
import { apiHeaders, sendFailure, sendJson } from './reply.ts';
import { HttpRequestContext, requestIdOf } from './requestContext.ts';
import { arrivedMs } from './requestGroups.ts';
import { createPlainRoutes, createRouter, type Found, type Routes } from './routes.ts';

export interface ApiOptions extends Credentials {
  readonly endpoints: readonly Endpoint[];
  /** All codes that may be thrown behind the app. */
  readonly catalog: ErrorCatalog;
  readonly errorOf: ErrorOf;
  readonly allowedOrigins: AllowedOrigins;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly rateLimits: RateLimits;
  readonly takeToken: TakeToken;
  /** The most requests served at a time; further ones are refused with `service/overloaded`. */
  readonly maxConcurrentRequests: number;
  /** How many are being served, over all threads that count here. */
  readonly requestsInFlight: Int32Array;
  /** After this the outcome of a handler counts as unknown; `RequestContext.deadlineMs` tells the handler. */
  readonly requestTimeoutMs: number;
  /** For specs: called with each answer that its endpoint does not declare; throws. */
  readonly onUndeclared?: (problem: string) => never;
}

/** A handler should keep its deadline; this long after it the caller is answered anyway. */
const OVERRUN_MS = 1_000;
const CLIENT_GONE_STATUS = 499;

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The CORS headers of the answer, as far as is known so far. */
  cors: CorsHeaders;
}

/** A call that an endpoint answers. */
interface ServedCall extends Call, Timed {
  readonly mounted: MountedEndpoint;
  /** Whether the handler has begun: from then on we cannot tell what was done. */
  phase: 'before' | 'receiving' | 'handling';
}

const NO_CORS: CorsHeaders = {};

/** Answers every request below the base address, such as `/v1`. */
export function createApi(options: ApiOptions, base: string): Routes {
  const { catalog, errorOf } = options;
  const overruns = createOverruns(onOverrun);
  const places = createPlaces(options.requestsInFlight, options.maxConcurrentRequests);
  const metrics = createHttpMetrics(options.metrics, places.taken);
  const observeUnmatched = metrics.forRoute('any', 'unmatched');
  const observePreflight = metrics.forRoute('OPTIONS', 'preflight');
  const cors = createCors(options.allowedOrigins);
  const rateGate = createRateGate(options.rateLimits, options.takeToken);
  const failureLog = createFailureLog(options.logger);

  const mounted = mount(options.endpoints, catalog, metrics, options.requestTimeoutMs);
  const answers = { serve: answer, preflight: answerPreflight, refuse: refuseRoute };
  return { router: createRouter(mounted, answers), answerPlain: createPlainRoutes(mounted, answers, base) };

  async function answer(request: IncomingMessage, response: ServerResponse, found: Found) {
    const { mounted: target } = found;
    const startedMs = arrivedMs(request);
    const call = servedCallOf(request, response, target, startedMs);
    const hasPlace = places.take();
    overruns.watch(call);
    try {
      // First for a caller who may be refused, even for too many requests: a page must be able to read when to retry.
      if (takesBrowsers(target.endpoint)) {
        call.cors = await cors.headersFor(request.headers.origin, undefined);
      }
      if (!hasPlace) throw reject('service/overloaded');
      await serve(call, found);
    } catch (error) {
      fail(call, target, error);
    } finally {
      overruns.leave(call);
      if (hasPlace) places.leave();
      target.observe(statusOf(response), secondsSince(startedMs));
    }
  }

  async function serve(call: ServedCall, { mounted, params, address }: Found) {
    const { request, response, requestId } = call;
    const { endpoint } = mounted;
    const pending = authenticate(endpoint.credential, request.headers.authorization, options);
    const authenticated = pending instanceof Promise ? await pending : pending;
    const caller =
      endpoint.credential === 'portal' && authenticated?.kind === 'operator'
        ? await options.operatorAt?.(params.appId ?? '')
        : authenticated;
    // Then for the caller as identified.
    if (takesBrowsers(endpoint)) call.cors = await cors.headersFor(request.headers.origin, caller);
    // The caller was resolved by the endpoint's own credential, so it is of the kind its functions take.
    if (endpoint.admit) await endpoint.admit(caller as never);
    const limited = rateGate.check(endpoint.rateLimit, caller, address);
    if (limited) await limited;
    // The checks may have waited for longer than the caller did: it was told that nothing was done.
    if (isOver(call)) return;

    call.phase = 'receiving';
    const json = takesBody(endpoint) ? await readJson(request, response, mounted.bodyLimitBytes) : undefined;
    const { query, body } = parseRequest(
      mounted,
      queryTextOf(request.url),
      withHeaderKey(endpoint, request.headers, json),
    );

    call.phase = 'handling';
    const context = contextOf(call, authenticated, places.mayWait);
    call.dueMs = context.deadlineMs + OVERRUN_MS;
    const reply = await endpoint.handle({ caller: caller as never, params, query, body, context });
    if (reply.readersOf) call.cors = await cors.headersOf(request.headers.origin, reply.readersOf);
    // After the deadline the caller has been answered already; if it is gone, there is nobody to answer.
    if (response.headersSent || response.destroyed) return;
    const problem = options.onUndeclared && problemOf(endpoint, reply);
    if (problem !== undefined) options.onUndeclared?.(problem);
    const headers = headersOf(call, reply);
    if (reply.document) {
      sendDocument(request, response, headers, reply.document);
      return;
    }
    if (!reply.lines) {
      sendJson(response, reply.status, headers, bodyText(endpoint, reply));
      return;
    }
    call.dueMs = Number.POSITIVE_INFINITY;
    const lines = options.onUndeclared
      ? declaredLines(endpoint, reply.lines, options.onUndeclared)
      : reply.lines;
    await sendLines(response, reply.status, headers, lines, (error) =>
      failureLog.broken(error, { requestId, route: routeOf(mounted) }),
    );
  }

  function fail(call: Call, mounted: MountedEndpoint, error: unknown): void {
    const { response, requestId } = call;
    if (error instanceof ClientGoneError) return;
    const failure = failureOf(error, catalog, errorOf);
    failureLog.failed(failure, error, { requestId, route: routeOf(mounted) });
    if (options.onUndeclared && !mounted.declared.has(failure.code)) {
      options.onUndeclared(`${routeOf(mounted)} answered ${failure.code}, which it does not declare.`);
    }
    if (!response.headersSent && !response.destroyed) send(call, failure);
  }

  function refuseRoute(
    request: IncomingMessage,
    response: ServerResponse,
    allow: readonly string[] | undefined,
  ): void {
    const startedMs = arrivedMs(request);
    const call = callOf(request, response);
    const error = allow ? reject('request/method_not_allowed', { allow }) : reject('request/not_found');
    if (allow) response.setHeader('Allow', allow.join(', '));
    const failure = failureOf(error, catalog, errorOf);
    failureLog.refused(failure, { requestId: call.requestId, route: `${request.method} unmatched` });
    send(call, failure);
    observeUnmatched(response.statusCode, secondsSince(startedMs));
  }

  async function answerPreflight(
    request: IncomingMessage,
    response: ServerResponse,
    target: MountedEndpoint,
  ) {
    const { origin } = request.headers;
    if (origin === undefined || !takesBrowsers(target.endpoint)) return false;
    const startedMs = arrivedMs(request);
    const call = callOf(request, response);
    try {
      const headers = {
        ...apiHeaders(call.requestId),
        ...(await cors.preflightHeaders(target.endpoint, origin)),
      };
      sendJson(response, 204, headers, undefined);
    } catch (error) {
      fail(call, target, error);
    }
    observePreflight(response.statusCode, secondsSince(startedMs));
    return true;
  }

  function onOverrun(call: ServedCall): void {
    // The server limits how long a body may take, and ends the connection.
    if (call.phase === 'receiving') return;
    const { mounted } = call;
    const isUnknown = call.phase === 'handling' && mounted.endpoint.method !== 'GET';
    fail(call, mounted, reject(isUnknown ? 'service/outcome_unknown' : 'service/unavailable'));
  }
}

function callOf(request: IncomingMessage, response: ServerResponse): Call {
  return {
    request,
    response,
    requestId: requestIdOf(request),
    cors: NO_CORS,
  };
}

function servedCallOf(
  request: IncomingMessage,
  response: ServerResponse,
  mounted: MountedEndpoint,
  startedMs: number,
): ServedCall {
  return {
    ...callOf(request, response),
    mounted,
    phase: 'before',
    dueMs: startedMs + mounted.timeoutMs + OVERRUN_MS,
    place: 0,
  };
}

/** Before its body is read: answered, or nobody is there who could be. */
function isOver({ request, response }: Call): boolean {
  return response.headersSent || response.destroyed || request.destroyed;
}

function queryTextOf(url = ''): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

function send({ request, response, requestId, cors }: Call, failure: Failure): void {
  sendFailure(request, response, failure, { ...apiHeaders(requestId), ...cors });
}

function statusOf(response: ServerResponse): number {
  return response.destroyed && !response.writableFinished ? CLIENT_GONE_STATUS : response.statusCode;
}

function headersOf({ requestId, cors }: Call, { maxAgeSeconds, replayed }: Reply): OutgoingHttpHeaders {
  const headers = { ...apiHeaders(requestId), ...cors };
  if (maxAgeSeconds !== undefined) headers['Cache-Control'] = `public, max-age=${maxAgeSeconds}`;
  if (replayed) headers['Idempotency-Replayed'] = 'true';
  return headers;
}

function contextOf(
  { request, response, requestId, mounted }: ServedCall,
  caller: Caller | undefined,
  mayWait: () => boolean,
) {
  return new HttpRequestContext(request, response, {
    requestId,
    deadlineMs: performance.now() + mounted.timeoutMs,
    actor: actorOf(caller),
    mayWait,
  });
}

function bodyText(endpoint: Endpoint, reply: Reply): string | undefined {
  if (reply.status === 204) return undefined;
  const text = JSON.stringify(reply.body);
  // Also undefined for a body that is not JSON at all, such as a function.
  if (text === undefined)
    throw new Error(`${endpoint.method} ${endpoint.path} answered ${reply.status} without a body.`);
  return text;
}

/** What in the reply its endpoint does not declare. */
function problemOf(endpoint: Endpoint, reply: Reply): string | undefined {
  const { status, schema } = endpoint.success;
  const where = `${endpoint.method} ${endpoint.path}`;
  if (reply.status !== status) return `${where} answered ${reply.status} where ${status} is declared.`;
  if (!schema || reply.lines) return undefined;
  const checked = schema.safeParse(JSON.parse(reply.document?.text ?? JSON.stringify(reply.body)));
  if (checked.success) return undefined;
  return `${where} answered a different shape than declared: ${checked.error.message}`;
}

async function* declaredLines(
  endpoint: Endpoint,
  lines: AsyncIterable<unknown>,
  onUndeclared: (problem: string) => never,
): AsyncGenerator<unknown> {
  for await (const body of lines) {
    const problem = problemOf(endpoint, { status: endpoint.success.status, body });
    if (problem !== undefined) onUndeclared(problem);
    yield body;
  }
}

function routeOf({ endpoint }: MountedEndpoint): string {
  return `${endpoint.method} ${endpoint.path}`;
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}
