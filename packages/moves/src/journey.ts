/** One move on its way, and the events written to its stream. */
import assert from 'node:assert/strict';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import { type Clock, decodeMetadata, type Environment, type FailPoint } from '@coffer/kernel';
import { type KnownMove, type MoveCommand, move, type OnChain, type SignedAttempt } from './domain/move.ts';
import { parseMoveStream } from './domain/moveIds.ts';
import type { MoveFailureCode } from './errors.ts';
import type { Flight } from './flights.ts';

/** For metrics and the log. */
export interface MoveHooks {
  /** Something failed and will be retried. */
  readonly onTrouble: (trouble: {
    readonly environment: Environment;
    /** Undefined if it concerns all moves of the chain. */
    readonly moveId: string | undefined;
    readonly error: unknown;
  }) => void;
  /** Moves of this environment wait for a chain to be configured. Reported once. */
  readonly onNoChain: (environment: Environment) => void;
  readonly onSigned: (environment: Environment) => void;
  readonly onExpired: (environment: Environment) => void;
  readonly onEnded: (
    environment: Environment,
    ended: { readonly code: string | null; readonly requestedAt: string },
  ) => void;
}

/** One call of `drive`. */
export interface Journey {
  readonly environment: Environment;
  readonly stream: string;
  readonly moveId: string;
  readonly cause: StreamEvent;
  readonly signal: AbortSignal;
  /** The last reason met against the move, and how often in a row. */
  refused: { readonly code: MoveFailureCode; readonly times: number } | undefined;
  /** May have moved the money without the stream knowing it: nothing is signed before it is decided. */
  undecided: Omit<Flight, 'transaction'> | undefined;
}

export function journeyOf(requested: StreamEvent, signal: AbortSignal): Journey {
  const place = parseMoveStream(requested.stream);
  assert(place, `${requested.stream} is not a move`);
  const event = move.codec.decode(requested);
  assert(event.type === 'MoveRequested', `${event.type} does not request a move`);
  return {
    environment: place.environment,
    stream: requested.stream,
    moveId: place.moveId,
    cause: requested,
    signal,
    refused: undefined,
    undecided: undefined,
  };
}

/** How long the outcome of an append may stay unknown. */
const APPEND_WITHIN_MS = 10_000;

export type MoveRecord = ReturnType<typeof createMoveRecord>;

/** Each step is written once, by the first: one of several drivers learns that it was the first. */
export function createMoveRecord({
  handler,
  wallClock,
  hooks,
  failPoint,
}: {
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly wallClock: Clock;
  readonly hooks: MoveHooks;
  readonly failPoint: FailPoint;
}) {
  return {
    async load({ stream }: Journey): Promise<KnownMove> {
      const known = await handler.load(move, stream, { deadlineMs: performance.now() + APPEND_WITHIN_MS });
      if (known.status === 'unknown') throw new Error(`${stream} is no longer in the log.`);
      return known;
    },

    /** The resulting state of the move; undefined if another driver has signed. */
    async signed(journey: Journey, signed: SignedAttempt): Promise<KnownMove | undefined> {
      const { answer, appended } = await execute(journey, { type: 'RecordSigned', signed });
      if (appended.length === 0) return undefined;
      hooks.onSigned(journey.environment);
      failPoint('move.signed');
      return answer;
    },

    async submitted(journey: Journey, attempt: SignedAttempt): Promise<void> {
      await execute(journey, { type: 'RecordSubmitted', ...nameOf(attempt) });
      failPoint('move.submitted');
    },

    async expired(journey: Journey, attempt: SignedAttempt): Promise<void> {
      const { appended } = await execute(journey, { type: 'RecordExpired', ...nameOf(attempt) });
      if (appended.length === 0) return;
      hooks.onExpired(journey.environment);
      failPoint('move.expired');
    },

    async confirmed(journey: Journey, { signature, slot }: OnChain): Promise<void> {
      failPoint('move.final');
      await end(journey, { type: 'ConfirmMove', signature, slot }, null);
      failPoint('move.confirmed');
    },

    async failed(journey: Journey, code: MoveFailureCode, onChain: OnChain | null): Promise<void> {
      const failure = onChain && { signature: onChain.signature, slot: onChain.slot };
      await end(journey, { type: 'FailMove', code, onChain: failure }, code);
    },
  };

  async function end(journey: Journey, command: MoveCommand, code: MoveFailureCode | null): Promise<void> {
    const { answer, appended } = await execute(journey, command);
    if (appended.length === 0) return;
    hooks.onEnded(journey.environment, { code, requestedAt: answer.terms.requestedAt });
  }

  function execute({ stream, cause }: Journey, command: MoveCommand) {
    const { actor, correlationId } = decodeMetadata(cause.metadata);
    const occurredAt = wallClock().toISOString();
    return handler.execute(move, stream, command, {
      metadata: { correlationId, causationId: cause.id, actor, occurredAt },
      deadlineMs: performance.now() + APPEND_WITHIN_MS,
    });
  }
}

const nameOf = ({ attempt, signature }: SignedAttempt) => ({ attempt, signature });
