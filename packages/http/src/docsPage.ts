/**
 * The API for people: one page of our own HTML, made once from the OpenAPI document. It fetches nothing,
 * and its policy admits nothing but its own style and script, by their hashes.
 */
import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';
import { DOCS_SCRIPT, DOCS_STYLE } from './docsAssets.ts';
import { curlOf, fieldsOf, schemaLabel } from './docsText.ts';
import { type Html, html, join, raw } from './html.ts';
import type { MediaType, OpenApiDocument, Operation, Parameter } from './openApi.ts';

export function docsPage(document: OpenApiDocument): RequestHandler {
  const page = renderDocs(document);
  const policy = [
    "default-src 'none'",
    `style-src '${sourceHash(DOCS_STYLE)}'`,
    `script-src '${sourceHash(DOCS_SCRIPT)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(page);
  };
}

function sourceHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function renderDocs(document: OpenApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = document.tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags[0] === name),
  }));
  const { title, version, description } = document.info;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} API ${version}</title>
<style>${raw(DOCS_STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Endpoints">
<p class="brand">${title} <small>${version}</small></p>
<p><a href="#start">Start</a></p>
${join(groups.map(navigation))}
<p><a href="/v1/openapi.json">OpenAPI document</a></p>
<p><a href="/v1/errors">Error catalogue</a></p>
</nav>
<main id="content">
<section id="start">
<h1>${title} API</h1>
<p>${description}</p>
<p>The examples take the address and the credential from the environment:</p>
${codeBlock('export COFFER_URL=http://127.0.0.1:8080/v1\nexport COFFER_KEY=sk_test_…')}
<p>Every answer that is no success is <code>{ "code", "message", "details" }</code>. Branch on the code. Send
<code>X-Request-Id</code> to find your request again; writes that are repeated answer as the first time, with
<code>Idempotency-Replayed: true</code>.</p>
</section>
${join(groups.map((group) => section(group, document)))}
</main>
<script>${raw(DOCS_SCRIPT)}</script>
</body>
</html>
`;
  return page.text;
}

function navigation({ name, entries }: { name: string; entries: readonly Entry[] }): Html {
  return html`<h2><a href="#group-${name}">${name}</a></h2>
<ul>${join(
    entries.map(
      ({ method, path, operation }) =>
        html`<li><a href="#${operation.operationId}"><b class="m ${method.toLowerCase()}">${method}</b> ${path}</a></li>
`,
    ),
  )}</ul>
`;
}

function section(
  { name, entries }: { name: string; entries: readonly Entry[] },
  document: OpenApiDocument,
): Html {
  return html`<section id="group-${name}">
<h2>${name}</h2>
${join(entries.map((entry) => article(entry, document)))}
</section>
`;
}

function article(entry: Entry, document: OpenApiDocument): Html {
  const { method, path, operation } = entry;
  const request = operation.requestBody?.content['application/json'];
  return html`<article id="${operation.operationId}">
<h3><b class="m ${method.toLowerCase()}">${method}</b> <code>${path}</code></h3>
<p><strong>${operation.summary}</strong> <span class="auth">${credentialOf(operation)}</span></p>
${operation.description ? html`<p>${operation.description}</p>` : html``}
${operation.parameters ? parameterTable(operation.parameters) : html``}
${request ? html`<h4>Request body</h4>${fieldTable(request, document)}` : html``}
<h4>Example</h4>
${codeBlock(curlOf(entry))}
${successOf(operation, document)}
<details><summary>Errors</summary>${errorTable(operation)}</details>
</article>
`;
}

const CREDENTIALS: Readonly<Record<string, string>> = {
  secretKey: 'secret key',
  publishableKey: 'publishable key',
  accessToken: "player's access token",
  operatorToken: 'operator token',
};

function credentialOf({ security }: Operation): string {
  const [scheme] = security.flatMap((requirement) => Object.keys(requirement));
  if (scheme === undefined) return 'no credential';
  return CREDENTIALS[scheme] ?? scheme;
}

function parameterTable(parameters: readonly Parameter[]): Html {
  return html`<h4>Parameters</h4>
<table><thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${join(
    parameters.map(
      (parameter) => html`<tr><td><code>${parameter.name}</code>${required(parameter.required)}</td>
<td>${parameter.in}</td><td>${schemaLabel(parameter.schema)}</td><td>${parameter.description ?? ''}</td></tr>
`,
    ),
  )}</tbody></table>`;
}

function fieldTable({ schema }: MediaType, { components }: OpenApiDocument): Html {
  return html`<table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${join(
    fieldsOf(schema, components.schemas).map(
      (field) => html`<tr><td><code>${field.path}</code>${required(field.required)}</td>
<td>${field.type}</td><td>${field.description}</td></tr>
`,
    ),
  )}</tbody></table>`;
}

function required(isRequired: boolean): Html {
  return isRequired ? html` <span class="req">required</span>` : html``;
}

function successOf({ responses }: Operation, document: OpenApiDocument): Html {
  const found = Object.entries(responses).find(([status]) => status.startsWith('2'));
  if (!found) return html``;
  const [status, { description, content = {} }] = found;
  const [media] = Object.entries(content);
  if (!media) return html`<h4>Answer ${status}</h4><p>${description}</p>`;
  const [type, body] = media;
  return html`<h4>Answer ${status} <small>${type}</small></h4>
${fieldTable(body, document)}
${codeBlock(JSON.stringify(body.example, null, 2) ?? '')}`;
}

function errorTable({ responses }: Operation): Html {
  const rows = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.entries(content?.['application/json']?.examples ?? {}).map(([code, { value }]) => ({
      status,
      code,
      message: String(Object(value).message),
    })),
  );
  return html`<table><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
<tbody>${join(
    rows.map(
      ({ status, code, message }) =>
        html`<tr><td>${status}</td><td><code>${code}</code></td><td>${message}</td></tr>
`,
    ),
  )}</tbody></table>`;
}

function codeBlock(text: string): Html {
  return html`<div class="code"><button type="button" hidden>Copy</button><pre tabindex="0"><code>${text}</code></pre></div>`;
}
