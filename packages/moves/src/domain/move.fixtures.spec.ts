import { holdsEventFixtures } from '@coffer/testing';
import type { MoveEvent } from './move.events.ts';
import { type MoveCommand, move } from './move.ts';

describe('move: fixtures', () =>
  holdsEventFixtures(move, new URL('fixtures/', import.meta.url), {
    repeatOf,
    textOf: (answer) =>
      JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)),
  }));

function repeatOf(event: MoveEvent): MoveCommand {
  switch (event.type) {
    case 'MoveRequested':
      return { type: 'RequestMove', terms: event.data };
    case 'TransactionSigned':
      return { type: 'RecordSigned', signed: event.data };
    case 'TransactionSubmitted':
      return { type: 'RecordSubmitted', ...event.data };
    case 'TransactionExpired':
      return { type: 'RecordExpired', ...event.data };
    case 'MoveConfirmed': {
      const { signature, slot } = event.data;
      return { type: 'ConfirmMove', signature, slot };
    }
    case 'MoveFailed': {
      const { code, signature, slot } = event.data;
      const onChain = signature === null || slot === null ? null : { signature, slot };
      return { type: 'FailMove', code, onChain };
    }
  }
}
