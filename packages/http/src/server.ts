/** The HTTP server around the app: bounds on slow and broken clients, and an orderly end. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { httpErrors } from './errors.ts';
import { createFailureLog, type FailureLog } from './failureLog.ts';
import type { Logger } from './logger.ts';
import { requestGroups } from './requestGroups.ts';

// An import of it would load the client behind `fetch` as well: 35 ms of the processor.
const { createServer } = process.getBuiltinModule('node:http');

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Whether other threads of this process listen on the same port: the system divides connections among them. */
  readonly reusePort?: boolean;
  /** From the opening of the connection, or the first byte of a later request, until the headers are complete. Default 10 s. */
  readonly headersTimeoutMs?: number;
  /** From the first byte until the body is complete. Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** Told what was refused because it never became a request. */
  readonly logger?: Logger;
}

export interface RunningServer {
  /** `http://host:port`, without a path. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no new connection, closes idle ones, lets requests in flight finish for `graceMs`, then closes
   * what is left. Resolves when all connections are closed.
   */
  stop(graceMs: number): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 100;
/** Longer than the idle timeout of common load balancers, so that it is never us who cut a reused connection. */
const KEEP_ALIVE_MS = 65_000;
/** A connection on which nothing moves in either direction. */
const STALLED_MS = 120_000;
/** How often overdue requests are looked for, and, while stopping, connections that have become idle. */
const CHECK_INTERVAL_MS = 1_000;
const STOP_CHECK_INTERVAL_MS = 20;
const LINGER_MS = 1_000;
/** Nobody can call what stands for every address of the machine. */
const ANY_HOST: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Rejects when the port is taken. */
export async function startServer(app: Handler, options: ServerOptions): Promise<RunningServer> {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: options.headersTimeoutMs ?? 10_000,
    requestTimeout: options.requestTimeoutMs ?? 30_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, options.requestTimeoutMs ?? CHECK_INTERVAL_MS),
    // Node would refuse without our envelope; `withGoodHeaders` refuses with it.
    requireHostHeader: false,
  });
  // A connection beyond is closed at once.
  server.maxConnections = 10_000;
  server.timeout = STALLED_MS;
  // Node drops what is beyond in silence; with one more than we take, we see that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  const failureLog = options.logger && createFailureLog(options.logger);
  const connections = createConnections();
  const checked = withGoodHeaders(app, failureLog);
  const handler = connections.following((request, response) =>
    requestGroups.take(request, response, () => checked(request, response)),
  );
  server.on('request', handler);
  // The app says `100 Continue` itself, once it wants the body; other expectations are ignored.
  server.on('checkContinue', handler);
  server.on('checkExpectation', handler);
  server.on('clientError', (error, socket) => {
    if (wasSilent(socket)) {
      socket.destroy();
      return;
    }
    connections.afterAnswersOn(socket, error, () => answerBrokenRequest(error, socket, failureLog));
  });
  server.on('connect', (_request, socket) => {
    // Node has let go of it: whoever leaves it is asked nothing more.
    socket.on('error', () => socket.destroy());
    const error = new Error('Nothing is tunnelled.');
    connections.afterAnswersOn(socket, error, () => answerBrokenRequest(error, socket, failureLog));
  });
  await listen(server, options);

  // An HTTP server on host and port has an address of this form.
  const { port } = server.address() as AddressInfo;
  const reachable = ANY_HOST.get(options.host) ?? options.host;
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${host}:${port}`,
    port,
    stop: (graceMs) => {
      stopped ??= stop(server, graceMs);
      return stopped;
    },
  };
}

function listen(server: Server, { host, port, reusePort = false }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // `close` looks for idle connections once; those that finish a request later would stay open.
  const sweep = setInterval(() => server.closeIdleConnections(), STOP_CHECK_INTERVAL_MS);
  const end = setTimeout(() => server.closeAllConnections(), graceMs);
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  await closed;
  clearInterval(sweep);
  clearTimeout(end);
}

/** Which answers are under way on a connection. What follows a request may be no HTTP; the request is answered. */
function createConnections() {
  /** The last and the one before it, which is whole, as another one followed. */
  const underWay = new WeakMap<Duplex, readonly ServerResponse[]>();
  const ending = new WeakSet<Duplex>();

  return {
    following:
      (handler: Handler): Handler =>
      (request, response) => {
        const { socket } = request;
        const [before] = underWay.get(socket) ?? [];
        underWay.set(socket, before ? [response, before] : [response]);
        response.once('close', () => {
          // Until its body is there, what is received is still part of that request.
          if (underWay.get(socket)?.[0] === response && request.complete) underWay.delete(socket);
        });
        handler(request, response);
      },

    afterAnswersOn(socket: Duplex, error: NodeJS.ErrnoException, end: () => void): void {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      // Whatever else is sent is no HTTP either.
      if (ending.has(socket)) return;
      ending.add(socket);
      const answers = underWay.get(socket) ?? [];
      // It broke off in the body of a request that was refused without it: another answer would be the next request's.
      if (answers[0]?.writableFinished && !answers[0].req.complete) {
        endSoon(socket, '');
        return;
      }
      // Answers go out in the order of their requests. The last request may be the one that broke off in its body.
      const last = answers.find((answer) => answer.req.complete && !answer.writableFinished);
      if (!last) {
        end();
        return;
      }
      last.once('close', () => {
        if (socket.writable) end();
      });
    },
  };
}

function withGoodHeaders(app: Handler, failureLog: FailureLog | undefined): Handler {
  return (request, response) => {
    const wrong = wrongHeadersOf(request);
    if (wrong === undefined) return app(request, response);
    const { status, text, headers } = rawFailure(wrong, failureLog);
    response.writeHead(status, { ...headers, Connection: 'close' }).end(text);
  };
}

function wrongHeadersOf({ rawHeaders, httpVersion }: IncomingMessage) {
  // Names and values by turns.
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'request/headers_too_large';
  const hosts = hostsIn(rawHeaders);
  return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? 'request/malformed' : undefined;
}

/** Of several, Node tells the first one alone. RFC 9112, 3.2: such a request is refused. */
function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === HOST.length && name.toLowerCase() === HOST) hosts++;
  }
  return hosts;
}

const HOST = 'host';

/** Opened ahead of need, as pools and browsers do: an answer to no request would meet the first one on its way. */
const wasSilent = (socket: Duplex): boolean => socket instanceof Socket && socket.bytesRead === 0;

/** What the parser refuses never becomes a request, so the envelope is written by hand. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  failureLog: FailureLog | undefined,
): void {
  // Whoever left in the middle of a request asks nobody about it.
  const told = error.code === 'HPE_INVALID_EOF_STATE' ? undefined : failureLog;
  const { status, reason, text, headers } = rawFailure(codeOfParserError(error.code), told);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  endSoon(socket, [`HTTP/1.1 ${status} ${reason}`, ...head, 'Connection: close', '', text].join('\r\n'));
}

function endSoon(socket: Duplex, lastWords: string): void {
  socket.end(lastWords);
  // The client gets a moment to read it; to destroy at once could reset the answer on its way.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

function codeOfParserError(code: string | undefined) {
  if (code === 'HPE_HEADER_OVERFLOW') return 'request/headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request/timeout';
  return 'request/malformed';
}

const REASONS = {
  'request/headers_too_large': 'Request Header Fields Too Large',
  'request/timeout': 'Request Timeout',
  'request/malformed': 'Bad Request',
} as const;

function rawFailure(code: keyof typeof REASONS, failureLog: FailureLog | undefined) {
  const { status, message } = httpErrors[code];
  const requestId = randomUUID();
  failureLog?.refused({ status, code }, { requestId, route: 'unmatched' });
  const text = JSON.stringify({ code, message, details: {} });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  };
  return { status, reason: REASONS[code], text, headers };
}
