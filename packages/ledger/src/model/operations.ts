/**
 * What can be asked of the ledger, and what it answers, as plain data: the same sequence of operations drives
 * the model, the deciders, or a running service in the order of its log.
 */

export type Operation =
  | {
      readonly op: 'credit' | 'debit';
      readonly userId: string;
      readonly currency: string;
      readonly ref: string;
      readonly amount: string;
      readonly reason?: string | undefined;
    }
  | { readonly op: 'figures'; readonly userId: string; readonly currency: string }
  | {
      readonly op: 'open';
      readonly userId: string;
      readonly gameCode: string;
      readonly currency: string;
      readonly lockAmount: string;
      readonly transactionUuid?: string | undefined;
      /** What the service makes up: whoever drives a real one takes it from the answer. */
      readonly chosen: { readonly sessionId: string; readonly openedAt: string };
    }
  | {
      readonly op: 'bet';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly amount: string;
      readonly roundId?: string | undefined;
    }
  | {
      readonly op: 'win';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly betTransactionUuid: string;
      readonly amount: string;
      readonly roundId?: string | undefined;
    }
  | {
      readonly op: 'rollback';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly betTransactionUuid: string;
    }
  | { readonly op: 'balance'; readonly sessionId: string }
  | {
      readonly op: 'settle';
      readonly sessionId: string;
      readonly transactionUuid?: string | undefined;
      readonly chosen: { readonly settledAt: string };
    };

/** As on the wire: amounts are strings, keys stand in the documented order. */
export type Answer =
  | { readonly accepted: true; readonly body: object; readonly replayed: boolean }
  | { readonly accepted: false; readonly code: string; readonly details: object };

/** The books of one currency: available + held + house = adjustments, always. */
export interface Books {
  readonly available: bigint;
  readonly held: bigint;
  readonly house: bigint;
  /** What the operator has put in, less what was taken out. */
  readonly adjustments: bigint;
}
