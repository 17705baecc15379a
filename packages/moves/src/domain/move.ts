/**
 * A move: one transfer on the chain, from its request to its end. Several drivers may carry it out at once, each a
 * little late: a command that comes too late changes nothing, and every answer tells the state of the move.
 * Source: docs/adr/0020-moves.md.
 */
import assert from 'node:assert/strict';
import { type Decision, Rejection, type StreamType } from '@coffer/kernel';
import { type MoveEvent, type MoveOperation, moveEvents } from './move.events.ts';

type DataOf<Type extends MoveEvent['type']> = Extract<MoveEvent, { type: Type }>['data'];

/** Everything that was requested. */
export type MoveTerms = DataOf<'MoveRequested'>;
export type SignedAttempt = DataOf<'TransactionSigned'>;

/** Nothing may land: nothing is signed, or the last attempt expired. */
export interface RequestedMove {
  readonly status: 'requested';
  readonly terms: MoveTerms;
  readonly expired: SignedAttempt | undefined;
}

/** The attempt may land at any moment; `submitted` once a node accepted it. */
export interface MoveInFlight {
  readonly status: 'signed' | 'submitted';
  readonly terms: MoveTerms;
  readonly attempt: SignedAttempt;
}

export type EndedMove =
  | {
      readonly status: 'confirmed';
      readonly terms: MoveTerms;
      readonly signature: string;
      readonly slot: bigint;
    }
  | {
      readonly status: 'failed';
      readonly terms: MoveTerms;
      readonly code: string;
      readonly onChain: OnChain | null;
    };

export type KnownMove = RequestedMove | MoveInFlight | EndedMove;
export type Move = { readonly status: 'unknown' } | KnownMove;

/** A transaction that is in a finalized block. */
export interface OnChain {
  readonly signature: string;
  readonly slot: bigint;
}

interface AttemptName {
  readonly attempt: number;
  readonly signature: string;
}

export type MoveCommand =
  | {
      readonly type: 'RequestMove';
      readonly terms: MoveTerms;
      /** Why a new move fails at once, before anything is signed. */
      readonly failsWith?: string;
    }
  | { readonly type: 'RecordSigned'; readonly signed: SignedAttempt }
  | ({ readonly type: 'RecordSubmitted' } & AttemptName)
  | ({ readonly type: 'RecordExpired' } & AttemptName)
  | ({ readonly type: 'ConfirmMove' } & OnChain)
  | {
      readonly type: 'FailMove';
      readonly code: string;
      /** The transaction that failed on the chain; null if none was executed. */
      readonly onChain: OnChain | null;
    };

type MoveDecision = Decision<MoveEvent, KnownMove>;
type CommandOf<Type extends MoveCommand['type']> = Extract<MoveCommand, { type: Type }>;

/** The number of the attempt that may be signed next. */
export const nextAttempt = ({ expired }: RequestedMove): number => (expired?.attempt ?? 0) + 1;

const isInFlight = (move: KnownMove): move is MoveInFlight =>
  move.status === 'signed' || move.status === 'submitted';

// Decide

function decide(move: Move, command: MoveCommand): MoveDecision {
  if (command.type === 'RequestMove') return requestMove(move, command);
  assert(move.status !== 'unknown', 'a move is requested before it is carried out');
  switch (command.type) {
    case 'RecordSigned':
      return recordSigned(move, command);
    case 'RecordSubmitted':
      return recordSubmitted(move, command);
    case 'RecordExpired':
      return recordExpired(move, command);
    case 'ConfirmMove':
      return confirmMove(move, command);
    case 'FailMove':
      return failMove(move, command);
    default:
      throw new assert.AssertionError({ message: 'no such command', actual: command satisfies never });
  }
}

function requestMove(move: Move, { terms, failsWith }: CommandOf<'RequestMove'>): MoveDecision {
  if (move.status !== 'unknown') {
    const field = firstDifference(move.terms, terms);
    if (field) throw new Rejection(conflictCode(terms.operation), { key: terms.key, field });
    return { events: [], answer: asRequested(move.terms), replayed: true };
  }

  assert(terms.amount > 0n, 'the amount of a move is positive');
  const requested = { type: 'MoveRequested', data: terms } as const;
  const failed = failsWith === undefined ? [] : [failedEvent(terms, failsWith, null)];
  return { events: [requested, ...failed], answer: asRequested(terms) };
}

const asRequested = (terms: MoveTerms): RequestedMove => ({ status: 'requested', terms, expired: undefined });

const isOfTreasury = (operation: MoveOperation): boolean =>
  operation === 'deposit' || operation === 'cashOut';

/** The code is in the catalogue of the context that takes the request. */
const conflictCode = (operation: MoveOperation) =>
  isOfTreasury(operation) ? 'treasury/idempotency_conflict' : 'wallets/idempotency_conflict';

/**
 * The first field, by the API's name and in its order, in which a request differs from the stored one. What we add to a
 * request does not count: the user may have another wallet when it is repeated.
 */
function firstDifference(kept: MoveTerms, asked: MoveTerms): string | undefined {
  if (kept.operation !== asked.operation) return 'operation';
  if (kept.userId !== asked.userId) return 'userId';
  if (isOfTreasury(kept.operation)) {
    if (kept.currencyId !== asked.currencyId) return 'currency';
    return kept.amount === asked.amount ? undefined : 'amount';
  }
  if (kept.toAddress !== asked.toAddress) return 'toAddress';
  if (kept.amount !== asked.amount) return 'amount';
  // The app may have created a currency for the mint since: the mint alone says what is moved.
  const named = kept.currencyId !== null && asked.currencyId !== null;
  if (named && kept.currencyId !== asked.currencyId) return 'currency';
  return kept.mint === asked.mint ? undefined : 'mint';
}

