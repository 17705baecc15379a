/** One exchange with a receiver: connections are kept, addresses checked where they are dialled, redirects not followed. */
import type { LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Agent, Dispatcher } from 'undici';
import {
  addressesToDial,
  endpointUrl,
  type Reach,
  type ResolveHost,
  resolveByNameServers,
} from './endpointUrl.ts';

/** Why there was no answer, as far as the owner of the endpoint may know. */
export const POST_ERRORS = [
  'url_not_allowed',
  'host_not_found',
  'connection_refused',
  'connection_reset',
  'tls_failed',
  'invalid_answer',
  'timeout',
  'connection_failed',
] as const;
type PostError = (typeof POST_ERRORS)[number];

export interface Posting {
  readonly url: string;
  readonly reach: Reach;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** By which it can be broken off, with all others of that name. */
  readonly lane?: string;
}

export interface PostOutcome {
  /** Null if there was no whole answer. */
  readonly status: number | null;
  /** Null if there was an answer, whatever it says. */
  readonly error: PostError | null;
  readonly durationMs: number;
  /** The first bytes of the answer, as text that a database takes. */
  readonly answerHead: string;
}

export interface Poster {
  /** Never throws. */
  readonly post: (posting: Posting) => Promise<PostOutcome>;
  /** Ends the exchanges of the lane that are under way. What their outcome is then is of no interest. */
  readonly breakOff: (lane: string) => void;
  /** Breaks the exchanges under way. */
  readonly close: () => Promise<void>;
}

interface PosterOptions {
  /** For the whole exchange. */
  readonly timeoutMs?: number;
  readonly resolveHost?: ResolveHost;
  /** In addition to the certificate authorities of this machine. */
  readonly ca?: string;
}

/** Source: spec, Limits. */
const TIMEOUT_MS = 10_000;
/** Enough for an error page, too little to be worth sending: what follows is not read. */
const MAX_ANSWER_BYTES = 16 * 1024;
const ANSWER_HEAD_BYTES = 1_024;

