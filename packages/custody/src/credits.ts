/**
 * What a pool owes to accounts: the holds of its stakes are closed, many accounts at a time. All of it follows from the
 * pool's stream alone, so the request and the process write the same bytes. Source: contract, Custody.
 */
import assert from 'node:assert/strict';
import { type Accounts, stakeHoldId } from '@coffer/accounts';
import type { CommandHandler, StreamEvent } from '@coffer/event-store';
import type { FailPoint } from '@coffer/kernel';
import { type Credit, creditsOf } from './domain/pool.answers.ts';
import { poolEvents } from './domain/pool.events.ts';
import { pool } from './domain/pool.ts';
import { poolPlace } from './poolStreams.ts';

/** Enough to fill the appends of the log; other writers still get their turn. */
const AT_A_TIME = 512;

export interface CreditDependencies {
  readonly handler: Pick<CommandHandler, 'load'>;
  readonly accounts: Pick<Accounts, 'closeHold'>;
  readonly failPoint: FailPoint;
}

export function createCredits({ handler, accounts, failPoint }: CreditDependencies) {
  return { creditAll, giveBack };

  /**
   * Closes the holds that the end of a pool closes, that of `last` after all others. `deadlineMs` is asked for each of
   * them.
   */
  async function creditAll(
    cause: StreamEvent,
    deadlineMs: () => number,
    signal?: AbortSignal,
  ): Promise<void> {
    const { environment, appId, poolId } = poolPlace(cause.stream);
    const closed = await handler.load(pool, cause.stream, { deadlineMs: deadlineMs() });
    assert(closed.status === 'settled' || closed.status === 'refunded', `${cause.stream} is open`);
    const { currencyId } = closed;
    const inOrder = [...creditsOf(closed)];
    const last = inOrder.pop();
    // Those of one player together: what waits for an account is appended at once.
    const credits = [...Map.groupBy(inOrder, ({ userId }) => userId).values()].flat();
    const half = credits.length >> 1;

    const close = async ({ stake, betId, userId, payout }: Credit) => {
      signal?.throwIfAborted();
      const holdId = stakeHoldId(poolId, betId);
      const account = { environment, appId, userId, currencyId };
      await accounts.closeHold(account, { holdId, payout, nth: stake }, cause, deadlineMs());
    };
    await manyAtATime(credits.slice(0, half), close);
    failPoint('pool.halfCredited');
    await manyAtATime(credits.slice(half), close);
    failPoint('pool.allButOneCredited');
    if (last) await close(last);
  }

  /** Closes the hold of a stake that was released, in full. */
  async function giveBack(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const { type, data } = poolEvents.decode(cause);
    assert(type === 'StakeReleased', `${cause.stream} has a ${type} where a StakeReleased was expected`);
    const { environment, appId, poolId } = poolPlace(cause.stream);
    const { betId, userId, currencyId, amount } = data;
    const close = { holdId: stakeHoldId(poolId, betId), payout: amount };
    await accounts.closeHold({ environment, appId, userId, currencyId }, close, cause, deadlineMs);
  }
}

/** After a failure nothing more is begun; it is thrown once everything under way has ended. */
export async function manyAtATime<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // Shared by all workers: a worker that throws ends it for the others.
  const queue = (function* () {
    yield* items;
  })();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(AT_A_TIME, items.length) }, worker));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
