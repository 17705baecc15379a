/** What the treasury and the wallets ask of moves. */
import type { CommandContext, Deadline, Outcome, StreamEvent } from '@coffer/event-store';
import type { MoveOperation } from './domain/move.events.ts';
import type { MovePlace } from './domain/moveIds.ts';
import type { MoveFailureCode } from './errors.ts';

/** The wallet that pays: its key is found under its owner, a scope or an app. */
export interface PayingWallet {
  readonly walletId: string;
  readonly ownerId: string;
  /** Base58. */
  readonly address: string;
}

/** All that a transfer needs, complete: whoever carries it out asks nobody else what was meant. */
export interface MoveOrder {
  readonly operation: MoveOperation;
  /** `ref` or `idempotencyKey`. */
  readonly key: string;
  readonly appId: string;
  readonly userId: string;
  readonly currencyId: number | null;
  /** `native` or a base58 mint address. */
  readonly mint: string;
  readonly decimals: number;
  readonly amount: bigint;
  readonly from: PayingWallet;
  readonly toAddress: string;
  readonly requestedAt: string;
  /** The wallet of a user that must admit the move before it is requested, and knows of it until it has ended. */
  readonly admittedBy?: { readonly walletId: string; readonly ownerId: string } | undefined;
}

/** `pending` until something is signed (and again after an expiry); `submitted` while it may land. */
export type MoveStatus = 'pending' | 'submitted' | 'confirmed' | 'failed';

/** A move as its stream tells it. */
export interface MoveState extends MoveOrder {
  readonly moveId: string;
  readonly status: MoveStatus;
  /** Of the latest attempt, or of the one that was confirmed or failed. */
  readonly signature: string | null;
  readonly slot: bigint | null;
  readonly errorCode: string | null;
  /** ISO 8601: when the last of its events occurred. */
  readonly updatedAt: string;
}

export interface MoveTrace {
  readonly order: MoveOrder;
  readonly requested: StreamEvent;
  readonly end: StreamEvent | undefined;
}

export interface Moves {
  /**
   * Keeps the order, once a key. A repeat with the same content replays; other content throws
   * `<area>/idempotency_conflict` of the operation's area (`treasury`, `wallets`), details `{ key, field }`.
   * The answer is the move as it was requested, also for a repeat.
   */
  readonly request: (
    place: MovePlace,
    order: MoveOrder,
    context: CommandContext,
    /** Of a move that is new: it fails at once, so that nothing of it is ever on its way. */
    failsWith?: MoveFailureCode,
  ) => Promise<Outcome<MoveState> & { readonly requested: StreamEvent }>;
  /** Confirmed current; undefined where nothing was requested. */
  readonly find: (place: MovePlace, context: Deadline) => Promise<MoveState | undefined>;
  /** What it is known by: its request and, where it has ended, its end. Undefined where nothing was requested. */
  readonly trace: (place: MovePlace) => Promise<MoveTrace | undefined>;
}
