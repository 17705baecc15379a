/** A large answer that is the same for everybody: serialized and compressed once, and resent only when it changed. */
import { hash } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

export interface StoredDocument {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  /** Weak: it identifies the content, however encoded. */
  readonly etag: string;
}

export interface JsonDocument extends StoredDocument {
  readonly text: string;
}

/** It changes only with a release. Whoever asks again after that learns at once that nothing has changed. */
export const DOCUMENT_MAX_AGE_SECONDS = 300;

export function jsonDocument(value: unknown): JsonDocument {
  const text = JSON.stringify(value);
  const plain = Buffer.from(text);
  return {
    text,
    type: 'application/json; charset=utf-8',
    plain,
    gzipped: gzipSync(plain, { level: 9 }),
    etag: etagOf(plain),
  };
}

export const etagOf = (plain: Buffer): string => `W/"${hash('sha256', plain, 'base64url')}"`;

export function sendDocument(
  request: IncomingMessage,
  response: ServerResponse,
  headers: OutgoingHttpHeaders,
  { type, plain, gzipped, etag }: StoredDocument,
): void {
  headers.ETag = etag;
  // Caches send it to pages as well.
  headers.Vary = headers.Vary === undefined ? 'Accept-Encoding' : `${headers.Vary}, Accept-Encoding`;
  if (listOf(request.headers['if-none-match']).some((known) => known === etag || known === '*')) {
    response.writeHead(304, headers).end();
    return;
  }
  headers['Content-Type'] = type;
  const isGzipped = takesGzip(request.headers['accept-encoding']);
  if (isGzipped) headers['Content-Encoding'] = 'gzip';
  const bytes = isGzipped ? gzipped : plain;
  headers['Content-Length'] = bytes.length;
  response.writeHead(200, headers).end(bytes);
}

/** Listed, and not with weight 0 (RFC 9110, 12.5.3). `*` alone gets it uncompressed. */
function takesGzip(accepted: string | string[] | undefined): boolean {
  return listOf(accepted).some((entry) => {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((one) => one.startsWith('q=') && Number(one.slice(2)) === 0);
  });
}

function listOf(header: string | string[] | undefined): readonly string[] {
  return String(header ?? '')
    .split(',')
    .map((entry) => entry.trim());
}
