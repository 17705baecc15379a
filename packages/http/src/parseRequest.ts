/** Query and body of a request, in the documented order: 415, 413, 400 malformed_json, 400 invalid. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { reject } from './errors.ts';
import { type Issue, issuesOf, MAX_ISSUES } from './issues.ts';
import { checkMediaType, excessIn, findUnsafeJson, hasBody, MAX_JSON_PARTS, parseJson } from './jsonBody.ts';
import type { MountedEndpoint } from './mount.ts';
import { parseQuery } from './queryText.ts';
import { readBody } from './readBody.ts';

export interface ParsedRequest {
  readonly query: unknown;
  readonly body: unknown;
}

const NO_ISSUES: readonly Issue[] = [];

/** The body as JSON; an absent body is an empty object, so that the answer names the missing fields. */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  limitBytes: number,
): Promise<unknown> {
  if (!hasBody(request.headers)) return {};
  checkMediaType(request.headers);
  const bytes = await readBody(request, response, limitBytes);
  if (bytes.length === 0) return {};
  const excess = excessIn(bytes);
  if (excess) {
    const issues = [{ path: '', message: `has more than ${MAX_JSON_PARTS} ${excess}` }];
    throw reject('request/invalid', { issues });
  }
  return parseJson(bytes);
}

/** Throws `request/invalid` with details `{ issues: [{ path, message }] }`. */
export function parseRequest(mounted: MountedEndpoint, queryText: string, json: unknown): ParsedRequest {
  const unsafe = findUnsafeJson(json, mounted.endpoint);
  if (unsafe) throw reject('request/invalid', { issues: [unsafe] });

  const query = checkQuery(mounted.query(), queryText);
  const body = checkBody(mounted.body(), json);
  if (query.issues.length === 0 && body.issues.length === 0) {
    return { query: query.value, body: body.value };
  }
  throw reject('request/invalid', { issues: [...query.issues, ...body.issues].slice(0, MAX_ISSUES) });
}

interface Checked {
  readonly value: unknown;
  readonly issues: readonly Issue[];
}

function checkQuery(schema: z.ZodType | undefined, text: string): Checked {
  const { values, issues } = parseQuery(text);
  if (issues.length > 0) return { value: undefined, issues };
  if (schema) return checkAgainst(schema, values);
  return { value: undefined, issues: unrecognized(values) };
}

function checkBody(schema: z.ZodType | undefined, json: unknown): Checked {
  if (schema) return checkAgainst(schema, json);
  if (json === undefined) return { value: undefined, issues: NO_ISSUES };
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { value: undefined, issues: [{ path: '', message: 'expected object' }] };
  }
  return { value: undefined, issues: unrecognized(json) };
}

function checkAgainst(schema: z.ZodType, input: unknown): Checked {
  const result = schema.safeParse(input);
  if (result.success) return { value: result.data, issues: NO_ISSUES };
  return { value: undefined, issues: issuesOf(result.error, input) };
}

function unrecognized(values: object): readonly Issue[] {
  return Object.keys(values).map((path) => ({ path, message: 'unrecognized field' }));
}
