/**
 * A rejection is a command that the rules refuse: a stable code and its details. The status and the
 * message stand in the context's `errors.ts` table, so that a domain knows no HTTP.
 */

export interface ErrorEntry {
  readonly status: number;
  /** Says what is wrong and, where the caller can do something, what to do. */
  readonly message: string;
}

/** Codes have the form `<area>/<reason>`; the area is the package's folder and the URL segment. */
export type ErrorCatalog = Readonly<Record<`${string}/${string}`, ErrorEntry>>;

/** Bigint inside; base-unit strings on the wire. */
export type RejectionDetails = Readonly<Record<string, unknown>>;

export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly code: string;
  readonly details: RejectionDetails;

  constructor(code: string, details: RejectionDetails = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

/** Makes the `reject` function of a context: only codes of its own table compile. */
export function rejecterFor<Catalog extends ErrorCatalog>(_catalog: Catalog) {
  return (code: keyof Catalog & string, details?: RejectionDetails): Rejection =>
    new Rejection(code, details);
}
