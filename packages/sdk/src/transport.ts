/** One call over HTTP: credential, JSON, the error envelope, retries. */
import { type Fields, fieldsOf, isRecord } from './answers.ts';
import { CofferError, type CofferErrorFields, sdkError } from './cofferError.ts';
import type { AnswerHeaders, Fetch, FetchAnswer, Signal } from './platform.ts';
import { type Attempt, attemptUntilDeadline, type CallOptions, type RetryPolicy, timerMs } from './retry.ts';

export interface Request {
  readonly method: 'GET' | 'POST';
  /** Relative to the base address, with its query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The credential; absent if the endpoint takes none. */
  readonly bearer?: string;
  /**
   * `safe`: acts once, however often it arrives. `once`: repeated only if the service says that it has done
   * nothing, because a second arrival would fail or would act again.
   */
  readonly repeat: 'safe' | 'once';
  /**
   * Sent with every attempt, so that all of them are one request in the service's log. Browsers do not send
   * it: CORS.
   */
  readonly requestId?: string;
  /** The key of the write. Included in errors, so that the caller can repeat it. */
  readonly key?: WriteKey;
  /** How long the service may hold it before it answers; the call is given that much more time. */
  readonly heldMs?: number;
  /** Statuses other than 2xx that are an answer of this endpoint. */
  readonly answers?: readonly number[];
}

/** Makes repeated arrivals one write: each group of calls has its own name for it. */
type WriteKey = Pick<CofferErrorFields, 'transactionUuids' | 'ref' | 'idempotencyKey'>;

export interface Reply {
  readonly status: number;
  /** The JSON body; undefined for 204. */
  readonly body: unknown;
  /** Whether the service says that it acted before and repeats its earlier answer. */
  readonly replayed: boolean;
  /** What an error about this answer must include. */
  readonly known: WriteKey & Pick<CofferErrorFields, 'status' | 'requestId'>;
}

/** The transport, already given the secret key and a request id. */
export type Call = (
  request: Omit<Request, 'repeat' | 'bearer' | 'requestId'>,
  options: CallOptions | undefined,
) => Promise<Reply>;

export type Send = (request: Request, options?: CallOptions) => Promise<Reply>;

export interface TransportOptions {
  /** Ends with `/v1`. */
  readonly baseUrl: string;
  readonly fetch?: Fetch | undefined;
  readonly policy: RetryPolicy;
}

/** Statuses by which a gateway in front of the service reports that it got no answer from it. */
const GATEWAY_STATUSES: readonly number[] = [502, 504];
/** Codes by which the service says that it has done nothing. */
const NOTHING_DONE: readonly string[] = [
  'request/rate_limited',
  'service/overloaded',
  'service/unavailable',
  'service/not_ready',
];

export function createTransport({ baseUrl, fetch: ownFetch, policy }: TransportOptions): Send {
  const base = baseOf(baseUrl);
  // Looked up late and called as a plain function: browsers refuse a fetch that is called on another object.
  const fetchNow: Fetch = ownFetch ?? ((url, init) => globalThis.fetch(url, init));

  const attempt = async (
    request: Request,
    timeoutMs: number,
    signal: Signal | undefined,
  ): Promise<Attempt<Reply>> => {
    const timeout = AbortSignal.timeout(timerMs(timeoutMs));
    try {
      const response = await fetchNow(`${base}${request.path}`, {
        method: request.method,
        headers: headersOf(request),
        // The service never redirects, and a redirected POST would arrive as something else.
        redirect: 'error',
        credentials: 'omit',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        ...(request.body && { body: JSON.stringify(request.body) }),
      });
      return judge(request, response, await response.text());
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof CofferError) throw cause;
      const again = request.repeat === 'safe';
      const failure = sdkError('sdk/no_answer', {
        ...knownOf(request),
        retryable: again,
        outcome: 'unknown',
        cause,
      });
      return { done: false, again, failure };
    }
  };

  return async (request, options = {}) => {
    const { last, anyUnknown } = await attemptUntilDeadline(holding(policy, request), options, (timeoutMs) =>
      attempt(request, timeoutMs, options.signal),
    );
    if (last.done) return last.value;
    if (anyUnknown && last.failure.outcome === 'refused') throw withUnknownOutcome(last.failure);
    throw last.failure;
  };
}

function holding({ retry, timing }: RetryPolicy, { heldMs = 0 }: Request): RetryPolicy {
  const { attemptTimeoutMs, deadlineMs } = retry;
  return {
    retry: { ...retry, attemptTimeoutMs: attemptTimeoutMs + heldMs, deadlineMs: deadlineMs + heldMs },
    timing,
  };
}

