/**
 * Pools as they are now. One pool and its stakes come from the pool's stream, so they show what was just written; the
 * list comes from rows, and waits until these have come as far as the log was. Source: contract, Custody.
 */
import { type Accounts, stakeHoldId } from '@coffer/accounts';
import type { Pool as Database } from '@coffer/database';
import type { CommandHandler, Deadline, EventStore } from '@coffer/event-store';
import { callerId, encoderOf } from '@coffer/kernel';
import { creditsDone, decodeCursor, encodeCursor, listPools, rowsAsNow } from '@coffer/read-models';
import { lastCredited } from './domain/pool.answers.ts';
import * as resource from './domain/pool.resource.ts';
import type { KnownPool } from './domain/pool.state.ts';
import { pool } from './domain/pool.ts';
import { poolView, stakeViews } from './domain/pool.views.ts';
import { reject } from './errors.ts';
import { type PoolPlace, streamOf } from './poolStreams.ts';

export interface PoolReadDependencies {
  readonly db: Database;
  readonly store: Pick<EventStore, 'head' | 'comparePositions'>;
  readonly handler: Pick<CommandHandler, 'load'>;
  readonly accounts: Pick<Accounts, 'findHold'>;
  readonly hasCurrency: (appId: string, currencyId: number) => Promise<boolean>;
}

export type PoolReads = ReturnType<typeof createPoolReads>;

const poolBody = encoderOf(resource.shownPool);
const poolPageBody = encoderOf(resource.poolPage);
const stakePageBody = encoderOf(resource.stakePage);

export function createPoolReads({ db, store, handler, accounts, hasCurrency }: PoolReadDependencies) {
  return { list, show, stakes };

  /** Newest first. Throws `custody/unknown_currency`, and `request/invalid` for a cursor of another list. */
  async function list(place: PoolPlace, query: resource.PoolsQuery, deadline: Deadline) {
    const { currency: currencyId, ...rest } = query;
    if (currencyId !== undefined && !(await hasCurrency(place.appId, currencyId))) {
      throw reject('custody/unknown_currency');
    }
    await rowsAsNow(db, store, deadline);
    const { appId, environment } = place;
    const page = await listPools(db, { ...rest, currencyId, appId, environment });
    return poolPageBody({
      items: page.items.map(
        ({ poolId, currencyId: currency, status, locked, confirmed, credits, creditsDone: done }) => ({
          poolId,
          currency,
          status,
          staked: locked + confirmed,
          confirmed,
          locked,
          credits: { done, of: credits },
        }),
      ),
      nextCursor: page.nextCursor,
    });
  }

  /** Throws `custody/pool_not_found`. */
  async function show(place: PoolPlace, poolId: string, deadline: Deadline) {
    const known = await load(place, poolId, deadline);
    const { credits: of, ...shown } = poolView(known);
    const done = await creditsDoneOf(place, poolId, known, deadline);
    return poolBody({ poolId, ...shown, credits: { done, of } });
  }

  /** In the order in which they were locked. Also throws `request/invalid` for a cursor of another list. */
  async function stakes(place: PoolPlace, poolId: string, query: resource.StakesQuery, deadline: Deadline) {
    const known = await load(place, poolId, deadline);
    const { status, limit, cursor } = query;
    const filter = { stream: streamOf(place, poolId), status };
    const after = cursor === undefined ? 0 : Number(decodeCursor(STAKES, filter, cursor));
    // One more tells whether there is a next page.
    const found = stakeViews(known, { after, status, limit: limit + 1 });
    const items = found.slice(0, limit);
    const last = items.at(-1);
    const nextCursor = found.length > limit && last ? encodeCursor(STAKES, filter, BigInt(last.stake)) : null;
    return stakePageBody({ items, nextCursor });
  }

  async function load(place: PoolPlace, poolId: string, deadline: Deadline): Promise<KnownPool> {
    // An id of the wrong form is that of no pool.
    if (!callerId.safeParse(poolId).success) throw reject('custody/pool_not_found');
    const known = await handler.load(pool, streamOf(place, poolId), deadline);
    if (known.status === 'unknown') throw reject('custody/pool_not_found');
    return known;
  }

  /** All of them once the last one is made; until then as many as the rows show. */
  async function creditsDoneOf(
    place: PoolPlace,
    poolId: string,
    known: KnownPool,
    deadline: Deadline,
  ): Promise<number> {
    const last = known.status === 'open' ? undefined : lastCredited(known);
    if (known.status === 'open' || !last) return 0;
    const { environment, appId } = place;
    const account = { environment, appId, userId: last.userId, currencyId: known.currencyId };
    const { standing } = await accounts.findHold(account, stakeHoldId(poolId, last.betId), deadline);
    if (standing === 'closed') return known.end.credits;
    return creditsDone(db, streamOf(place, poolId));
  }
}

const STAKES = 'stakes';