/** Source: spec, Delivery and retry. */
export const isDelivered = ({ status }: Pick<PostOutcome, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300;

/** Where an endpoint is, once its URL has been checked. */
interface Place {
  readonly origin: string;
  readonly path: string;
  readonly agent: Agent;
}

const PLACES_KEPT = 10_000;

type Undici = typeof import('undici');
let loading: Promise<Undici> | undefined;
/** Loaded with the first exchange: many services never send anything, and start 90 ms of the processor earlier. */
const undici = (): Promise<Undici> => {
  loading ??= import('undici');
  return loading;
};

class UrlNotAllowed extends Error {}
class HostNotFound extends Error {}
class TimedOut extends Error {}
class BrokenOff extends Error {}
class Closed extends Error {}

export function createPoster({
  timeoutMs = TIMEOUT_MS,
  resolveHost = resolveByNameServers(),
  ca,
}: PosterOptions = {}): Poster {
  // What may be dialled depends on both; undici's own agent ignores the proxies of the process environment.
  const agents = new Map<string, Agent>();
  const searches = createSearches(resolveHost, timeoutMs);
  let isClosed = false;
  const agentFor = ({ Agent }: Undici, reach: Reach, url: URL): Agent => {
    const key = `${reach} ${url.protocol}`;
    const agent =
      agents.get(key) ??
      new Agent({
        // Of HTTP/2, undici uses a silent connection again and closes none that is idle. Source:
        // docs/adr/0068-webhooks-over-http-1-1.md.
        allowH2: false,
        connect: {
          lookup: checkedLookup(reach, url.protocol, searches.addressesOf),
          timeout: timeoutMs,
          ...(ca === undefined ? {} : { ca }),
        },
      });
    agents.set(key, agent);
    return agent;
  };

  const places = new LRUCache<string, Place>({ max: PLACES_KEPT });
  const keyOf = ({ reach, url }: Posting): string => `${reach} ${url}`;

  async function findPlace(posting: Posting): Promise<Place> {
    const url = endpointUrl(posting.url, posting.reach);
    if (!url) throw new UrlNotAllowed();
    const client = await undici();
    // Nobody would destroy an agent made now.
    if (isClosed) throw new Closed();
    const agent = agentFor(client, posting.reach, url);
    const place = { origin: url.origin, path: url.pathname + url.search, agent };
    places.set(keyOf(posting), place);
    return place;
  }

  /** The oldest first: that is the order in which they time out. One timer is for all of them. */
  const underWay = new Set<Exchange>();
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    const [oldest] = underWay;
    timer = oldest && setTimeout(endLate, timeoutMs - oldest.ageMs()).unref();
  };
  const endLate = () => {
    for (const exchange of underWay) {
      if (exchange.ageMs() < timeoutMs) break;
      exchange.fail(new TimedOut());
    }
    watch();
  };

  return {
    post: (posting) =>
      new Promise((resolve) => {
        const exchange = new Exchange(posting.lane, (outcome) => {
          underWay.delete(exchange);
          resolve(outcome);
        });
        underWay.add(exchange);
        if (!timer) watch();
        const place = places.get(keyOf(posting));
        if (place) return send(posting, place, exchange);
        findPlace(posting).then(
          (found) => send(posting, found, exchange),
          (error) => exchange.fail(error),
        );
      }),
    breakOff(lane) {
      for (const exchange of underWay) if (exchange.lane === lane) exchange.fail(new BrokenOff());
    },
    async close() {
      isClosed = true;
      searches.end();
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

function send({ headers, body }: Posting, { origin, path, agent }: Place, exchange: Exchange): void {
  agent.dispatch(
    {
      origin,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Coffer-Webhooks/1', ...headers },
      body,
      // The whole exchange has its own limit.
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    exchange,
  );
}

/** Names that are being resolved. None takes longer than an exchange. */
function createSearches(resolveHost: ResolveHost, timeoutMs: number) {
  const underWay = new Set<AbortController>();
  return {
    async addressesOf(host: string): ReturnType<ResolveHost> {
      const search = new AbortController();
      underWay.add(search);
      const timer = setTimeout(() => search.abort(new TimedOut()), timeoutMs);
      try {
        return await resolveHost(host, search.signal);
      } catch (error) {
        search.signal.throwIfAborted();
        throw new HostNotFound('No name server has answered with an address.', { cause: error });
      } finally {
        clearTimeout(timer);
        underWay.delete(search);
      }
    },
    end(): void {
      for (const search of underWay) search.abort(new Closed());
    },
  };
}

/** Called for names only: literals are checked with the URL. */
function checkedLookup(
  reach: Reach,
  protocol: string,
  resolveHost: (host: string) => ReturnType<ResolveHost>,
): LookupFunction {
  return (hostname, { all }, callback) => {
    addressesToDial(new URL(`${protocol}//${hostname}`), reach, resolveHost).then(
      (addresses) => {
        const [first] = addresses ?? [];
        if (!addresses || !first) return callback(new UrlNotAllowed(), '');
        return all ? callback(null, [...addresses]) : callback(null, first.address, first.family);
      },
      (error) => callback(error, ''),
    );
  };
}

/** What becomes of one request, as undici tells it: without a stream for the answer, most of which is empty. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly lane: string | undefined;
  readonly #hasEnded: (outcome: PostOutcome) => void;
  readonly #startedMs = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #head: Buffer | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(lane: string | undefined, hasEnded: (outcome: PostOutcome) => void) {
    this.lane = lane;
    this.#hasEnded = hasEnded;
  }

  ageMs(): number {
    return performance.now() - this.#startedMs;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new BrokenOff());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    // Not the ones that only announce the answer.
    if (status >= 200) this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (!this.#head) this.#head = chunk;
    else if (this.#head.length < ANSWER_HEAD_BYTES) this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#bytes < MAX_ANSWER_BYTES) return;
    this.onResponseEnd();
    controller.abort(new BrokenOff());
  }

  onResponseEnd(): void {
    this.#end({ status: this.#status, error: null, answerHead: textOf(this.#head) });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end({ status: null, error: errorOf(error), answerHead: '' });
  }

  /** Ends it from this side. */
  fail(error: unknown): void {
    this.#end({ status: null, error: errorOf(error), answerHead: '' });
    this.#controller?.abort(new BrokenOff());
  }

  /** Only the first end counts. */
  #end(outcome: Omit<PostOutcome, 'durationMs'>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hasEnded({ ...outcome, durationMs: Math.round(this.ageMs()) });
  }
}

const textOf = (head: Buffer | undefined): string =>
  head ? head.subarray(0, ANSWER_HEAD_BYTES).toString('utf8').replaceAll('\0', '\u{FFFD}') : '';

/** Names no address: which of ours are in use is nobody's business. */
function errorOf(error: unknown): PostError {
  if (error instanceof UrlNotAllowed) return 'url_not_allowed';
  if (error instanceof HostNotFound) return 'host_not_found';
  if (error instanceof TimedOut) return 'timeout';
  if (error instanceof Error && error.name === 'HTTPParserError') return 'invalid_answer';
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'connection_reset';
  if (/^UND_ERR_(HEADERS|RES)/.test(code)) return 'invalid_answer';
  if (/CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SIGNATURE|ISSUER/.test(code)) return 'tls_failed';
  return 'connection_failed';
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
