/** The custody group. Source: specification, Custody; docs/api.md, Custody. */
import type { Fields } from './answers.ts';
import type * as api from './api.ts';
import { sdkError } from './cofferError.ts';
import type { Page, PageQuery, Replayable } from './ledgerTypes.ts';
import { type PollOptions, pollUntil } from './polling.ts';
import { bodyOf, pageOf, readerOf } from './resources.ts';
import type { CallOptions, Timing } from './retry.ts';
import { type Call, queryOf, readBody, segment } from './transport.ts';

export interface PoolsQuery extends PageQuery {
  readonly status?: api.Pool['status'];
  /** The id of one of the app's currencies. */
  readonly currency?: number;
}

export interface StakesQuery extends PageQuery {
  readonly status?: api.Stake['status'];
}

/** A pool whose end has reached all players. */
export type CreditedPool = api.Pool & { readonly status: 'settled' | 'refunded' };

/**
 * Every call rejects with a `CofferError`. The ids of bets and pools are the keys of the writes, so a call is sent until
 * it is answered or the deadline passes, and acts once.
 */
export interface CustodyClient {
  /** Holds the stake of one bet for the pool. Then commit the bet, and confirm. */
  readonly lock: (request: api.LockRequest, options?: CallOptions) => Promise<api.LockedStake & Replayable>;
  readonly confirm: (
    request: api.ConfirmRequest,
    options?: CallOptions,
  ) => Promise<api.ConfirmedStake & Replayable>;
  /** Rake and payouts must be exactly the confirmed stakes: see `splitPool`. */
  readonly settle: (
    request: api.SettlePoolRequest,
    options?: CallOptions,
  ) => Promise<api.SettledPool & Replayable>;
  /** Gives every stake back. */
  readonly refund: (
    request: api.RefundPoolRequest,
    options?: CallOptions,
  ) => Promise<api.RefundedPool & Replayable>;
  /** Gives back the stakes that were not confirmed in time. Coffer does so by itself, every minute. */
  readonly reconcile: (
    request?: api.ReconcileRequest,
    options?: CallOptions,
  ) => Promise<readonly api.ReleasedStake[]>;
  readonly pool: (poolId: string, options?: CallOptions) => Promise<api.Pool>;
  /** Newest first. */
  readonly pools: (query?: PoolsQuery, options?: CallOptions) => Promise<Page<api.Pool>>;
  /** In the order in which they were locked. */
  readonly stakes: (poolId: string, query?: StakesQuery, options?: CallOptions) => Promise<Page<api.Stake>>;
  /**
   * The pool once it is closed and every player has what it gave them. Polls for two minutes by default, even while the
   * service cannot be reached. Then it rejects, with `sdk/not_credited` if the pool is open or credits are still under
   * way; they are made all the same.
   */
  readonly waitForCredits: (poolId: string, options?: PollOptions) => Promise<CreditedPool>;
}

const CREDITED_WITHIN_MS = 120_000;

const readLocked = readerOf('LockedStake');
const readConfirmed = readerOf('ConfirmedStake');
const readSettled = readerOf('SettledPool');
const readRefunded = readerOf('RefundedPool');
const readReleased = readerOf('ReleasedStake');
const readPool = readerOf('Pool');
const readStake = readerOf('Stake');

export function createCustodyClient(call: Call, timing: Timing): CustodyClient {
  const write = async <Answer>(
    path: string,
    body: Readonly<Record<string, unknown>>,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer & Replayable> => {
    const reply = await call({ method: 'POST', path: `/custody/${path}`, body }, options);
    return { ...readBody(reply, readAnswer), replayed: reply.replayed };
  };
  const fetchOf = async <Answer>(
    path: string,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> =>
    readBody(await call({ method: 'GET', path: `/custody/pools${path}` }, options), readAnswer);

  const pool: CustodyClient['pool'] = async (poolId, options) =>
    fetchOf(`/${segment(poolId)}`, readPool, options);

  return {
    lock: async (request, options) => write('lock', bodyOf('LockRequest', request), readLocked, options),
    confirm: async (request, options) =>
      write('confirm', bodyOf('ConfirmRequest', request), readConfirmed, options),
    settle: async (request, options) =>
      write('settle', bodyOf('SettlePoolRequest', request), readSettled, options),
    refund: async (request, options) =>
      write('refund', bodyOf('RefundPoolRequest', request), readRefunded, options),
    reconcile: async (request = {}, options) => {
      const body = bodyOf('ReconcileRequest', request);
      const reply = await call({ method: 'POST', path: '/custody/reconcile', body }, options);
      return readBody(reply, (answer) => answer.list('released', readReleased));
    },
    pool,
    pools: async (query = {}, options) => fetchOf(queryOf({ ...query }), pageOf(readPool), options),
    stakes: async (poolId, query = {}, options) =>
      fetchOf(`/${segment(poolId)}/stakes${queryOf({ ...query })}`, pageOf(readStake), options),
    waitForCredits: (poolId, { deadlineMs = CREDITED_WITHIN_MS, ...options } = {}) =>
      pollUntil(
        timing,
        { deadlineMs, ...options },
        async (within) => {
          const seen = await pool(poolId, within);
          return isCredited(seen) ? { done: true, value: seen } : { done: false, last: seen };
        },
        ({ status, credits }) =>
          sdkError('sdk/not_credited', { details: { poolId, status, credits }, retryable: true }),
      ),
  };
}

const isCredited = (pool: api.Pool): pool is CreditedPool =>
  pool.status !== 'open' && pool.credits.done === pool.credits.of;
