/** Moves as the treasury and the wallets see them. Only `driver.ts` touches a chain. */
import type { CommandHandler, EventStore, StreamEvent } from '@coffer/event-store';
import { readEvent } from '@coffer/event-store';
import { decodeMetadata } from '@coffer/kernel';
import { type KnownMove, type Move, move } from './domain/move.ts';
import { type MovePlace, moveStreamName } from './domain/moveIds.ts';
import type { MoveState, Moves, MoveTrace } from './types.ts';

export function createMoves({
  handler,
  store,
}: {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
}): Moves {
  return {
    async request(place, order, context, failsWith) {
      const stream = moveStreamName(place);
      const terms = { moveId: place.moveId, ...order };
      const command = { type: 'RequestMove', terms, ...(failsWith && { failsWith }) } as const;
      const outcome = await handler.execute(move, stream, command, context);
      const requested = outcome.appended[0] ?? (await readEvent(store, stream, 0));
      const answer = moveView(outcome.answer, outcome.answer.terms.requestedAt);
      return { ...outcome, answer, requested };
    },

    async find(place) {
      const found = await readMove(store, place);
      return found && moveView(found.move, found.updatedAt);
    },

    async trace(place) {
      const found = await readMove(store, place);
      return found && { order: found.move.terms, requested: found.requested, end: found.end };
    },
  };
}

interface ReadMove extends Omit<MoveTrace, 'order'> {
  readonly move: KnownMove;
  readonly updatedAt: string;
}

/** The state of the move according to its stream; undefined if nothing was requested. */
async function readMove(
  store: Pick<EventStore, 'readStream'>,
  place: MovePlace,
): Promise<ReadMove | undefined> {
  let state: Move = move.initialState;
  let updatedAt: string | undefined;
  let requested: StreamEvent | undefined;
  let end: StreamEvent | undefined;
  for await (const page of store.readStream(moveStreamName(place))) {
    for (const event of page) {
      state = move.evolve(state, move.codec.decode(event));
      updatedAt = decodeMetadata(event.metadata).occurredAt;
      requested ??= event;
      if (isEnd(event)) end = event;
    }
  }
  if (state.status === 'unknown' || updatedAt === undefined || !requested) return undefined;
  return { move: state, updatedAt, requested, end };
}

const isEnd = ({ type }: StreamEvent): boolean => type === 'MoveConfirmed' || type === 'MoveFailed';

function moveView(known: KnownMove, updatedAt: string): MoveState {
  return { ...known.terms, ...progressOf(known), updatedAt };
}

type Progress = Pick<MoveState, 'status' | 'signature' | 'slot' | 'errorCode'>;

function progressOf(known: KnownMove): Progress {
  switch (known.status) {
    case 'requested': {
      const signature = known.expired?.signature ?? null;
      return { status: 'pending', signature, slot: null, errorCode: null };
    }
    case 'signed':
    case 'submitted':
      return { status: 'submitted', signature: known.attempt.signature, slot: null, errorCode: null };
    case 'confirmed':
      return { status: 'confirmed', signature: known.signature, slot: known.slot, errorCode: null };
    case 'failed': {
      const { signature = null, slot = null } = known.onChain ?? {};
      return { status: 'failed', signature, slot, errorCode: known.code };
    }
  }
}
