/** The Express application: the API below /v1, and health, metrics and documentation beside it. */
import type { ErrorCatalog } from '@coffer/kernel';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { type ApiOptions, createApi } from './api.ts';
import { catalogEndpoint } from './catalogEndpoint.ts';
import { assetHandlers } from './docs/assets.ts';
import { docsPage } from './docs/page.ts';
import type { Endpoint } from './endpoint.ts';
import { httpErrors, reject } from './errors.ts';
import { loadExpress } from './express.ts';
import { failureOf } from './failure.ts';
import { createFailureLog } from './failureLog.ts';
import type { MetricFigures } from './metrics.ts';
import { type OutgoingMessage, openApiDocument, openApiEndpoint } from './openApi.ts';
import { countTokens, DEFAULT_RATE_LIMITS, type RateLimits, type TakeToken } from './rateLimits.ts';
import { apiHeaders, sendFailure } from './reply.ts';
import { requestIdOf } from './requestContext.ts';
import type { Handler } from './server.ts';
import { healthz, metricsPage, type Readiness, readyz } from './system.ts';
import type { TrustProxy } from './trustProxy.ts';

export interface AppOptions
  extends Omit<
    ApiOptions,
    'rateLimits' | 'takeToken' | 'maxConcurrentRequests' | 'requestsInFlight' | 'requestTimeoutMs'
  > {
  readonly readiness: () => Promise<Readiness>;
  /** Documented with the endpoints. */
  readonly messages?: readonly OutgoingMessage[];
  /** The product's version. */
  readonly version: string;
  /** Where callers reach it, `https://host`; asked once it listens. Default: the address at which they found the document. */
  readonly origin?: () => string | undefined;
  /** Which proxies' forwarded addresses are trusted: see `parseTrustProxy`. Default: none. */
  readonly trustProxy?: TrustProxy;
  readonly rateLimits?: RateLimits;
  /** Default: counted here. */
  readonly takeToken?: TakeToken;
  /** A monotonic clock, for what is counted or kept here. */
  readonly nowMs?: () => number;
  /** Default 1,000. */
  readonly maxConcurrentRequests?: number;
  /** Default: counted here. */
  readonly requestsInFlight?: Int32Array;
  /** Default 10,000. */
  readonly requestTimeoutMs?: number;
  /** Of threads that belong to this service: /metrics tells them as well. */
  readonly metricsOfOthers?: () => Promise<readonly MetricFigures[]>;
  /** Serves /metrics to peers on other machines as well. */
  readonly openMetrics?: boolean;
}

/** Operators need only the admin API, and everybody else all but that: each has a separate document. */
const AUDIENCES = [
  { isOperators: false, title: 'Coffer', document: '/openapi.json', page: '/docs' },
  {
    isOperators: true,
    title: 'Coffer for operators',
    document: '/operator/openapi.json',
    page: '/docs/operator',
  },
];

/** Of the API, behind the origin. */
const BASE = '/v1';

/** Throws on endpoints that clash or declare unknown codes. */
export function createApp(options: AppOptions): Handler {
  const catalog: ErrorCatalog = { ...options.catalog, ...httpErrors };
  const common = catalogEndpoint(catalog);
  const audiences = AUDIENCES.map((audience) => ({
    ...audience,
    served: options.endpoints.filter((one) => (one.credential === 'operator') === audience.isOperators),
  })).filter(({ served }) => served.length > 0);
  const documents = audiences.map(({ isOperators, title, document, served }): Endpoint => {
    const { version, origin } = options;
    const itself: Endpoint = openApiEndpoint(document, () =>
      openApiDocument({
        title,
        endpoints: [...served, common, itself],
        messages: isOperators ? [] : options.messages,
        catalog,
        version,
        origin: origin?.(),
      }),
    );
    return itself;
  });
  const endpoints: readonly Endpoint[] = [...options.endpoints, common, ...documents];
  const { nowMs = () => performance.now(), logger } = options;
  const { router: api, answerPlain } = createApi(
    {
      rateLimits: DEFAULT_RATE_LIMITS,
      takeToken: countTokens(options.rateLimits ?? DEFAULT_RATE_LIMITS, nowMs),
      maxConcurrentRequests: 1_000,
      requestsInFlight: new Int32Array(1),
      requestTimeoutMs: 10_000,
      ...options,
      catalog,
      endpoints,
    },
    BASE,
  );

  const app = loadExpress()();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', options.trustProxy ?? false);
  app.use(BASE, api);
  // Well-known paths are served at the root of the origin as well (RFC 8615).
  app.all(
    endpoints.map(({ path }) => path).filter((path) => path.includes('/.well-known/')),
    api,
  );
  app.use(securityHeaders);
  app.route('/healthz').get(healthz(options.version)).all(onlyGet);
  app.route('/readyz').get(readyz(options.readiness, { logger, nowMs })).all(onlyGet);
  app
    .route('/metrics')
    .get(metricsPage(options.metrics, options.metricsOfOthers ?? noOthers, options.openMetrics ?? false))
    .all(onlyGet);
  for (const { title, document, page } of audiences) {
    app
      .route(page)
      .get(docsPage(title, `${BASE}${document}`))
      .all(onlyGet);
  }
  if (audiences.length > 0) {
    for (const [path, handler] of assetHandlers()) app.route(path).get(handler).all(onlyGet);
  }
  app.use(nothingHere);
  const refuse = envelope(options, catalog);
  app.use(refuse);
  // What Express finds no path in (`GET http:// HTTP/1.1`) passes by all of the above, to a page of its own.
  return (request, response) => {
    // Express makes them its own before anything else; its error handler needs nothing that it adds.
    const [own, answer] = [request as Request, response as Response];
    const failed = (error: unknown) => refuse(error, own, answer, nobody);
    const answered = answerPlain(request, response);
    if (answered) answered.catch(failed);
    else app(own, answer, (error: unknown) => failed(error ?? reject('request/malformed')));
  };
}

const nobody = () => undefined;

const noOthers = async () => [];

const securityHeaders: RequestHandler = (request, response, next) => {
  for (const [name, value] of Object.entries(apiHeaders(requestIdOf(request)))) {
    if (value !== undefined) response.setHeader(name, value);
  }
  next();
};

const onlyGet: RequestHandler = (_request, response) => {
  response.setHeader('Allow', 'GET, HEAD');
  throw reject('request/method_not_allowed', { allow: ['GET', 'HEAD'] });
};

const nothingHere: RequestHandler = () => {
  throw reject('request/not_found');
};

function envelope(options: AppOptions, catalog: ErrorCatalog): ErrorRequestHandler {
  const failureLog = createFailureLog(options.logger);
  // Express recognizes an error handler by its four parameters.
  return (error, request, response, _next) => {
    const requestId = String(response.getHeader('X-Request-Id') ?? requestIdOf(request));
    const failure = failureOf(error, catalog, options.errorOf);
    const path: unknown = request.route?.path;
    // Of that the log is told once, not for each probe.
    if (failure.code !== 'service/not_ready') {
      failureLog.failed(failure, error, { requestId, route: `${request.method} ${path ?? 'unmatched'}` });
    }
    if (response.headersSent) response.destroy();
    else sendFailure(request, response, failure, apiHeaders(requestId));
  };
}
