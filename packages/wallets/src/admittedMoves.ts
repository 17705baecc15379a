/**
 * Moves from and to the wallets of users, each admitted by the wallet's own stream before it is requested, and released
 * when it has ended. An export and a move thus compete in one stream, and only one of the two appends wins.
 *
 *     WalletMoveAdmitted (with the whole order) · MoveRequested · … · MoveConfirmed or MoveFailed · WalletMoveReleased
 *
 * Each follows from the one before, so a process that finds one without the next continues. A wallet forgets what
 * it has released: a request that arrives after its move has ended may have it admitted again, and whoever finds that
 * (the request itself, the process, an export) looks at the move and releases it.
 * Source: docs/adr/0026-admitted-moves.md.
 */
import {
  afterFirstAppend,
  type CommandContext,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  type Outcome,
  readEvent,
  type StreamEvent,
} from '@coffer/event-store';
import { decodeMetadata, type FailPoint, noFailPoint, parseStreamName, Rejection } from '@coffer/kernel';
import { type MoveOrder, type MovePlace, type MoveState, type Moves, moveStreamName } from '@coffer/moves';
import { createAdmissions } from './admissions.ts';
import { walletEvents } from './domain/wallet.events.ts';
import { wallet } from './domain/wallet.ts';
import { type WalletPlace, walletStreamName } from './domain/walletIds.ts';

type Requested = Awaited<ReturnType<Moves['request']>>;

/** Like `Moves`, for orders that a wallet must admit (`admittedBy`) and for others. */
export interface AdmittedMoves extends Moves {
  /**
   * Throws `wallets/not_active` if the wallet has ended and nothing was requested. A cash-out, whose funds are already
   * held, is requested and fails at once.
   */
  readonly request: Moves['request'];
  /** Whether there is a move from or to the wallet that has not ended. */
  readonly isAnyInFlight: (place: WalletPlace, deadline: Deadline) => Promise<boolean>;
  /** Releases moves that have ended but are not yet released in the wallet's stream. */
  readonly releaseEnded: (place: WalletPlace, deadline: Deadline) => Promise<void>;
  readonly carryOut: {
    /** The move that a `WalletMoveAdmitted` admits. */
    readonly request: (admitted: StreamEvent, deadlineMs: number) => Promise<void>;
    /** Releases a move that has ended, in the wallet that admitted it. */
    readonly release: (place: WalletPlace, moveId: string, deadlineMs: number) => Promise<void>;
  };
}

