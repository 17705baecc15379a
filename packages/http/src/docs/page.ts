/**
 * The API for people: Swagger UI over one OpenAPI document. Everything comes from this address, and the page's policy
 * admits nothing else. The reasons: docs/adr/0034-the-pages-of-the-api.md.
 */
import type { RequestHandler } from 'express';
import { addressOf } from './assets.ts';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Swagger UI's style sheet contains its icons.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function docsPage(title: string, documentAddress: string): RequestHandler {
  const page = pageOf(title, documentAddress);
  return (_request, response) => {
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(page);
  };
}

/** The text is shown until the document is loaded, and stays where scripts do not run. */
const pageOf = (title: string, documentAddress: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${addressOf('swagger-ui.css')}">
<link rel="stylesheet" href="${addressOf('page.css')}">
<script defer src="${addressOf('swagger-ui-bundle.js')}"></script>
<script defer src="${addressOf('start.js')}"></script>
</head>
<body>
<div id="docs" data-document="${documentAddress}">
<main>
<h1>${title}</h1>
<p>Custodial wallet and off-chain play ledger for games.</p>
<p>This page shows the <a href="${documentAddress}">OpenAPI document</a>, which any tool for APIs reads as well.
Every error code is in the <a href="/v1/errors">catalogue</a>.</p>
</main>
</div>
</body>
</html>
`;
