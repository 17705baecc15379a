/** The header `Idempotency-Key`: instead of a key in the body, or where the body has none. */
import type { IncomingHttpHeaders } from 'node:http';
import { Rejection } from '@coffer/kernel';
import type { z } from 'zod';
import type { Endpoint, RequestContext } from './endpoint.ts';

const HEADER = 'idempotency-key';
/** In its usual spelling. */
export const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/**
 * The body with the header's key in the field that it replaces, so that one schema checks both. Throws `request/invalid`
 * if the body has a different key: nobody can say which of them the caller will repeat.
 */
export function withHeaderKey(
  { idempotencyHeader }: Pick<Endpoint, 'idempotencyHeader'>,
  headers: IncomingHttpHeaders,
  json: unknown,
): unknown {
  const field = idempotencyHeader?.insteadOf;
  const key = headers[HEADER];
  if (field === undefined || key === undefined) return json;
  // The schema refuses what is not an object.
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  if (!Object.hasOwn(json, field)) return { ...json, [field]: key };
  if (Reflect.get(json, field) !== key) throw differentKeys(field);
  return json;
}

/** The header, for endpoints without a key in their body. Throws `request/invalid`. */
export function idempotencyKeyOf(
  context: Pick<RequestContext, 'header'>,
  schema: z.ZodType<string>,
): string | undefined {
  const text = context.header(HEADER);
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw invalidKey(...parsed.error.issues.map(({ message }) => message));
}

export const differentKeys = (field: string): Rejection =>
  invalidKey(`must equal ${field} in the body, or be left out`);

const invalidKey = (...messages: readonly string[]): Rejection =>
  new Rejection('request/invalid', {
    issues: messages.map((message) => ({ path: IDEMPOTENCY_HEADER, message })),
  });
