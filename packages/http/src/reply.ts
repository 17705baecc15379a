/** Sends an answer: headers, length, and an orderly end when the body was not read. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Failure } from './failure.ts';
import { hasBody } from './jsonBody.ts';
import { awaitsContinue, DEFAULT_BODY_LIMIT_BYTES } from './readBody.ts';

/** How long we keep reading (and dropping) a refused body, so that the client can read why. */
const LINGER_MS = 1_000;

/** Headers of every answer below the base address, unless it may be cached. */
export function apiHeaders(requestId: string): OutgoingHttpHeaders {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
}

/** `text` undefined: no body (204). */
export function sendJson(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  text: string | undefined,
): void {
  let encoding: Made['encoding'] = 'utf8';
  if (text !== undefined) {
    const bytes = Buffer.byteLength(text);
    // Where each character is a byte both are the same, and Node writes Latin-1 several times as fast.
    if (bytes === text.length) encoding = 'latin1';
    headers['Content-Type'] = 'application/json; charset=utf-8';
    headers['Content-Length'] = bytes;
  }
  response.writeHead(status, headers);
  if (made.length === 0) process.nextTick(sendMade);
  made.push({ response, text, encoding });
  if (made.length === MOST_TOGETHER) sendMade();
}

interface Made {
  readonly response: ServerResponse;
  readonly text: string | undefined;
  readonly encoding: 'utf8' | 'latin1';
}

/** Of a large batch the first are sent while the others are made: on another core, their receivers go on meanwhile. */
const MOST_TOGETHER = 8;
/** Answers of this turn of the event loop, with their bodies. */
let made: Made[] = [];

/**
 * Once eight are made, or when no other can be made without waiting for something. Sent one by one as they are made, each would wake its receiver,
 * which often runs on the same processors: it would take one while the next answer is made. ADR 0081.
 */
function sendMade(): void {
  const answers = made;
  made = [];
  for (const { response, text, encoding } of answers) response.end(text, encoding);
}

/** The error envelope. What remains of the request is dropped in bounded time. */
export function sendFailure(
  request: IncomingMessage,
  response: ServerResponse,
  failure: Failure,
  headers: OutgoingHttpHeaders,
): void {
  if (failure.retryAfterSeconds !== undefined) headers['Retry-After'] = failure.retryAfterSeconds;
  if (failure.status === 401) headers['WWW-Authenticate'] = 'Bearer';
  if (!leavesMuchUnread(request)) {
    sendJson(response, failure.status, headers, failure.body);
    return;
  }
  headers['Content-Type'] = 'application/json; charset=utf-8';
  headers['Content-Length'] = Buffer.byteLength(failure.body);
  headers.Connection = 'close';
  response.writeHead(failure.status, headers);
  // This completes the answer. Closing while the client still sends would reset the connection and destroy the answer on
  // its way, so the end waits for the client, but not for long.
  response.write(failure.body);
  const timer = setTimeout(() => response.end(), LINGER_MS);
  request.once('close', () => {
    clearTimeout(timer);
    response.end();
  });
  request.once('end', () => response.end());
  request.resume();
}

/** Node itself drops a small rest, and the connection stays usable. */
function leavesMuchUnread(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request.headers)) return false;
  if (awaitsContinue(request)) return true;
  const declared = request.headers['content-length'];
  return declared === undefined || Number(declared) > DEFAULT_BODY_LIMIT_BYTES;
}
