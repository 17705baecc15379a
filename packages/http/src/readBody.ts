/**
 * Reads a whole body, up to a limit. Written against the stream itself: half the cost of a general body parser, and
 * nothing is read before the caller is known.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { reject } from './errors.ts';

/** 64 KiB. Source: contract, Common rules, row Bodies. */
export const DEFAULT_BODY_LIMIT_BYTES = 64 * 1024;

/** The client went away before its request was complete: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

/** Throws `request/too_large` as soon as that is certain, and `ClientGoneError`. */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limitBytes: number,
): Promise<Buffer> {
  const declared = request.headers['content-length'];
  if (declared !== undefined && Number(declared) > limitBytes) {
    return Promise.reject(reject('request/too_large', { limitBytes }));
  }
  // What is left of a request that was answered is dropped, and nothing tells when that ends.
  if (request.destroyed || response.destroyed || response.headersSent) {
    return Promise.reject(new ClientGoneError('Nobody waits for what the body asks.'));
  }
  if (awaitsContinue(request)) response.writeContinue();

  return new Promise((resolve, fail) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= limitBytes) return;
      request.off('data', onData);
      request.pause();
      fail(reject('request/too_large', { limitBytes }));
    };
    request.on('data', onData);
    let ended = false;
    // Each is emitted once, and `once` would wrap each listener.
    request.on('end', () => {
      ended = true;
      const [first] = chunks;
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks, size));
    });
    // Emitted after `end` too, where an error with its stack would be made for nobody.
    const onClose = (): void => {
      if (!ended) fail(new ClientGoneError('The client went away while sending.'));
    };
    request.on('close', onClose);
    // A request that is answered in the middle of its body never closes.
    response.on('close', onClose);
  });
}

/** The client waits for `100 Continue` before it sends the body. In HTTP/1.0 there is no such answer (RFC 9110, 10.1.1). */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0';
}
