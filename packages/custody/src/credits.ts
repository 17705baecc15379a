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
/** How many are made between two looks at accounts: enough for these to be read many at a time. */
const PART = 2_048;

export interface CreditDependencies {
  readonly handler: Pick<CommandHandler, 'load'>;
  readonly accounts: Pick<Accounts, 'closeHold' | 'readAhead'>;
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

    const accountOf = (userId: string) => ({ environment, appId, userId, currencyId });
    const close = async ({ stake, betId, userId, payout }: Credit) => {
      signal?.throwIfAborted();
      const holdId = stakeHoldId(poolId, betId);
      await accounts.closeHold(accountOf(userId), { holdId, payout, nth: stake }, cause, deadlineMs());
      // Others are under way.
      failPoint('pool.oneCredited');
    };
    /** Many accounts were last written by other threads: read together, they cost less than one by one. */
    const readAhead = (part: readonly Credit[]) =>
      manyAtATime([...new Set(part.map(({ userId }) => userId))], async (userId) => {
        signal?.throwIfAborted();
        await accounts.readAhead(accountOf(userId), { deadlineMs: deadlineMs() });
      });
    const closeAll = async (some: readonly Credit[]) => {
      if (some.length <= AT_A_TIME) return manyAtATime(some, close);
      let ahead = readAhead(some.slice(0, PART));
      for (let from = 0; from < some.length; from += PART) {
        await ahead;
        ahead = readAhead(some.slice(from + PART, from + 2 * PART));
        // Its failure is seen when it is awaited.
        ahead.catch(() => undefined);
        await manyAtATime(some.slice(from, from + PART), close);
      }
    };
    await closeAll(credits.slice(0, half));
    failPoint('pool.halfCredited');
    await closeAll(credits.slice(half));
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
