/** The files of the API's pages besides the document: Swagger UI as npm installed it, and the script that starts it. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler } from 'express';
import { etagOf, type StoredDocument, sendDocument } from '../jsonDocument.ts';

interface Asset {
  readonly url: string;
  readonly type: string;
}

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** The complete list, by name: no part of a request becomes part of a file's path. */
const ASSETS: Readonly<Record<string, Asset>> = {
  'swagger-ui.css': { url: import.meta.resolve('swagger-ui-dist/swagger-ui.css'), type: CSS },
  'swagger-ui-bundle.js': { url: import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'), type: SCRIPT },
  // The bundle's first line refers to it.
  'swagger-ui-bundle.js.LICENSE.txt': {
    url: import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt'),
    type: 'text/plain; charset=utf-8',
  },
  'page.css': { url: import.meta.resolve('./page.css'), type: CSS },
  'start.js': { url: import.meta.resolve('./start.js'), type: SCRIPT },
};

const MAX_AGE_SECONDS = 31_536_000;

const compress = promisify(gzip);

/** A changed file gets a new path, because browsers never ask again for what they have cached. */
const VERSION = hash(
  'sha256',
  ['swagger-ui-dist/package.json', './page.css', './start.js']
    .map((name) => readFileSync(new URL(import.meta.resolve(name)), 'utf8'))
    .join(''),
).slice(0, 12);

export const addressOf = (name: string): string => `/docs/assets/${VERSION}/${name}`;

/** By path. */
export const assetHandlers = (): ReadonlyMap<string, RequestHandler> =>
  new Map(Object.entries(ASSETS).map(([name, asset]) => [addressOf(name), serve(asset)]));

function serve(asset: Asset): RequestHandler {
  let loaded: Promise<StoredDocument> | undefined;
  return async (request, response) => {
    loaded ??= load(asset).catch((error) => {
      loaded = undefined;
      throw error;
    });
    const headers = { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}, immutable` };
    sendDocument(request, response, headers, await loaded);
  };
}

async function load({ url, type }: Asset): Promise<StoredDocument> {
  const plain = await readFile(new URL(url));
  return { type, plain, gzipped: await compress(plain, { level: 9 }), etag: etagOf(plain) };
}
