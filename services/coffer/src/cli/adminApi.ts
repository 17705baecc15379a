/** Calls to the admin API of the running service. */
import { z } from 'zod';
import type { Connection } from './connection.ts';
import { CommandFailure, EXIT, noService } from './failure.ts';
import type { TaskProgress } from './progress.ts';

const ANSWER_TIMEOUT_MS = 60_000;

const errorEnvelope = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()),
});

type Query = Readonly<Record<string, string | undefined>>;

interface GetOptions {
  /** Breaks it off. */
  readonly signal?: AbortSignal;
}

interface PostOptions {
  readonly idempotencyKey?: string | undefined;
}

/** The result of a long task. If `ok` is false, `code` says what is wrong, as in the catalogue. */
type TaskResult = Readonly<Record<string, unknown>> &
  ({ readonly ok: true } | { readonly ok: false; readonly code: string; readonly message: string });

export interface TaskOptions {
  readonly query?: Query;
  /** With a body, the call is a POST. */
  readonly body?: unknown;
  readonly onProgress: (progress: TaskProgress) => void;
}

/** A line of a long task's answer: any number of the first kind, then exactly one of the second. */
const taskLine = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('progress'),
    stage: z.string(),
    done: z.number(),
    of: z.number().nullable(),
  }),
  z.object({
    kind: z.literal('result'),
    result: z.discriminatedUnion('ok', [
      z.looseObject({ ok: z.literal(true) }),
      z.looseObject({ ok: z.literal(false), code: z.string(), message: z.string() }),
    ]),
  }),
]);

/** Every call throws a `CommandFailure` for a refusal, and if no service answers. */
export interface AdminApi {
  readonly get: (path: string, query?: Query, options?: GetOptions) => Promise<unknown>;
  readonly post: (path: string, body: unknown, options?: PostOptions) => Promise<unknown>;
  /** The text of each JSON line, as it was sent. */
  readonly lines: (path: string, query?: Query) => AsyncIterable<string>;
  /** Runs for as long as it takes; the service reports its progress, and finally the result. */
  readonly longTask: (path: string, options: TaskOptions) => Promise<TaskResult>;
}

/** A path from parts that may contain any character. */
export const pathOf = (...segments: readonly string[]): string =>
  `/portal/${segments.map(encodeURIComponent).join('/')}`;

export function createAdminApi(connect: () => Promise<Connection>): AdminApi {
  const call = async (path: string, query: Query, init: RequestInit): Promise<Response> => {
    const { baseUrl, token } = await connect();
    const url = new URL(`${baseUrl}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const response = await send(url, baseUrl, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw await refusalOf(response, baseUrl);
    return response;
  };
  const inTime = () => AbortSignal.timeout(ANSWER_TIMEOUT_MS);

  return {
    get: async (path, query = {}, { signal } = {}) => {
      const init = { signal: signal ? AbortSignal.any([signal, inTime()]) : inTime() };
      return jsonOf(await call(path, query, init));
    },
    post: async (path, body, { idempotencyKey } = {}) => {
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
      return jsonOf(await call(path, {}, { ...posted(body, headers), signal: inTime() }));
    },
    lines: async function* (path, query = {}) {
      const response = await call(path, query, {});
      if (response.body) yield* linesOf(response.body, resumption);
    },
    longTask: async (path, { query = {}, body, onProgress }) => {
      const response = await call(path, query, body === undefined ? {} : posted(body));
      for await (const text of linesOf(response.body ?? [], () => ' The task did not finish.')) {
        const line = taskLine.safeParse(parsedJson(text));
        if (!line.success) throw noService('What answers is not a service that this command can talk to.');
        if (line.data.kind === 'result') return line.data.result;
        onProgress(line.data);
      }
      throw noService('The answer ended before the result.');
    },
  };
}

const posted = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});

async function send(url: URL, baseUrl: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw connectionFailure(error, `No service answers at ${baseUrl}. Start it with "npm start".`);
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    throw connectionFailure(error, 'The connection broke before the answer was complete.');
  }
}

function connectionFailure(error: unknown, message: string): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    const text = `service/outcome_unknown: no answer after ${ANSWER_TIMEOUT_MS / 1000} s.`;
    return new CommandFailure(EXIT.refused, text, { cause: error });
  }
  return noService(message, error);
}

async function refusalOf(response: Response, baseUrl: string): Promise<CommandFailure> {
  const text = await response.text();
  const envelope = errorEnvelope.safeParse(parsedJson(text));
  if (!envelope.success) return noService(`What answers at ${baseUrl} (${response.status}) is not Coffer.`);
  const { code, message, details } = envelope.data;
  const rest = Object.keys(details).length > 0 ? `\n${JSON.stringify(details)}` : '';
  return new CommandFailure(EXIT.refused, `${code}: ${message}${rest}`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `consequence` says what it means that the lines ended after the given one. */
async function* linesOf(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  consequence: (last: string | undefined) => string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let last: string | undefined;
  try {
    for await (const chunk of body) {
      const pieces = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = pieces.pop() ?? '';
      for (const piece of pieces) {
        last = piece;
        yield piece;
      }
    }
  } catch (error) {
    throw noService(`The connection broke.${consequence(last)}`, error);
  }
  if (rest !== '') throw noService(`The last line is cut off.${consequence(last)}`);
}

/** If it cannot send everything, the service breaks the connection rather than end the answer normally. */
function resumption(line: string | undefined): string {
  const seen = z.object({ position: z.string() }).safeParse(parsedJson(line ?? ''));
  return ` The output is incomplete.${seen.success ? ` Resume with --after ${seen.data.position}` : ''}`;
}
