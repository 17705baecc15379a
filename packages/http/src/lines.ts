/** JSON lines, streamed at the pace of their reader. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** A reader that takes nothing for this long is gone: it must not keep its place for ever. */
const STALLED_READER_MS = 60_000;

/**
 * Streams the lines. A failure before the first line is thrown with nothing sent, so that it can still be answered
 * properly; later the connection is destroyed, so that nobody mistakes the part for the whole, and the error goes to
 * `onBroken`.
 */
export async function sendLines(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  lines: AsyncIterable<unknown>,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]();
  let next = await iterator.next();
  headers['Content-Type'] = 'application/x-ndjson; charset=utf-8';
  response.writeHead(status, headers);
  try {
    while (!next.done && !response.destroyed) {
      if (!response.write(`${JSON.stringify(next.value)}\n`)) await drained(response);
      next = await iterator.next();
    }
    if (response.destroyed) await iterator.return?.();
    else response.end();
  } catch (error) {
    if (!response.destroyed) onBroken(error);
    response.destroy();
    await iterator.return?.();
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve, fail) => {
    const settle = (error?: Error): void => {
      clearTimeout(timer);
      response.off('drain', proceed).off('close', proceed);
      if (error) fail(error);
      else resolve();
    };
    const proceed = (): void => settle();
    const timer = setTimeout(settle, STALLED_READER_MS, new Error('The reader of the lines has stalled.'));
    response.on('drain', proceed).on('close', proceed);
  });
}
