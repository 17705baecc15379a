/**
 * The OpenAPI 3.1 document, made from the endpoints and the same schemas that check requests. Codecs show their wire
 * side, so an amount is a string here too.
 */
import { type ErrorCatalog, longCallerId } from '@coffer/kernel';
import { z } from 'zod';
import { declaredErrors } from './declaredErrors.ts';
import { type CredentialKind, type Endpoint, endpoint } from './endpoint.ts';
import { exampleOf } from './exampleOf.ts';
import { IDEMPOTENCY_HEADER } from './idempotencyKey.ts';
import { DOCUMENT_MAX_AGE_SECONDS, type JsonDocument, jsonDocument } from './jsonDocument.ts';
import { type JsonSchema, jsonSchemaOf, withoutNul } from './jsonSchema.ts';
import { type LinkObject, linksOf } from './openApiLinks.ts';
import { operationIdOf } from './operationId.ts';
import { type Parameter, pathParameters } from './pathParameters.ts';

export interface OpenApiSource {
  readonly title: string;
  readonly endpoints: readonly Endpoint[];
  readonly messages?: readonly OutgoingMessage[] | undefined;
  readonly catalog: ErrorCatalog;
  /** The product's version. */
  readonly version: string;
  /** The address of the API: `https://host`, without a path. */
  readonly origin?: string | undefined;
}

/** What the service itself POSTs, to addresses that others have subscribed. */
export interface OutgoingMessage {
  readonly name: string;
  readonly summary: string;
  /** What each header says. */
  readonly headers: Readonly<Record<string, string>>;
  readonly schema: z.ZodType;
  /** What an answer with 2xx means. */
  readonly success: string;
}

interface MediaType {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly links?: Readonly<Record<string, LinkObject>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

const SECURITY: Readonly<Record<CredentialKind, readonly Readonly<Record<string, readonly string[]>>[]>> = {
  sk: [{ secretKey: [] }],
  pk: [{ publishableKey: [] }],
  session: [{ accessToken: [] }],
  operator: [{ operatorToken: [] }],
  portal: [{ portalToken: [] }],
  none: [],
};

const SECURITY_SCHEMES = {
  secretKey: { type: 'http', scheme: 'bearer', description: 'A secret key (sk_…): game backends only.' },
  publishableKey: { type: 'http', scheme: 'bearer', description: 'A publishable key (pk_…).' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "A player's access token, from a sign-in or a refresh.",
  },
  portalToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A portal session token (pst_…) of the app, from `coffer portal token`, or the operator token.',
  },
  operatorToken: { type: 'http', scheme: 'bearer', description: "The installation's operator token." },
};

const DESCRIPTION = `Custodial wallet and off-chain play ledger for games. Amounts are base-unit integers as strings. \
The key decides the environment, test or live. Fields that are not documented are refused.

Every refusal is \`{ "code", "message", "details" }\`: branch on the code. Send \`X-Request-Id\` to find your request \
again. A write that is repeated answers as the first time, with \`Idempotency-Replayed: true\`.`;

const TAGS: Readonly<Record<string, string>> = {
  ledger: 'Play: sessions with a lock, bets, wins, rollbacks and settlements.',
  users: 'Players, as game backends see them.',
  treasury: 'Moves between players and the treasury of the app, on the chain.',
  wallets: "Players' wallets: balance, withdrawal, export and signatures.",
  auth: 'Sign-in of players, and their sessions.',
  sessions: "Verification of players' access tokens by game backends.",
  me: 'The signed-in player.',
  '.well-known': 'For libraries that verify access tokens by themselves.',
  portal: 'The admin API: operators only.',
  webhooks: 'What is sent to the endpoints that the owner of an app has subscribed.',
  errors: 'Every error code.',
  schemas: 'JSON schemas of the stored events, as Kafka and exported logs hold them.',
  'openapi.json': 'This document.',
};

const HEADERS = {
  'X-Request-Id': {
    description: 'The id sent, or one made here. Quote it when you report a problem.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: '"true" when the answer repeats that of an earlier, identical write.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
  ETag: {
    description: 'Send it as If-None-Match to learn whether anything has changed.',
    schema: { type: 'string' },
  },
};

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'Branch on the code, never on the message.',
  properties: {
    code: { type: 'string', description: '<area>/<reason>', examples: ['request/invalid'] },
    message: { type: 'string' },
    details: { type: 'object', description: 'Depends on the code; empty when there is nothing to add.' },
  },
  required: ['code', 'message', 'details'],
};

