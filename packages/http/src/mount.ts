/** Prepares each endpoint once: at the start what may be wrong with it, and at its first request what takes long. */
import type { ErrorCatalog } from '@coffer/kernel';
import { z } from 'zod';
import { declaredErrors } from './declaredErrors.ts';
import type { Endpoint } from './endpoint.ts';
import type { HttpMetrics } from './metrics.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from './readBody.ts';

export interface MountedEndpoint {
  readonly endpoint: Endpoint;
  readonly query: () => z.ZodType | undefined;
  readonly body: () => z.ZodType | undefined;
  readonly bodyLimitBytes: number;
  readonly timeoutMs: number;
  /** The codes that it may answer. */
  readonly declared: ReadonlySet<string>;
  readonly observe: (status: number, seconds: number) => void;
}

/** Throws on a code that is not in the catalogue: found at start, not by a caller. */
export function mount(
  endpoints: readonly Endpoint[],
  catalog: ErrorCatalog,
  metrics: HttpMetrics,
  requestTimeoutMs: number,
): readonly MountedEndpoint[] {
  return endpoints.map((endpoint) => {
    const { method, path } = endpoint;
    const unlisted = endpoint.errors.filter((code) => !Object.hasOwn(catalog, code));
    if (unlisted.length > 0) {
      throw new Error(`${method} ${path} declares codes that are in no catalogue: ${unlisted.join(', ')}.`);
    }
    if (endpoint.browsers && endpoint.credential !== 'none') {
      throw new Error(`${method} ${path} sets "browsers", but its credential decides that.`);
    }
    return {
      endpoint,
      query: compiledOnce(endpoint.query),
      body: compiledOnce(endpoint.body),
      bodyLimitBytes: endpoint.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES,
      timeoutMs: endpoint.timeoutMs ?? requestTimeoutMs,
      declared: new Set(declaredErrors(endpoint)),
      observe: metrics.forRoute(method, path),
    };
  });
}

/** At the first request: a start need not wait for the schemas of endpoints that nobody calls. ADR 0061. */
function compiledOnce(schema: z.ZodType | undefined): () => z.ZodType | undefined {
  let compiled: z.ZodType | undefined;
  return () => {
    compiled ??= schema && z.compile(schema);
    return compiled;
  };
}
