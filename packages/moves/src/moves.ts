/** Moves as the treasury and the wallets see them. Nothing here touches a chain: `driver.ts` does. */
import type { CommandContext, CommandHandler, EventStore } from '@coffer/event-store';
import { readEvent } from '@coffer/event-store';
import { decodeMetadata } from '@coffer/kernel';
import { type KnownMove, type Move, move } from './domain/move.ts';
import { type MovePlace, moveStreamName } from './domain/moveIds.ts';
import type { MoveOrder, MoveState, Moves } from './types.ts';

export function createMoves({
  handler,
  store,
}: {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
}): Moves {
  return {
    async request(place: MovePlace, order: MoveOrder, context: CommandContext) {
      const stream = moveStreamName(place);
      const terms = { moveId: place.moveId, ...order };
      const outcome = await handler.execute(move, stream, { type: 'RequestMove', terms }, context);
      const requested = outcome.appended[0] ?? (await readEvent(store, stream, 0));
      const answer = moveView(outcome.answer, outcome.answer.terms.requestedAt);
      return { ...outcome, answer, requested };
    },

    async find(place) {
      const found = await readMove(store, place);
      return found && moveView(found.move, found.updatedAt);
    },
  };
}

/** The move as its stream tells it now; undefined where nothing was requested. */
export async function readMove(
  store: Pick<EventStore, 'readStream'>,
  place: MovePlace,
): Promise<{ readonly move: KnownMove; readonly updatedAt: string } | undefined> {
  let state: Move = move.initialState;
  let updatedAt: string | undefined;
  for await (const page of store.readStream(moveStreamName(place))) {
    for (const event of page) {
      state = move.evolve(state, move.codec.decode(event));
      updatedAt = decodeMetadata(event.metadata).occurredAt;
    }
  }
  return state.status === 'unknown' || updatedAt === undefined ? undefined : { move: state, updatedAt };
}

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