export function openApiDocument({
  title,
  endpoints,
  messages = [],
  catalog,
  version,
  origin = '',
}: OpenApiSource): OpenApiDocument {
  const schemas: Record<string, JsonSchema> = { Error: ERROR_SCHEMA };
  const paths: Record<string, Record<string, Operation>> = {};
  const tags = new Set<string>();
  for (const described of endpoints) {
    const path = described.path.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}');
    const operation = operationOf(described, endpoints, catalog, schemas);
    for (const tag of operation.tags) tags.add(tag);
    paths[path] = { ...paths[path], [described.method.toLowerCase()]: operation };
  }
  const webhooks = Object.fromEntries(
    messages.map((message) => [message.name, { post: webhookOf(message, schemas) }]),
  );
  if (messages.length > 0) tags.add('webhooks');
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: DESCRIPTION,
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: `${origin}/v1` }],
    tags: [...tags].map((name) => ({ name, description: TAGS[name] ?? `What stands below /${name}.` })),
    paths,
    ...(messages.length > 0 && { webhooks }),
    components: { schemas, headers: HEADERS, securitySchemes: schemesOf(endpoints) },
  };
}

/** Only those that its operations take: a page asks for every one listed here. */
function schemesOf(endpoints: readonly Endpoint[]): Readonly<Record<string, unknown>> {
  const taken = new Set(
    endpoints.flatMap(({ credential }) => SECURITY[credential].flatMap((one) => Object.keys(one))),
  );
  return Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => taken.has(name)));
}

/**
 * Builds the document on request, because the document describes this endpoint too, and the server has an address only
 * once it listens.
 */
export function openApiEndpoint(path: string, document: () => OpenApiDocument): Endpoint {
  let serialized: JsonDocument | undefined;
  return endpoint({
    method: 'GET',
    path,
    credential: 'none',
    summary: 'Get this document',
    success: { status: 200, schema: z.looseObject({ openapi: z.string() }), cached: true },
    errors: [],
    handle: () => {
      serialized ??= jsonDocument(document());
      return { status: 200, document: serialized, maxAgeSeconds: DOCUMENT_MAX_AGE_SECONDS };
    },
  });
}

function operationOf(
  described: Endpoint,
  endpoints: readonly Endpoint[],
  catalog: ErrorCatalog,
  schemas: Record<string, JsonSchema>,
): Operation {
  const { method, path, credential, summary, description, body, success } = described;
  const operationId = operationIdOf(method, path);
  const parameters = [
    ...pathParameters(path),
    ...queryParameters(described.query, schemas),
    ...headerParameters(described, schemas),
  ];
  const component = (schema: z.ZodType, role: string) =>
    addComponent(schema, `${operationId}${role}`, schemas);
  const request = body && component(body, 'Request');
  const links = linksOf(described, endpoints);
  if (request && !described.anyText) forbidNul(`${operationId}Request`, schemas);
  // The header may replace it.
  const inHeader = described.idempotencyHeader?.insteadOf;
  if (inHeader !== undefined) makeOptional(`${operationId}Request`, inHeader, schemas);

  return {
    operationId,
    tags: [tagOf(path)],
    summary,
    ...(description && { description }),
    security: SECURITY[credential],
    ...(parameters.length > 0 && { parameters }),
    ...(request && {
      requestBody: { required: true, content: { 'application/json': mediaType(request, schemas) } },
    }),
    responses: {
      [success.status]: {
        description: success.status === 204 ? 'Done; no body.' : 'Done.',
        headers: headerRefs(
          'X-Request-Id',
          ...(method === 'GET' ? [] : ['Idempotency-Replayed']),
          ...(success.cached ? ['ETag'] : []),
        ),
        ...(success.schema && {
          content: {
            [success.lines ? 'application/x-ndjson' : 'application/json']: mediaType(
              component(success.schema, success.lines ? 'Line' : 'Response'),
              schemas,
            ),
          },
        }),
        ...(Object.keys(links).length > 0 && { links }),
      },
      ...(success.cached && {
        304: { description: 'Unchanged since the ETag sent.', headers: headerRefs('X-Request-Id', 'ETag') },
      }),
      ...errorResponses(described, catalog),
    },
  };
}