/** Throws a TypeError: without the `/v1` every call would get a "not found". */
function baseOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const [, path] = /^([^?#]*\/v1)\/?$/.exec(url?.href ?? '') ?? [];
  if (path === undefined || !/^https?:/.test(path)) {
    throw new TypeError('The baseUrl ends with /v1, as in https://coffer.example/v1.');
  }
  return path;
}

function headersOf({ body, bearer, requestId }: Request): Record<string, string> {
  return {
    accept: 'application/json',
    ...(body && { 'content-type': 'application/json' }),
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    ...(requestId !== undefined && { 'x-request-id': requestId }),
  };
}

/** What an answer means for the call. */
function judge(request: Request, response: FetchAnswer, text: string): Attempt<Reply> {
  const { status, headers } = response;
  const body = jsonOf(text);
  if (response.ok || request.answers?.includes(status)) {
    // A captive portal's page answers 200 as well.
    if (body === undefined && status !== 204) {
      const failure = sdkError('sdk/unexpected_answer', { ...knownOf(request), status, outcome: 'unknown' });
      return { done: false, again: false, failure };
    }
    const replayed = headers.get('idempotency-replayed') === 'true';
    const known = {
      ...knownOf(request),
      status,
      requestId: headers.get('x-request-id') ?? request.requestId,
    };
    return { done: true, value: { status, body, replayed, known } };
  }

  const failure = failureOf({ status, body, headers, ...knownOf(request) });
  const passing = status === 429 || status === 503 || GATEWAY_STATUSES.includes(status);
  const again = passing && (request.repeat === 'safe' || failure.outcome === 'refused');
  return { done: false, again, failure };
}

const knownOf = ({ requestId, key }: Request) => ({ requestId, ...key });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever answered, it was not the service; the status says the rest.
    return undefined;
  }
}

interface ErrorAnswer extends WriteKey {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: AnswerHeaders;
  readonly requestId?: string | undefined;
}

/** The error described by an answer: a refusal by the service, or a failure in front of it. */
export function failureOf({ status, body, headers, requestId, ...key }: ErrorAnswer): CofferError {
  const envelope = isRecord(body) ? body : {};
  const details = isRecord(envelope.details) ? envelope.details : {};
  const spoken = typeof envelope.code === 'string';
  const code = typeof envelope.code === 'string' ? envelope.code : 'sdk/unexpected_answer';
  // Without an envelope it was a gateway, which may have passed the request on before it failed.
  const refused = spoken ? status < 500 || NOTHING_DONE.includes(code) : status < 500;
  return new CofferError({
    code,
    message:
      typeof envelope.message === 'string'
        ? envelope.message
        : `Answered ${status} without an error envelope.`,
    status,
    details,
    requestId: headers?.get('x-request-id') ?? requestId,
    retryable: status === 429 || status === 503 || GATEWAY_STATUSES.includes(status),
    outcome: refused ? 'refused' : 'unknown',
    retryAfterMs: retryAfterMsOf(headers?.get('retry-after') ?? details.retryAfterSeconds),
    ...key,
  });
}

/**
 * From the header's seconds, or from the details if CORS hides the header. The service never sends a date.
 */
function retryAfterMsOf(seconds: unknown): number | undefined {
  const value =
    typeof seconds === 'number'
      ? seconds
      : typeof seconds === 'string' && /^\d+$/.test(seconds)
        ? Number(seconds)
        : undefined;
  return value === undefined ? undefined : value * 1_000;
}

/** A refusal does not prove that an earlier unanswered attempt will never act. */
export function withUnknownOutcome(failure: CofferError): CofferError {
  return new CofferError({ ...failure, message: failure.message, outcome: 'unknown', cause: failure.cause });
}

/** Reads the body of an answer. Throws `sdk/unexpected_answer` if it is not as required. */
export function readBody<Answer>({ body, known }: Reply, read: (fields: Fields) => Answer): Answer {
  try {
    return read(fieldsOf(body));
  } catch (error) {
    if (!(error instanceof CofferError)) throw error;
    throw sdkError('sdk/unexpected_answer', { ...known, details: error.details, outcome: 'unknown' });
  }
}

/** A text as one segment of a path. Throws a TypeError on a text that would change the path of a URL. */
export function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new TypeError(`"${text}" is not an id.`);
  return encodeURIComponent(text);
}

/** `?a=1&b=2` with the fields that are present; otherwise empty. */
export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query}`;
}