export function createAdmittedMoves({
  moves,
  handler,
  store,
  formerMovesOf,
  failPoint = noFailPoint,
}: {
  readonly moves: Moves;
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly store: Pick<EventStore, 'readStream'>;
  /** Moves that may still be in flight, requested by a former release that did not ask the wallet. */
  readonly formerMovesOf: (walletId: string) => Promise<readonly MovePlace[]>;
  readonly failPoint?: FailPoint;
}): AdmittedMoves {
  const { admittedIn, isOnItsWay, release, settle } = createAdmissions({ moves, handler, failPoint });

  return {
    ...moves,
    async request(place, order, context, failsWith) {
      // An existing move is answered unchanged, whatever has happened to the wallet since then.
      if (!order.admittedBy || failsWith || (await moves.find(place, context))) {
        return moves.request(place, order, context, failsWith);
      }
      const payer: WalletPlace = { environment: place.environment, ...order.admittedBy };
      let admission: Admission;
      try {
        admission = await admit(payer, place, order, context);
      } catch (error) {
        if (order.operation !== 'cashOut' || !isNotActive(error)) throw error;
        const { admittedBy: _, ...unadmitted } = order;
        return moves.request(place, unadmitted, context, 'moves/wallet_unavailable');
      }
      return afterFirstAppend(async () => {
        failPoint('move.admitted');
        return requestAdmitted(payer, place, order, admission, context);
      });
    },

    async isAnyInFlight(place, deadline) {
      for (const move of await admittedIn(place, deadline)) {
        if (await isOnItsWay(place, move)) return true;
      }
      for (const former of await formerMovesOf(place.walletId)) {
        const found = await moves.trace(former);
        if (found && !found.end) return true;
      }
      return false;
    },

    async releaseEnded(place, deadline) {
      for (const move of await admittedIn(place, deadline)) await settle(place, move, deadline.deadlineMs);
    },

    carryOut: {
      async request(admitted, deadlineMs) {
        const { place, move, order } = admissionIn(admitted);
        if (order) {
          await requestFrom(admitted, move, orderWith(order, place), deadlineMs).catch((error: unknown) => {
            // Another request used this key first.
            if (!(error instanceof Rejection)) throw error;
          });
        }
        await release(place, move.moveId, deadlineMs);
      },
      release,
    },
  };

  async function admit(
    payer: WalletPlace,
    place: MovePlace,
    order: MoveOrder,
    context: CommandContext,
  ): Promise<Admission> {
    const stream = walletStreamName(payer);
    const { eventIds } = context;
    const { appended } = await handler.execute(
      wallet,
      stream,
      {
        type: 'AdmitMove',
        moveId: place.moveId,
        moveOwnerId: place.ownerId,
        order: orderToKeep(order),
      },
      { ...context, ...(eventIds && { eventIds: { ...eventIds, within: stream } }) },
    );
    if (appended[0]) return { admitted: appended[0], isOwn: true };
    const known = (await admittedIn(payer, context)).find(({ moveId }) => moveId === place.moveId);
    return { admitted: known && (await readEvent(store, stream, known.revision)), isOwn: false };
  }

  async function requestAdmitted(
    payer: WalletPlace,
    place: MovePlace,
    order: MoveOrder,
    { admitted, isOwn }: Admission,
    context: CommandContext,
  ): Promise<Requested> {
    const { deadlineMs } = context;
    try {
      let begun: Outcome<MoveState> | undefined;
      // A cash-out's request is caused by its hold.
      if (order.operation !== 'cashOut' && admitted) {
        const kept = admissionIn(admitted).order;
        if (kept) begun = await requestFrom(admitted, place, orderWith(kept, payer), deadlineMs);
      }
      // Compares the request with what was kept first.
      const outcome = await moves.request(place, order, context);
      const { replayed, appended } = begun ?? outcome;
      if (replayed) await release(payer, place.moveId, deadlineMs);
      // Whoever had it admitted also starts it, even if the process has requested it in the meantime.
      const hasBegun = replayed && isOwn && admitted && (await isRequestedFrom(admitted, place));
      return { ...outcome, replayed: replayed && !hasBegun, appended };
    } catch (error) {
      if (error instanceof Rejection) await release(payer, place.moveId, deadlineMs);
      throw error;
    }
  }

  async function isRequestedFrom(admitted: StreamEvent, place: MovePlace): Promise<boolean> {
    const found = await moves.trace(place);
    return found !== undefined && decodeMetadata(found.requested.metadata).causationId === admitted.id;
  }

  function requestFrom(admitted: StreamEvent, place: MovePlace, order: MoveOrder, deadlineMs: number) {
    return moves.request(place, order, causedBy(admitted, moveStreamName(place), deadlineMs));
  }
}

interface Admission {
  /** Undefined if the move was released before it was looked up. */
  readonly admitted: StreamEvent | undefined;
  /** Not one from an earlier or concurrent request. */
  readonly isOwn: boolean;
}

type KeptOrder = NonNullable<ReturnType<typeof admissionIn>['order']>;

function admissionIn(event: StreamEvent) {
  const admitted = walletEvents.decode(event);
  const parts = parseStreamName(event.stream);
  if (admitted.type !== 'WalletMoveAdmitted' || !parts) {
    throw new Error(`${event.type} of ${event.stream} does not admit a move.`);
  }
  const { walletId, moveId, moveOwnerId: ownerId, order } = admitted.data;
  const { environment, owner } = parts;
  const place: WalletPlace = { environment, ownerId: owner, walletId };
  const move: MovePlace = { environment, ownerId, moveId };
  return { place, move, order };
}

function orderToKeep({ admittedBy: _, ...order }: MoveOrder): KeptOrder | null {
  const { operation } = order;
  return operation === 'cashOut' ? null : { ...order, operation };
}

const orderWith = (order: KeptOrder, { walletId, ownerId }: WalletPlace): MoveOrder => ({
  ...order,
  admittedBy: { walletId, ownerId },
});

const isNotActive = (error: unknown): boolean =>
  error instanceof Rejection && error.code === 'wallets/not_active';
