/** The interface of moves to the treasury and the wallets. */
import type { CommandContext, Deadline, Outcome, StreamEvent } from '@coffer/event-store';
import type { MoveEvent } from './domain/move.events.ts';
import type { MovePlace } from './domain/moveIds.ts';
import type { MoveFailureCode } from './errors.ts';

/** The wallet that pays: its key belongs to its owner, a scope or an app. */
export interface PayingWallet {
  readonly walletId: string;
  readonly ownerId: string;
  /** Base58. */
  readonly address: string;
}

/** Everything a transfer needs: whoever carries it out has to ask nobody else. */
export type MoveOrder = Readonly<Omit<Extract<MoveEvent, { type: 'MoveRequested' }>['data'], 'moveId'>>;

/** `pending` until something is signed (and again after an expiry); `submitted` while it may land. */
type MoveStatus = 'pending' | 'submitted' | 'confirmed' | 'failed';

/** A move according to its stream. */
export interface MoveState extends MoveOrder {
  readonly moveId: string;
  readonly status: MoveStatus;
  /** Of the latest attempt, or of the confirmed or failed one. */
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
   * Stores the order, once per key. A repeat with the same content replays; different content throws
   * `<area>/idempotency_conflict` of the operation's area (`treasury`, `wallets`), details `{ key, field }`. The answer is
   * always the move as it was requested.
   */
  readonly request: (
    place: MovePlace,
    order: MoveOrder,
    context: CommandContext,
    /** For a new move: it fails at once, so that nothing is ever signed. */
    failsWith?: MoveFailureCode,
  ) => Promise<Outcome<MoveState> & { readonly requested: StreamEvent }>;
  /** Confirmed current; undefined if nothing was requested. */
  readonly find: (place: MovePlace, context: Deadline) => Promise<MoveState | undefined>;
  /** Its request and, once it has ended, its end. Undefined if nothing was requested. */
  readonly trace: (place: MovePlace) => Promise<MoveTrace | undefined>;
}
