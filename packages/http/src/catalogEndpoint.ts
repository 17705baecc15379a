import type { ErrorCatalog } from '@coffer/kernel';
import { z } from 'zod';
import { type Endpoint, endpoint } from './endpoint.ts';
import { DOCUMENT_MAX_AGE_SECONDS, jsonDocument } from './jsonDocument.ts';

/** GET /errors: every code there is. Source: contract, Common rules. */
export function catalogEndpoint(catalog: ErrorCatalog): Endpoint {
  const errors = Object.entries(catalog)
    .map(([code, { status, message }]) => ({ code, status, message }))
    .sort((left, right) => (left.code < right.code ? -1 : 1));
  const reply = { status: 200, document: jsonDocument({ errors }), maxAgeSeconds: DOCUMENT_MAX_AGE_SECONDS };
  return endpoint({
    method: 'GET',
    path: '/errors',
    credential: 'none',
    summary: 'List every error code',
    description: 'The code is stable and says which case it is; the message is for people and may change.',
    success: { status: 200, schema: errorList, cached: true },
    errors: [],
    handle: () => reply,
  });
}

const errorList = z.strictObject({
  errors: z.array(z.strictObject({ code: z.string(), status: z.int(), message: z.string() })),
});
