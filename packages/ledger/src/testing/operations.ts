/**
 * The requests to the ledger and its answers as plain data: the same sequence of operations drives the model, the
 * deciders, or a running service in the order of its log.
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
  | ({ readonly op: 'open' } & OpenTerms)
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
    }
  | ({ readonly op: 'lock' } & LockTerms)
  | { readonly op: 'confirm'; readonly poolId: string; readonly betId: string }
  | {
      readonly op: 'settlePool';
      readonly poolId: string;
      readonly currencyId: number;
      readonly rake: string;
      readonly payouts: readonly {
        readonly betId: string;
        readonly userId: string;
        readonly payout: string;
      }[];
    }
  | { readonly op: 'refundPool'; readonly poolId: string; readonly reason?: string | undefined }
  | { readonly op: 'code'; readonly userId: string; readonly code: string }
  | { readonly op: 'attribute'; readonly userId: string; readonly code: string }
  | { readonly op: 'chain'; readonly userId: string; readonly depth: number }
  | ({ readonly op: 'payout' } & PayoutTerms)
  | {
      readonly op: 'distribute';
      readonly idemKey: string;
      readonly userId: string;
      readonly currencyId: number;
      readonly amount: string;
      readonly levels: readonly number[];
    }
  | ({ readonly op: 'withdraw' } & WithdrawalTerms)
  | { readonly op: 'earned'; readonly userId: string; readonly currencyId: number };

export interface PayoutTerms {
  readonly idemKey: string;
  readonly userId: string;
  readonly currencyId: number;
  readonly amount: string;
  readonly sourceUserId?: string | undefined;
  readonly memo?: string | undefined;
}

export interface WithdrawalTerms {
  readonly idemKey: string;
  readonly userId: string;
  readonly currencyId: number;
  /** As requested. */
  readonly amount?: string | undefined;
}

export interface LockTerms {
  readonly poolId: string;
  readonly betId: string;
  readonly userId: string;
  readonly currencyId: number;
  readonly amount: string;
  /** What the service chooses. */
  readonly chosen: { readonly lockedAt: string; readonly confirmBy: string };
}

export interface OpenTerms {
  readonly userId: string;
  readonly gameCode: string;
  readonly currency: string;
  readonly lockAmount: string;
  readonly transactionUuid?: string | undefined;
  /** What the service chooses: whoever drives a real one takes it from the answer. */
  readonly chosen: { readonly sessionId: string; readonly openedAt: string };
}

/** What moves the money of an operation, for a model that gets it as a separate step. Source: contract, Money model. */
export type Step =
  /** For an open, before it. */
  | ({ readonly op: 'hold' } & OpenTerms)
  /** For a settlement, or for an open that lost to another player's. */
  | {
      readonly op: 'closeHold';
      readonly userId: string;
      readonly currency: string;
      readonly sessionId: string;
    }
  /** For a lock, before it. */
  | ({ readonly op: 'holdStake' } & LockTerms)
  /** For the end of a pool, or for a lock that came too late. */
  | {
      readonly op: 'closeStake';
      readonly userId: string;
      readonly currency: string;
      readonly poolId: string;
      readonly betId: string;
    }
  /** For a payout, before its accrual. */
  | ({ readonly op: 'takeKey' } & PayoutTerms)
  /** For a distribution. */
  | {
      readonly op: 'accrue';
      readonly idemKey: string;
      readonly userId: string;
      readonly currencyId: number;
      readonly amount: string;
      readonly level?: number | undefined;
      readonly sourceUserId?: string | undefined;
    }
  /** For a withdrawal, before it; the second one if another operation has its key by then. */
  | ({ readonly op: 'setAside' } & WithdrawalTerms)
  | {
      readonly op: 'putBack';
      readonly idemKey: string;
      readonly userId: string;
      readonly currencyId: number;
    }
  /** For a withdrawal. */
  | {
      readonly op: 'creditEarnings';
      readonly idemKey: string;
      readonly userId: string;
      readonly currency: string;
    }
  /** For a rollback after the settlement. */
  | { readonly op: 'creditRollback'; readonly sessionId: string; readonly transactionUuid: string };

export type Asking<Op extends (Operation | Step)['op']> = Extract<Operation | Step, { readonly op: Op }>;

/** As on the wire: amounts are strings, keys are in the documented order. */
export type Answer =
  | { readonly accepted: true; readonly body: object; readonly replayed: boolean }
  | { readonly accepted: false; readonly code: string; readonly details: object };

/** The books of one currency: available + held + pools + referrals + house = adjustments, always. */
export interface Books {
  readonly available: bigint;
  readonly held: bigint;
  readonly pools: bigint;
  /** Earnings that are owed. */
  readonly referrals: bigint;
  readonly house: bigint;
  /** What the operator has put in, less what the operator has taken out. */
  readonly adjustments: bigint;
}

/** A hold that must become a session or be closed; with a uuid, a late rollback that must be paid. Or a commission. */
export interface Owed {
  /** Of a play session, `<pool>/<bet>` of a stake, or `commission:<idemKey>`. */
  readonly sessionId: string;
  readonly userId: string;
  readonly currency: string;
  readonly transactionUuid?: string;
}

/** Everything that the ledger keeps for an app and environment. Amounts in base units. */
export interface Contents {
  readonly accounts: readonly {
    readonly userId: string;
    readonly currency: string;
    readonly available: bigint;
    readonly held: bigint;
    readonly holds: readonly {
      readonly sessionId: string;
      readonly amount: bigint;
      /** Undefined while it is open. */
      readonly payout: bigint | undefined;
    }[];
    /** Holds of stakes. */
    readonly stakes: readonly {
      /** `<pool>/<bet>` */
      readonly stakeId: string;
      readonly amount: bigint;
      readonly payout: bigint | undefined;
    }[];
  }[];
  readonly referrals: {
    readonly attributions: readonly { readonly userId: string; readonly referrerUserId: string }[];
    readonly commissions: readonly {
      readonly idemKey: string;
      readonly kind: 'payout' | 'distribution' | 'withdrawal';
      readonly userId: string;
      readonly currencyId: number;
      /** Accrued or withdrawn. */
      readonly amount: bigint;
      /** Parts above 0. */
      readonly accruals: number;
    }[];
    readonly earnings: readonly {
      readonly userId: string;
      readonly currencyId: number;
      readonly accrued: bigint;
      readonly withdrawn: bigint;
    }[];
  };
  readonly pools: readonly {
    readonly poolId: string;
    readonly currencyId: number;
    readonly status: 'open' | 'settled' | 'refunded';
    readonly rake: bigint | undefined;
    readonly openedAt: string;
    /** In the order of their locks. */
    readonly stakes: readonly {
      readonly betId: string;
      readonly userId: string;
      readonly amount: bigint;
      readonly status: 'locked' | 'confirmed' | 'released';
      /** What the end of the pool credits; undefined while it is open. */
      readonly credit: bigint | undefined;
      readonly confirmBy: string;
    }[];
  }[];
  readonly sessions: readonly {
    readonly sessionId: string;
    readonly userId: string;
    readonly currency: string;
    readonly gameCode: string;
    readonly openedAt: string;
    readonly lockAmount: bigint;
    /** In play while open, the payout once settled. */
    readonly balance: bigint;
    readonly totalBet: bigint;
    readonly totalWin: bigint;
    /** Stakes given back after the settlement, whose figures they do not change. */
    readonly lateRolledBack: bigint;
    /** Undefined while it is open. */
    readonly settledAt: string | undefined;
  }[];
}
