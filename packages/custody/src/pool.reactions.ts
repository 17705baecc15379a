/**
 * What must follow from the hold of a stake, from its release and from the end of its pool even if the request has died:
 * the hold process carries it out. Source: architecture, Processes; ADR 0006.
 */
import { type AccountDue, accountStreamOf, type HoldAct, stakeHoldId } from '@coffer/accounts';
import { actDeadlineMs } from '@coffer/consumers';
import type { RecordedEvent } from '@coffer/event-store';
import { type PoolFact, poolEvents } from './domain/pool.events.ts';
import { poolPlace } from './poolStreams.ts';
import { MOST_CREDITS_IN_REQUEST, type Pools } from './pools.ts';

type CarryOut = Pick<Pools, 'carryOut'>;

/** For holds with the purpose `stake`: the lock, recorded as `StakeLocked`. */
export function stakeHoldAct({ carryOut }: CarryOut): HoldAct {
  return {
    holdOf(event: RecordedEvent) {
      if (event.type !== 'StakeLocked') return undefined;
      const locked = poolEvents.decode(event);
      return locked.type === 'StakeLocked' ? holdPlace(event, locked.data) : undefined;
    },
    async act(held: RecordedEvent): Promise<void> {
      await carryOut.lock(held, actDeadlineMs());
    },
  };
}

/** What pools owe to accounts. */
export function poolDues({ carryOut }: CarryOut): readonly AccountDue[] {
  return [
    {
      name: 'giveBackStake',
      dueOf(event: RecordedEvent) {
        if (event.type !== 'StakeReleased') return undefined;
        const released = poolEvents.decode(event);
        return released.type === 'StakeReleased' ? holdPlace(event, released.data) : undefined;
      },
      act: (cause: RecordedEvent) => carryOut.giveBack(cause, actDeadlineMs()),
    },
    creditsOfPools(carryOut, 'creditPool', (credits) => credits <= MOST_CREDITS_IN_REQUEST),
    {
      ...creditsOfPools(carryOut, 'creditLargePool', (credits) => credits > MOST_CREDITS_IN_REQUEST),
      // No request makes the credits of these.
      graceMs: 0,
    },
  ];
}

function creditsOfPools(
  { creditAll }: CarryOut['carryOut'],
  name: string,
  isOurs: (credits: number) => boolean,
): AccountDue {
  return {
    name,
    dueOf(event: RecordedEvent) {
      if (event.type !== 'PoolSettled' && event.type !== 'PoolRefunded') return undefined;
      const closed = poolEvents.decode(event);
      if (closed.type !== 'PoolSettled' && closed.type !== 'PoolRefunded') return undefined;
      const { last, credits, currencyId } = closed.data;
      return last && isOurs(credits) ? holdPlace(event, { ...last, currencyId }) : undefined;
    },
    // The pool, not the account of its last stake, which must not wait for thousands of others.
    targetOf: ({ stream }: RecordedEvent) => stream,
    act: (cause: RecordedEvent, signal: AbortSignal) => creditAll(cause, actDeadlineMs, signal),
  };
}

function holdPlace(
  { stream }: RecordedEvent,
  { betId, userId, currencyId }: Pick<PoolFact<'StakeLocked'>, 'betId' | 'userId' | 'currencyId'>,
) {
  const { environment, appId, poolId } = poolPlace(stream);
  const account = accountStreamOf({ environment, appId, userId, currencyId });
  return { account, holdId: stakeHoldId(poolId, betId) };
}