function webhookOf(
  { name, summary, headers, schema, success }: OutgoingMessage,
  schemas: Record<string, JsonSchema>,
): Operation {
  const body = addComponent(schema, name, schemas);
  return {
    operationId: name,
    tags: ['webhooks'],
    summary,
    // Whom to believe is for the receiver to check, by the signature.
    security: [],
    parameters: Object.entries(headers).map(([header, description]) => ({
      name: header,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': mediaType(body, schemas) } },
    responses: { '2XX': { description: success } },
  };
}

/** The group: the first word of the path. */
function tagOf(path: string): string {
  if (path.endsWith('/openapi.json')) return 'openapi.json';
  return path.includes('/.well-known/') ? '.well-known' : (path.split('/')[1] ?? '');
}

function mediaType(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): MediaType {
  return { schema, example: exampleOf(schema, schemas) };
}

function queryParameters(
  schema: z.ZodType | undefined,
  schemas: Record<string, JsonSchema>,
): readonly Parameter[] {
  if (!schema) return [];
  const json = jsonSchemaOf(schema, schemas);
  const required = Array.isArray(json.required) ? json.required : [];
  return Object.entries(Object(json.properties)).map(([name, property]) => {
    const { description, ...rest } = withoutNul(Object(property));
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(typeof description === 'string' && { description }),
      schema: rest,
    };
  });
}

function headerParameters(
  { body, idempotencyHeader, success }: Endpoint,
  schemas: Record<string, JsonSchema>,
): readonly Parameter[] {
  const parameters: Parameter[] = [];
  const add = (name: string, description: string, schema: JsonSchema) =>
    parameters.push({ name, in: 'header', required: false, description, schema });
  if (success.cached) add('If-None-Match', 'The ETag of an earlier answer.', { type: 'string' });
  if (!idempotencyHeader) return parameters;
  const { insteadOf } = idempotencyHeader;
  const field = insteadOf && body && Object(jsonSchemaOf(body, schemas).properties)[insteadOf];
  const { type, pattern, examples } = field ?? jsonSchemaOf(longCallerId, schemas);
  const description =
    insteadOf === undefined
      ? 'With it, a repeat of the request gets the first answer.'
      : `Instead of ${insteadOf} in the body. If both are given, they must be equal.`;
  add(IDEMPOTENCY_HEADER, description, { type, pattern, examples });
  return parameters;
}

/** A schema with an id (`.meta({ id })`) keeps it as its component's name; others are named after their operation. */
function addComponent(schema: z.ZodType, name: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const json = jsonSchemaOf(schema, schemas);
  // A schema with an id may arrive as a separate definition, to which this refers.
  if (typeof json.$ref === 'string') return json;
  const named = schema.meta()?.id ?? name;
  schemas[named] = json;
  return { $ref: `#/components/schemas/${named}` };
}

function forbidNul(name: string, schemas: Record<string, JsonSchema>): void {
  const schema = schemas[name];
  if (schema) schemas[name] = withoutNul(schema);
}

function makeOptional(name: string, field: string, schemas: Record<string, JsonSchema>): void {
  const schema = schemas[name];
  if (!Array.isArray(schema?.required)) return;
  schemas[name] = { ...schema, required: schema.required.filter((required) => required !== field) };
}

function headerRefs(...names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorResponses(
  described: Endpoint,
  catalog: ErrorCatalog,
): Readonly<Record<string, ResponseObject>> {
  const codesByStatus = new Map<number, string[]>();
  for (const code of declaredErrors(described)) {
    const { status } = catalog[code as keyof ErrorCatalog] ?? { status: 500 };
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...codesByStatus].map(([status, codes]) => [status, errorResponse(status, codes, catalog)]),
  );
}

function errorResponse(status: number, codes: readonly string[], catalog: ErrorCatalog): ResponseObject {
  const messageOf = (code: string) => catalog[code as keyof ErrorCatalog]?.message ?? '';
  const retryable = status === 429 || status === 503;
  return {
    description: codes.join(', '),
    headers: headerRefs('X-Request-Id', ...(retryable ? ['Retry-After'] : [])),
    content: {
      'application/json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: codes } } }],
        },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { code, message: messageOf(code), details: {} } }]),
        ),
      },
    },
  };
}
