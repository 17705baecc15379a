/** One exchange with a receiver: connections are kept, addresses checked where they are dialled, redirects not followed. */
import type { LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import {
  addressesToDial,
  endpointUrl,
  type Reach,
  type ResolveHost,
  resolveByThisMachine,
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
  /** Breaks the exchange; what is then the outcome is of no interest. */
  readonly signal?: AbortSignal;
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
export const TIMEOUT_MS = 10_000;
/** Enough for an error page, too little to be worth sending: what follows is not read. */
const MAX_ANSWER_BYTES = 16 * 1024;
const ANSWER_HEAD_BYTES = 1_024;

/** Source: spec, Delivery and retry. */
export const isDelivered = ({ status }: Pick<PostOutcome, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300;

type Undici = typeof import('undici');
let loading: Promise<Undici> | undefined;
/** Loaded with the first exchange: many services never send anything, and start 90 ms of the processor earlier. */
const undici = (): Promise<Undici> => {
  loading ??= import('undici');
  return loading;
};

class UrlNotAllowed extends Error {}
class TimedOut extends Error {}
class Closed extends Error {}

export function createPoster({
  timeoutMs = TIMEOUT_MS,
  resolveHost = resolveByThisMachine,
  ca,
}: PosterOptions = {}): Poster {
  // What may be dialled depends on both; undici's own agent ignores the proxies of the process environment.
  const agents = new Map<string, Agent>();
  let isClosed = false;
  const agentFor = ({ Agent }: Undici, reach: Reach, url: URL): Agent => {
    const key = `${reach} ${url.protocol}`;
    const agent =
      agents.get(key) ??
      new Agent({
        allowH2: true,
        connect: {
          lookup: checkedLookup(reach, url.protocol, resolveHost),
          timeout: timeoutMs,
          ...(ca === undefined ? {} : { ca }),
        },
      });
    agents.set(key, agent);
    return agent;
  };

  async function exchange({ url: text, reach, headers, body }: Posting, signal: AbortSignal) {
    const url = endpointUrl(text, reach);
    if (!url) throw new UrlNotAllowed();
    const client = await undici();
    // Nobody would destroy an agent made now.
    if (isClosed) throw new Closed();
    const answer = await client.request(url, {
      method: 'POST',
      dispatcher: agentFor(client, reach, url),
      headers: { 'content-type': 'application/json', 'user-agent': 'Coffer-Webhooks/1', ...headers },
      body,
      signal,
    });
    return { status: answer.statusCode, answerHead: await headOf(answer.body) };
  }

  return {
    async post(posting) {
      const startedMs = performance.now();
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(new TimedOut()), timeoutMs);
      const breakOff = () => abort.abort();
      posting.signal?.addEventListener('abort', breakOff);
      const durationMs = () => Math.round(performance.now() - startedMs);
      try {
        return { ...(await exchange(posting, abort.signal)), error: null, durationMs: durationMs() };
      } catch (error) {
        return { status: null, error: errorOf(error), durationMs: durationMs(), answerHead: '' };
      } finally {
        clearTimeout(timer);
        posting.signal?.removeEventListener('abort', breakOff);
      }
    },
    async close() {
      isClosed = true;
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

/** Called for names only: literals are checked with the URL, before each attempt. */
function checkedLookup(reach: Reach, protocol: string, resolveHost: ResolveHost): LookupFunction {
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

async function headOf(body: AsyncIterable<Uint8Array> & { destroy(): unknown }): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes >= MAX_ANSWER_BYTES) break;
  }
  const head = Buffer.concat(chunks).subarray(0, ANSWER_HEAD_BYTES).toString('utf8');
  return head.replaceAll('\0', '\u{FFFD}');
}

/** Names no address: which of ours are in use is nobody's business. */
function errorOf(error: unknown): PostError {
  if (error instanceof UrlNotAllowed) return 'url_not_allowed';
  if (error instanceof TimedOut) return 'timeout';
  if (error instanceof Error && error.name === 'HTTPParserError') return 'invalid_answer';
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'host_not_found';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'connection_reset';
  if (/^UND_ERR_(HEADERS|RES)/.test(code)) return 'invalid_answer';
  if (/CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SIGNATURE|ISSUER/.test(code)) return 'tls_failed';
  return 'connection_failed';
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
