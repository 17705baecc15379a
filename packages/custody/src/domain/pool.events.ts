/** Stored facts. These names and shapes are on disk for ever. */
import { type EventIn, eventCodec, figure } from '@coffer/kernel';
import { z } from 'zod';

/** The number of a stake in its pool, from 1, in the order in which they were locked. */
const stake = z.int();

/** Whose hold a stake is: with the pool's place, it determines the account. */
const owned = { betId: z.string(), userId: z.string(), currencyId: z.int() };

/** The hold that is closed after all others that the pool's end closes: once it is closed, all credits are done. */
const last = z.object({ betId: z.string(), userId: z.string() });

export const poolEvents = eventCodec({
  /** The first one opens the pool and determines its currency. */
  StakeLocked: {
    data: z.object({ stake, ...owned, amount: figure, lockedAt: z.string(), confirmBy: z.string() }),
  },
  StakeConfirmed: { data: z.object({ stake, betId: z.string(), amount: figure }) },
  /** Its bet was never committed: the amount is given back. */
  StakeReleased: { data: z.object({ stake, ...owned, amount: figure }) },
  PoolSettled: {
    data: z.object({
      currencyId: z.int(),
      /** The confirmed stakes: the rake and all payouts together. */
      staked: figure,
      rake: figure,
      /** Stake and amount, in the order of the request, from which a repeat gets the first answer. */
      payouts: z.array(z.tuple([stake, figure])),
      /** Stakes that were not confirmed: they are given back by this decision. */
      released: z.array(stake),
      /** How many holds this closes. */
      credits: z.int(),
      /** Absent if it closes none. */
      last: last.optional(),
    }),
  },
  /** Every stake that was not released is given back. */
  PoolRefunded: {
    data: z.object({
      currencyId: z.int(),
      refunded: figure,
      reason: z.string().optional(),
      credits: z.int(),
      last: last.optional(),
    }),
  },
});

export type PoolEvent = EventIn<typeof poolEvents>;
export type PoolFact<Type extends PoolEvent['type']> = Extract<PoolEvent, { type: Type }>['data'];
