import { Rejection } from '@coffer/kernel';
import type { z } from 'zod';
import type { RequestContext } from './endpoint.ts';

/** The header `Idempotency-Key`, for where the body has no key. Throws `request/invalid`. */
export function idempotencyKeyOf(
  context: Pick<RequestContext, 'header'>,
  schema: z.ZodType<string>,
): string | undefined {
  const text = context.header('idempotency-key');
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ message }) => ({ path: 'Idempotency-Key', message }));
  throw new Rejection('request/invalid', { issues });
}
