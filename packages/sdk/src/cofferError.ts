/** The one error of the SDK. Source: specification, Errors; contract, Common rules. */

/** Errors of the SDK itself, where the service has not answered. Every other code is the service's. */
export const sdkErrors = {
  'sdk/no_answer': 'The service could not be reached, or its answer was lost.',
  'sdk/unexpected_answer': 'What answered did not answer as Coffer does.',
  'sdk/not_signed_in': 'There is no session here, or it has ended: sign in again.',
  'sdk/not_settled': 'The move was still under way when the deadline came.',
  'sdk/not_credited': 'The pool was open, or its credits were still under way, when the deadline came.',
  'sdk/webhook_not_verified': 'The webhook is not by the service, or not of this moment.',
} as const;

export type SdkErrorCode = keyof typeof sdkErrors;

export interface CofferErrorFields {
  readonly code: string;
  readonly message: string;
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean;
  readonly outcome?: 'refused' | 'unknown';
  readonly retryAfterMs?: number | undefined;
  readonly transactionUuids?: readonly string[] | undefined;
  readonly ref?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly cause?: unknown;
}

/** A call that did not succeed. Branch on `code`; `message` is for people. */
export class CofferError extends Error {
  override readonly name = 'CofferError';
  /** `<area>/<reason>`: from the service's catalogue (docs/errors.md), or from `sdkErrors`. */
  readonly code: string;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  /** Identifies the request in the service's log, if known. */
  readonly requestId: string | undefined;
  /** Whether the same call, under the same key, may succeed if it is repeated later. */
  readonly retryable: boolean;
  /**
   * `refused`: nothing has happened and nothing will. `unknown`: an attempt went unanswered, so it may have
   * acted or may still act. Then repeat the call under its key, or roll the bet back.
   */
  readonly outcome: 'refused' | 'unknown';
  /** How long the service asks the caller to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /**
   * The keys that a ledger call was sent under, including those made by the SDK: one for a write, one per
   * operation of a batch.
   */
  readonly transactionUuids: readonly string[];
  /** Likewise for a treasury call. */
  readonly ref: string | undefined;
  /** Likewise for a wallet call. */
  readonly idempotencyKey: string | undefined;

  constructor(fields: CofferErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status;
    this.details = fields.details ?? {};
    this.requestId = fields.requestId;
    this.retryable = fields.retryable ?? false;
    this.outcome = fields.outcome ?? 'refused';
    this.retryAfterMs = fields.retryAfterMs;
    this.transactionUuids = fields.transactionUuids ?? [];
    this.ref = fields.ref;
    this.idempotencyKey = fields.idempotencyKey;
  }
}

/** An error from the SDK's own table. */
export function sdkError(code: SdkErrorCode, fields: Partial<CofferErrorFields> = {}): CofferError {
  return new CofferError({ status: 0, message: sdkErrors[code], ...fields, code });
}
