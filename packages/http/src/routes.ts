/**
 * Which endpoint stands at a path: Express's router, with the paths in an order by which literal segments win over
 * `:name` ones. Paths are exact (case, trailing slash), and a known path with another method is told from an unknown one.
 */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request, Response, Router } from 'express';
import { loadExpress } from './express.ts';
import type { MountedEndpoint } from './mount.ts';

export interface Answers {
  readonly serve: (request: IncomingMessage, response: ServerResponse, found: Found) => Promise<void>;
  /** Of a browser, before it sends the request. False when it is none, or about what no page may call. */
  readonly preflight: (
    request: IncomingMessage,
    response: ServerResponse,
    found: MountedEndpoint,
  ) => Promise<boolean>;
  /** `allow` are the methods that the path has; undefined where nothing is at it. */
  readonly refuse: (
    request: IncomingMessage,
    response: ServerResponse,
    allow: readonly string[] | undefined,
  ) => void;
}

export interface Routes {
  readonly router: Router;
  /** Without the router; undefined for a request that needs it. */
  readonly answerPlain: (request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined;
}

export interface Found {
  readonly mounted: MountedEndpoint;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Of the client, as far as proxies are trusted; undefined where no limit asks for it. */
  readonly address: () => string | undefined;
}

/** What routes that did not take the request note for the refusal behind them. */
type Noting = Response<unknown, { allow?: readonly string[] }>;

const VERBS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/**
 * The endpoints that need nothing of Express, by method and path: those without a parameter, and without a limit by address.
 * Nearly all requests are for them, and through Express a seventh fewer bets are answered at full speed. ADR 0072.
 */
export function createPlainRoutes(
  endpoints: readonly MountedEndpoint[],
  { serve }: Pick<Answers, 'serve'>,
  base: string,
): Routes['answerPlain'] {
  const plain = endpoints.filter(({ endpoint: { path, rateLimit } }) => !path.includes(':') && !rateLimit);
  const byMethod = new Map(
    [...Map.groupBy(plain, ({ endpoint }) => endpoint.method)].map(([method, ofMethod]) => [
      method as string,
      new Map(ofMethod.map((mounted) => [`${base}${mounted.endpoint.path}`, foundPlain(mounted)])),
    ]),
  );
  return (request, response) => {
    const { method = '', url = '' } = request;
    const mark = url.indexOf('?');
    const found = byMethod.get(method)?.get(mark < 0 ? url : url.slice(0, mark));
    return found && serve(request, response, found);
  };
}

const foundPlain = (mounted: MountedEndpoint): Found => ({ mounted, params: {}, address: () => undefined });

/** Throws on two endpoints at one place, and on a path that has one parameter twice. */
export function createRouter(endpoints: readonly MountedEndpoint[], answers: Answers): Router {
  requireDistinct(endpoints);
  const router = loadExpress().Router();
  const groups = new Map<string, Router>();
  for (const [segment, ofGroup] of Map.groupBy(endpoints, ({ endpoint: { path } }) => firstSegmentOf(path))) {
    assert(!segment.startsWith(':'), `/${segment} begins with a parameter`);
    groups.set(segment, routesOf(ofGroup, answers));
  }
  // Express tries one path after another: those of one group alone are a tenth of them.
  router.use((request, response, next) => {
    const group = groups.get(firstSegmentOf(request.path));
    if (group) group(request, response, next);
    else next();
  });
  router.use((request, response: Noting) => answers.refuse(request, response, response.locals.allow));
  // A parameter that is no percent-encoded UTF-8.
  const undecodable: ErrorRequestHandler = (error, request, response, next) =>
    error instanceof URIError ? answers.refuse(request, response, undefined) : next(error);
  router.use(undecodable);
  return router;
}

const firstSegmentOf = (path: string): string => path.split('/', 2)[1] ?? '';

function routesOf(endpoints: readonly MountedEndpoint[], answers: Answers): Router {
  const router = loadExpress().Router({ caseSensitive: true, strict: true });
  const inOrder = endpoints.toSorted((left, right) => rankOf(left).localeCompare(rankOf(right)));
  for (const [path, ofPath] of Map.groupBy(inOrder, ({ endpoint }) => endpoint.path)) {
    const route = router.route(path);
    for (const mounted of ofPath) {
      route[VERBS[mounted.endpoint.method]]((request: Request<Record<string, string>>, response) => {
        const { params } = request;
        // Nothing can have such a name.
        if (Object.values(params).some((value) => value.includes('\0'))) {
          answers.refuse(request, response, undefined);
          return undefined;
        }
        return answers.serve(request, response, { mounted, params, address: () => request.ip });
      });
    }
    route.options(async (request, response, next) => {
      const method = request.headers['access-control-request-method'];
      const asked = ofPath.find(({ endpoint }) => endpoint.method === (method === 'HEAD' ? 'GET' : method));
      if (!asked || !(await answers.preflight(request, response, asked))) next();
    });
    const allowed = ofPath.flatMap(({ endpoint: { method } }) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    );
    route.all((_request, { locals }: Noting, next) => {
      locals.allow = [...new Set([...(locals.allow ?? []), ...allowed])];
      next();
    });
  }
  return router;
}

/** Sorted by it, of two paths that fit one request the first has a literal segment where they first differ. */
const rankOf = ({ endpoint: { path } }: MountedEndpoint): string =>
  path
    .split('/')
    .map((segment) => (segment.startsWith(':') ? 1 : 0))
    .join('');

function requireDistinct(endpoints: readonly MountedEndpoint[]): void {
  const places = new Set<string>();
  for (const {
    endpoint: { method, path },
  } of endpoints) {
    const names = [...path.matchAll(/:[^/]+/g)].map(([name]) => name);
    const twice = names.find((name, index) => names.indexOf(name) < index);
    if (twice !== undefined) throw new Error(`The path ${path} has the parameter ${twice} twice.`);
    const place = `${method} ${path.replace(/:[^/]+/g, ':')}`;
    if (places.has(place)) throw new Error(`${method} ${path} is mounted twice.`);
    places.add(place);
  }
}
