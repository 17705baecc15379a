/** The custody group. Source: specification, Custody; docs/api.md, Custody. */
import { type AppCaller, type Endpoint, endpoint } from '@coffer/http';
import { confirmedBody, lockedBody, refundedBody, releasedBody, settledBody } from './domain/pool.answers.ts';
import * as schemas from './domain/pool.resource.ts';
import type { OverdueStakes } from './overdueStakes.ts';
import type { Pools } from './pools.ts';

export interface CustodyRouteDependencies {
  readonly pools: Pools;
  readonly overdue: Pick<OverdueStakes, 'releaseIn'>;
  /** The feature switch. */
  readonly admit: (caller: AppCaller) => Promise<void>;
}

/** Custody settle and the ledger batch may be large. Source: contract, Common rules. */
const SETTLE_LIMIT_BYTES = 4 * 1024 * 1024;

export function custodyEndpoints({ pools, overdue, admit }: CustodyRouteDependencies): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/custody/lock',
      credential: 'sk',
      summary: "Lock one bet's stake into a pool",
      description:
        'Holds the amount on the account of the player. Confirm the stake once your bet is committed: from confirmBy on it may be released.',
      admit,
      body: schemas.lockBody,
      links: {
        'POST /custody/confirm': { poolId: '$response.body#/poolId', betId: '$response.body#/betId' },
        'POST /custody/refund': { poolId: '$response.body#/poolId' },
      },
      success: { status: 201, schema: schemas.lockedStake },
      errors: [
        'custody/not_found',
        'users/not_found',
        'custody/unknown_currency',
        'custody/idempotency_conflict',
        'custody/lock_released',
        'users/suspended',
        'custody/pool_closed',
        'custody/currency_mismatch',
        'custody/pool_full',
        'custody/insufficient_funds',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await pools.lock(caller, body, context);
        return { status: 201, body: lockedBody(body.poolId, answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/custody/confirm',
      credential: 'sk',
      summary: 'Confirm that a stake is backed by a committed bet',
      description: 'Works until the stake is released, also after its confirmBy.',
      admit,
      body: schemas.confirmBody,
      success: { status: 200, schema: schemas.confirmedStake },
      errors: [
        'custody/not_found',
        'custody/pool_not_found',
        'custody/bet_not_found',
        'custody/lock_released',
        'custody/pool_closed',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await pools.confirm(caller, body, context);
        return { status: 200, body: confirmedBody(body.poolId, answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/custody/settle',
      credential: 'sk',
      summary: 'Settle a whole pool with rake and payouts',
      description:
        'Rake and payouts must together be exactly the confirmed stakes. A bet that is not named is paid nothing, and stakes that are not confirmed are given back. The answer is the decision: the players are credited before it in a pool of up to 256 stakes, otherwise just after.',
      admit,
      body: schemas.settleBody,
      bodyLimitBytes: SETTLE_LIMIT_BYTES,
      success: { status: 200, schema: schemas.settledPool },
      errors: [
        'custody/not_found',
        'custody/unknown_currency',
        'custody/pool_not_found',
        'custody/idempotency_conflict',
        'custody/pool_closed',
        'custody/currency_mismatch',
        'custody/duplicate_payout',
        'custody/unknown_bet',
        'custody/bet_not_confirmed',
        'custody/conservation_violated',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await pools.settle(caller, body, context);
        return { status: 200, body: settledBody(body.poolId, answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/custody/refund',
      credential: 'sk',
      summary: 'Refund every stake of a voided pool',
      description:
        'Gives back every stake that was not released, confirmed or not. Credited as by a settlement.',
      admit,
      body: schemas.refundBody,
      success: { status: 200, schema: schemas.refundedPool },
      errors: [
        'custody/not_found',
        'custody/pool_not_found',
        'custody/idempotency_conflict',
        'custody/pool_closed',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await pools.refund(caller, body, context);
        return { status: 200, body: refundedBody(body.poolId, answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/custody/reconcile',
      credential: 'sk',
      summary: 'Give back stakes that were not confirmed in time',
      description:
        'Coffer does this by itself every minute; the answer lists what this request released. olderThanSeconds only makes it more patient: no stake is released before its confirmBy.',
      admit,
      body: schemas.reconcileBody,
      success: { status: 200, schema: schemas.releasedStakes },
      errors: ['custody/not_found'],
      handle: async ({ caller, body: { olderThanSeconds = 0 }, context }) => {
        const released = await overdue.releaseIn(caller, olderThanSeconds, context);
        return { status: 200, body: releasedBody({ released: [...released] }) };
      },
    }),
  ];
}
