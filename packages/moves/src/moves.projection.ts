/** The row of a move, from its stream: those of the treasury and those of users' wallets. */
import assert from 'node:assert/strict';
import { decodeMetadata } from '@coffer/kernel';
import type { MoveRow, RowProjection } from '@coffer/read-models';
import { moveEvents } from './domain/move.events.ts';
import { parseMoveStream } from './domain/moveIds.ts';

export const movesProjection: RowProjection<MoveRow> = {
  keyOf({ stream }) {
    // Most events in the log are bets, and most others can be told apart without parsing.
    if (!stream.startsWith('move-')) return undefined;
    return parseMoveStream(stream)?.moveId;
  },

  evolve(row, recorded) {
    const event = moveEvents.decode(recorded);
    const { revision } = recorded;
    const updatedAt = decodeMetadata(recorded.metadata).occurredAt;
    if (event.type === 'MoveRequested') {
      const place = parseMoveStream(recorded.stream);
      assert(place && !row, `${recorded.stream} is requested once`);
      const { from, decimals: _decimals, admittedBy: _admittedBy, ...requested } = event.data;
      return {
        ...requested,
        revision,
        environment: place.environment,
        ownerId: place.ownerId,
        walletId: from.walletId,
        fromAddress: from.address,
        status: 'pending',
        attempts: 0,
        signature: null,
        slot: null,
        errorCode: null,
        updatedAt,
      };
    }

    assert(row, `${recorded.stream} begins with its request`);
    const next = { ...row, revision, updatedAt };
    switch (event.type) {
      case 'TransactionSigned': {
        const { attempt: attempts, signature } = event.data;
        return { ...next, status: 'submitted', attempts, signature };
      }
      case 'TransactionSubmitted':
        return next;
      case 'TransactionExpired':
        return { ...next, status: 'pending' };
      case 'MoveConfirmed': {
        const { signature, slot } = event.data;
        return { ...next, status: 'confirmed', signature, slot };
      }
      case 'MoveFailed': {
        const { code: errorCode, signature, slot } = event.data;
        return { ...next, status: 'failed', signature, slot, errorCode };
      }
      default:
        throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
    }
  },
};
