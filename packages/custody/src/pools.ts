/**
 * Pools across their streams: accounts reserve the stakes, the pool decides, the accounts close the holds. Each later
 * event is a pure function of the one before it, so the request that began it and the process that finishes it after a
 * crash write the same bytes. Source: contract, Custody; ADR 0006.
 */
import assert from 'node:assert/strict';
import {
  type CommandContext,
  type EventStore,
  type Outcome,
  OutcomeUnknownError,
  type Requester,
  readEvent,
  requestedBy,
  StoreOverloadedError,
  StoreUnreachableError,
} from '@coffer/event-store';
import { type AppPlace, isoTimeOf } from '@coffer/kernel';
import { createCredits, manyAtATime } from './credits.ts';
import type {
  ConfirmedAnswer,
  LockedAnswer,
  PoolAnswer,
  RefundedAnswer,
  ReleasedAnswer,
  SettledAnswer,
} from './domain/pool.answers.ts';
import type { LockRequest, RefundRequest, SettleRequest } from './domain/pool.resource.ts';
import { type PoolCommand, pool } from './domain/pool.ts';
import { reject } from './errors.ts';
import { createLocks, type LockDependencies } from './locks.ts';
import { type PoolPlace, streamOf } from './poolStreams.ts';

export interface PoolDependencies extends LockDependencies {
  readonly store: Pick<EventStore, 'readStream'>;
}

/** A pool with more credits leaves them to the process, and is answered at once. */
export const MOST_CREDITS_IN_REQUEST = 256;

export type Pools = ReturnType<typeof createPools>;

export function createPools(dependencies: PoolDependencies) {
  const { handler, store, clock, failPoint, hasCurrency } = dependencies;
  const locks = createLocks(dependencies);
  const { creditAll, giveBack } = createCredits(dependencies);

  return {
    lock: (place: AppPlace, request: LockRequest, context: Requester): Promise<Outcome<LockedAnswer>> =>
      locks.lock(place, request, context),
    confirm,
    settle,
    refund,
    release,
    carryOut: { lock: locks.lockFromHold, creditAll, giveBack },
  };

  async function confirm(
    place: AppPlace,
    { poolId, betId }: { readonly poolId: string; readonly betId: string },
    context: Requester,
  ): Promise<Outcome<ConfirmedAnswer>> {
    const outcome = await decide(place, poolId, { type: 'ConfirmStake', betId }, context);
    const { answer } = outcome;
    assert(answer.outcome === 'confirmed');
    return { ...outcome, answer };
  }

  async function settle(
    place: AppPlace,
    { poolId, currency: currencyId, rake, payouts }: SettleRequest,
    context: Requester,
  ): Promise<Outcome<SettledAnswer>> {
    if (!(await hasCurrency(place.appId, currencyId))) throw reject('custody/unknown_currency');
    failPoint('pool.beforeClose');
    const command = { type: 'SettlePool', poolId, currencyId, rake, payouts } as const;
    const outcome = await decide(place, poolId, command, context);
    const { answer } = outcome;
    assert(answer.outcome === 'settled');
    await creditWithin(context, place, poolId, { ...outcome, answer });
    return { ...outcome, answer };
  }

  async function refund(
    place: AppPlace,
    { poolId, reason }: RefundRequest,
    context: Requester,
  ): Promise<Outcome<RefundedAnswer>> {
    failPoint('pool.beforeClose');
    const outcome = await decide(place, poolId, { type: 'RefundPool', poolId, reason }, context);
    const { answer } = outcome;
    assert(answer.outcome === 'refunded');
    await creditWithin(context, place, poolId, { ...outcome, answer });
    return { ...outcome, answer };
  }

  /** The credits of a pool that is not too large. The answer is the decision, with or without them. */
  async function creditWithin(
    { deadlineMs }: Requester,
    place: AppPlace,
    poolId: string,
    { answer, appended }: Outcome<SettledAnswer | RefundedAnswer>,
  ): Promise<void> {
    failPoint('pool.closed');
    const { credits, revision } = answer;
    if (credits === 0 || credits > MOST_CREDITS_IN_REQUEST) return;
    await asFarAsPossible(async () => {
      const cause = appended[0] ?? (await readEvent(store, streamOf(place, poolId), revision));
      await creditAll(cause, () => deadlineMs);
    });
    failPoint('pool.credited');
  }

  /**
   * Gives back the stakes of a pool that are overdue now. `olderThanSeconds`, since their lock, only makes it more
   * patient.
   */
  async function release(
    place: PoolPlace,
    poolId: string,
    olderThanSeconds: number,
    context: Requester,
  ): Promise<ReleasedAnswer['released']> {
    const released: ReleasedAnswer['released'][number][] = [];
    for (;;) {
      const at = isoTimeOf(clock);
      const { answer, appended } = await handler.execute(
        pool,
        streamOf(place, poolId),
        { type: 'ReleaseOverdue', at, olderThanSeconds },
        requestedBy(context, at),
      );
      assert(answer.outcome === 'released');
      released.push(...answer.released);
      failPoint('sweep.released');
      await asFarAsPossible(() => manyAtATime(appended, (cause) => giveBack(cause, context.deadlineMs)));
      failPoint('sweep.givenBack');
      if (answer.areAll) return released;
    }
  }

  function decide(
    place: AppPlace,
    poolId: string,
    command: PoolCommand,
    context: Requester,
  ): Promise<Outcome<PoolAnswer>> {
    return handler.execute(pool, streamOf(place, poolId), command, contextOf(context));
  }

  function contextOf(request: Requester): CommandContext {
    return requestedBy(request, isoTimeOf(clock));
  }
}

/** What follows from a decision that stands: the process does what this request could not do. */
async function asFarAsPossible(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isPassing =
      error instanceof OutcomeUnknownError ||
      error instanceof StoreUnreachableError ||
      error instanceof StoreOverloadedError;
    if (!isPassing) throw error;
  }
}
