/** The rows of a pool and its stakes, and what the books hold of it. Source: contract, Custody and Money model. */
import assert from 'node:assert/strict';
import { accountStreamOf, holdClosedBy, stakeHoldId, stakeOf } from '@coffer/accounts';
import type { RecordedEvent } from '@coffer/event-store';
import { decodeMetadata, parseStreamName, type StreamNameParts } from '@coffer/kernel';
import type { OtherPostings, PoolRow, PoolsProjection } from '@coffer/read-models';
import { type PoolFact, poolEvents } from './domain/pool.events.ts';
import { streamOf } from './poolStreams.ts';

export const poolsProjection: PoolsProjection = {
  // Most events in the log are bets, which can be told apart without parsing.
  concerns: ({ stream }) => stream.startsWith('pool-'),

  changeOf(pool, recorded) {
    const event = poolEvents.decode(recorded);
    const place = placeOf(recorded);
    const { revision } = recorded;
    if (event.type === 'StakeLocked') {
      const { stake: number, betId, userId, amount, confirmBy, currencyId } = event.data;
      const opened = pool ?? openedPool(recorded, place, event.data);
      return {
        pool: { ...opened, revision, locked: opened.locked + amount },
        locks: {
          number,
          betId,
          userId,
          ...holdOf(place, { betId, userId, currencyId }),
          amount,
          confirmBy,
        },
      };
    }
    assert(pool, `${recorded.stream} begins with a stake`);
    switch (event.type) {
      case 'StakeConfirmed': {
        const { stake: number, amount } = event.data;
        const { locked, confirmed } = pool;
        return {
          pool: { ...pool, revision, locked: locked - amount, confirmed: confirmed + amount },
          marks: { number, status: 'confirmed' },
        };
      }
      case 'StakeReleased': {
        const { stake: number, amount } = event.data;
        return {
          pool: { ...pool, revision, locked: pool.locked - amount },
          marks: { number, status: 'released' },
        };
      }
      case 'PoolSettled': {
        const { rake, payouts, staked } = event.data;
        assert.equal(staked, pool.confirmed, `${recorded.stream} settles its own stakes`);
        const closed = closedPool(pool, recorded, place, event.data);
        return { pool: { ...closed, status: 'settled', rake, locked: 0n }, settles: { payouts } };
      }
      case 'PoolRefunded': {
        assert.equal(
          event.data.refunded,
          pool.locked + pool.confirmed,
          `${recorded.stream} gives back its stakes`,
        );
        const closed = closedPool(pool, recorded, place, event.data);
        return { pool: { ...closed, status: 'refunded' }, refunds: true };
      }
    }
  },

  creditOf(recorded) {
    const closed = holdClosedBy(recorded, 'stake');
    if (!closed) return undefined;
    const { poolId } = stakeOf(closed.holdId);
    return { stream: streamOf(closed.account, poolId), cause: decodeMetadata(recorded.metadata).causationId };
  },
};

/** The rake reaches the house when the pool is settled; the stakes reach the pool as their holds are closed. */
export const poolPostings: OtherPostings = (recorded) => {
  if (recorded.type !== 'PoolSettled') return undefined;
  const event = poolEvents.decode(recorded);
  assert(event.type === 'PoolSettled');
  const { rake, currencyId } = event.data;
  // What moves nothing makes no entry.
  if (rake === 0n) return undefined;
  const { owner: appId, environment, id } = placeOf(recorded);
  return {
    appId,
    environment,
    currencyId,
    subject: `pool:${id}`,
    occurredAt: decodeMetadata(recorded.metadata).occurredAt,
    postings: [
      { account: 'pools', amount: -rake },
      { account: 'house', amount: rake },
    ],
  };
};

function placeOf({ stream }: RecordedEvent): StreamNameParts {
  const place = parseStreamName(stream);
  assert(place, `${stream} names a pool`);
  return place;
}

function openedPool(
  { stream }: RecordedEvent,
  { owner: appId, environment, id: poolId }: StreamNameParts,
  { currencyId, lockedAt }: PoolFact<'StakeLocked'>,
): PoolRow {
  return {
    stream,
    revision: -1,
    appId,
    environment,
    poolId,
    currencyId,
    status: 'open',
    locked: 0n,
    confirmed: 0n,
    rake: null,
    credits: 0,
    lastCredit: null,
    creditsDone: 0,
    creditsDoneAt: 0,
    endedBy: null,
    openedAt: lockedAt,
    closedAt: null,
  };
}

function closedPool(
  pool: PoolRow,
  { id, revision, metadata }: RecordedEvent,
  place: StreamNameParts,
  { currencyId, credits, last }: Pick<PoolFact<'PoolSettled'>, 'currencyId' | 'credits' | 'last'>,
): PoolRow {
  const hold = last && holdOf(place, { ...last, currencyId });
  return {
    ...pool,
    revision,
    credits,
    lastCredit: hold ? `${hold.account} ${hold.holdId}` : null,
    endedBy: id,
    closedAt: decodeMetadata(metadata).occurredAt,
  };
}

/** The hold behind a stake. */
function holdOf(
  { owner: appId, environment, id: poolId }: StreamNameParts,
  {
    betId,
    userId,
    currencyId,
  }: { readonly betId: string; readonly userId: string; readonly currencyId: number },
) {
  return {
    account: accountStreamOf({ environment, appId, userId, currencyId }),
    holdId: stakeHoldId(poolId, betId),
  };
}
