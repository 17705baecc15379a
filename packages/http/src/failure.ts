/** Converts anything thrown to the error envelope. Source: spec, Errors; contract, Common rules. */
import { type ErrorCatalog, Rejection, type RejectionDetails } from '@coffer/kernel';

/** What a foreign error (of the store, for example) means to a caller: a code of the catalogue. */
export interface KnownFailure {
  readonly code: string;
  readonly details?: RejectionDetails;
  readonly retryAfterSeconds?: number;
}

/** Supplied by the composition root; undefined for an error that is unknown there, too. */
export type ErrorOf = (error: unknown) => KnownFailure | undefined;

export interface Failure {
  readonly status: number;
  readonly code: string;
  /** The envelope `{ code, message, details }` as JSON text. */
  readonly body: string;
  /** On every 429 and 503. */
  readonly retryAfterSeconds: number | undefined;
  /** `refused`: a rule said no. `foreign`: something that we depend on failed. `unexpected`: our own mistake. */
  readonly origin: 'refused' | 'foreign' | 'unexpected';
}

const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Never throws: anything that cannot be told becomes `service/internal` without details. */
export function failureOf(error: unknown, catalog: ErrorCatalog, errorOf: ErrorOf): Failure {
  const refused = error instanceof Rejection;
  const known: KnownFailure | undefined = refused ? error : errorOf(error);
  return (known && knownFailure(known, refused ? 'refused' : 'foreign', catalog)) ?? internal(catalog);
}

/** Undefined when the code is not in the catalogue or the details are not JSON. */
function knownFailure(
  { code, details = {}, retryAfterSeconds }: KnownFailure,
  origin: Failure['origin'],
  catalog: ErrorCatalog,
): Failure | undefined {
  const entry = Object.hasOwn(catalog, code) ? catalog[code as keyof ErrorCatalog] : undefined;
  if (!entry) return undefined;
  const body = envelope(code, entry.message, details);
  if (body === undefined) return undefined;

  const told = retryAfterSeconds ?? secondsIn(details) ?? DEFAULT_RETRY_AFTER_SECONDS;
  const retryable = entry.status === 429 || entry.status === 503;
  return { status: entry.status, code, body, origin, retryAfterSeconds: retryable ? told : undefined };
}

function internal(catalog: ErrorCatalog): Failure {
  const { status, message } = catalog['service/internal'] ?? { status: 500, message: 'Internal error.' };
  return {
    status,
    code: 'service/internal',
    body: JSON.stringify({ code: 'service/internal', message, details: {} }),
    retryAfterSeconds: undefined,
    origin: 'unexpected',
  };
}

function secondsIn({ retryAfterSeconds }: RejectionDetails): number | undefined {
  return typeof retryAfterSeconds === 'number' ? retryAfterSeconds : undefined;
}

function envelope(code: string, message: string, details: RejectionDetails): string | undefined {
  try {
    return JSON.stringify({ code, message, details }, bigintAsText);
  } catch {
    // Circular details: the rejection itself is our mistake, and is logged as one.
    return undefined;
  }
}

/** Amounts are bigint here and base-unit strings on the wire. */
function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