function recordSigned(move: KnownMove, { signed }: CommandOf<'RecordSigned'>): MoveDecision {
  if (move.status !== 'requested' || signed.attempt !== nextAttempt(move)) return unchanged(move);

  const answer = { status: 'signed', terms: move.terms, attempt: signed } as const;
  return { events: [{ type: 'TransactionSigned', data: signed }], answer };
}

function recordSubmitted(move: KnownMove, named: CommandOf<'RecordSubmitted'>): MoveDecision {
  if (move.status !== 'signed' || !isSame(move.attempt, named)) return unchanged(move);

  const event = { type: 'TransactionSubmitted', data: nameOf(move.attempt) } as const;
  return { events: [event], answer: { ...move, status: 'submitted' } };
}

function recordExpired(move: KnownMove, named: CommandOf<'RecordExpired'>): MoveDecision {
  if (!isInFlight(move) || !isSame(move.attempt, named)) return unchanged(move);

  const { terms, attempt } = move;
  const event = { type: 'TransactionExpired', data: nameOf(attempt) } as const;
  return { events: [event], answer: { status: 'requested', terms, expired: attempt } };
}

/** Also for a transaction that the stream does not know: a restored log may have lost it. */
function confirmMove(move: KnownMove, { signature, slot }: CommandOf<'ConfirmMove'>): MoveDecision {
  if (isInFlight(move)) {
    assert(move.attempt.signature === signature, 'another transaction was executed than the one in flight');
  }
  if (move.status === 'failed') assert.fail('a move that had failed for good was executed');
  if (move.status === 'confirmed') {
    assert(move.signature === signature, 'a move was executed twice');
    return unchanged(move);
  }

  const { terms } = move;
  const event = { type: 'MoveConfirmed', data: { ...subjectOf(terms), signature, slot } } as const;
  return { events: [event], answer: { status: 'confirmed', terms, signature, slot } };
}

function failMove(move: KnownMove, { code, onChain }: CommandOf<'FailMove'>): MoveDecision {
  if (move.status === 'confirmed' || move.status === 'failed') return unchanged(move);
  // While an attempt may land, only its own failure on the chain ends the move.
  if (isInFlight(move) && move.attempt.signature !== onChain?.signature) return unchanged(move);

  const { terms } = move;
  return { events: [failedEvent(terms, code, onChain)], answer: { status: 'failed', terms, code, onChain } };
}

function failedEvent(terms: MoveTerms, code: string, onChain: OnChain | null): MoveEvent {
  const { signature, slot } = onChain ?? { signature: null, slot: null };
  return { type: 'MoveFailed', data: { ...subjectOf(terms), code, signature, slot } };
}

/** The last event repeats what the move was. */
const subjectOf = ({ operation, key, appId, userId, currencyId, amount, admittedBy }: MoveTerms) => ({
  operation,
  key,
  appId,
  userId,
  currencyId,
  amount,
  ...(admittedBy && { admittedBy }),
});

const unchanged = (move: KnownMove): MoveDecision => ({ events: [], answer: move });

const isSame = (one: AttemptName, other: AttemptName) =>
  one.attempt === other.attempt && one.signature === other.signature;

const nameOf = ({ attempt, signature }: AttemptName): AttemptName => ({ attempt, signature });

// Evolve

function evolve(move: Move, event: MoveEvent): Move {
  if (event.type === 'MoveRequested') {
    assert(move.status === 'unknown', 'a move is requested once');
    return asRequested(event.data);
  }
  assert(move.status !== 'unknown', `${event.type} of a move that was not requested`);
  const { terms } = move;
  switch (event.type) {
    case 'TransactionSigned':
      assert(
        move.status === 'requested' && event.data.attempt === nextAttempt(move),
        'one attempt at a time',
      );
      return { status: 'signed', terms, attempt: event.data };
    case 'TransactionSubmitted':
      assert(
        move.status === 'signed' && isSame(move.attempt, event.data),
        'what is signed is submitted once',
      );
      return { ...move, status: 'submitted' };
    case 'TransactionExpired':
      assert(isInFlight(move) && isSame(move.attempt, event.data), 'only what is in flight expires');
      return { status: 'requested', terms, expired: move.attempt };
    case 'MoveConfirmed':
      assert(move.status !== 'confirmed' && move.status !== 'failed', 'a move ends once');
      return { status: 'confirmed', terms, signature: event.data.signature, slot: event.data.slot };
    case 'MoveFailed': {
      assert(move.status !== 'confirmed' && move.status !== 'failed', 'a move ends once');
      const { code, signature, slot } = event.data;
      const onChain = signature === null || slot === null ? null : { signature, slot };
      return { status: 'failed', terms, code, onChain };
    }
    default:
      throw new assert.AssertionError({ message: 'no such event', actual: event satisfies never });
  }
}

export const move: StreamType<MoveCommand, MoveEvent, Move, KnownMove> = {
  category: 'move',
  version: 1,
  codec: moveEvents,
  initialState: { status: 'unknown' },
  decide,
  evolve,
  // Addresses, ids, and the wire bytes of one transaction (at most 1,232) in base64.
  sizeOf: () => 3_000,
  isEnded: ({ status }) => status === 'confirmed' || status === 'failed',
};
