/**
 * A command refused by the rules: a stable code and its details. Status and message are in the context's `errors.ts`,
 * so that the domain knows nothing of HTTP.
 */

interface ErrorEntry {
  readonly status: number;
  /** Says what is wrong and, where the caller can do something about it, what to do. */
  readonly message: string;
}

/** Codes have the form `<area>/<reason>`; the area is the package's folder and the URL segment. */
export type ErrorCatalog = Readonly<Record<`${string}/${string}`, ErrorEntry>>;

/** Bigint here; base-unit strings on the wire. */
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

/** Makes the `reject` function of a context: only the codes of its catalogue compile. */
export function rejecterFor<Catalog extends ErrorCatalog>(_catalog: Catalog) {
  return (code: keyof Catalog & string, details?: RejectionDetails): Rejection =>
    new Rejection(code, details);
}
