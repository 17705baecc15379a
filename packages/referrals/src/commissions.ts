/**
 * Commissions across their streams: the key's stream decides, the earnings of each beneficiary follow. The accruals
 * follow from the decision alone, so the request and the process that finishes it after a crash do the same. Source:
 * contract, Referrals; ADR 0006.
 */
import assert from 'node:assert/strict';
import {
  afterFirstAppend,
  type CommandHandler,
  causedBy,
  type Deadline,
  type EventStore,
  type Outcome,
  type Requester,
  readEvent,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import { type AppPlace, type Clock, type FailPoint, isoTimeOf, Rejection } from '@coffer/kernel';
import type { Users } from '@coffer/users';
import { commissionEvents } from './domain/commission.events.ts';
import {
  type Accrual,
  accrualsOf,
  type Commission,
  commission,
  commissionPlaceOf,
  commissionStreamOf,
  type Distribution,
  isReplay,
  type Payout,
} from './domain/commission.ts';
import { balanceOf } from './domain/earnings.state.ts';
import { type EarningsAnswer, earnings, earningsStreamOf } from './domain/earnings.ts';
import { type ChainLink, type Part, remainderOf } from './domain/splitByLevels.ts';
import { reject } from './errors.ts';

export interface CommissionDependencies {
  readonly handler: Pick<CommandHandler, 'execute' | 'load'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly users: Pick<Users, 'show' | 'standing'>;
  readonly hasCurrency: (appId: string, currencyId: number) => Promise<boolean>;
  /** The user's referrers from the direct one up, at most `depth` of them. */
  readonly chainOf: (
    place: AppPlace,
    userId: string,
    depth: number,
    context: Requester,
  ) => Promise<readonly ChainLink[]>;
}

export interface EarningsFigures {
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  readonly balance: bigint;
}

export interface DistributionAnswer {
  readonly distributed: readonly Part[];
  readonly withheld: readonly Part[];
  readonly remainder: bigint;
}

export type Commissions = ReturnType<typeof createCommissions>;

export function createCommissions(dependencies: CommissionDependencies) {
  const { handler, store, clock, failPoint, users, hasCurrency, chainOf } = dependencies;
  return { load, payOut, distribute, accrueAll, figures };

  /** What the key was used for, from a confirmed current state. */
  function load(place: AppPlace, idemKey: string, deadline: Deadline): Promise<Commission> {
    return handler.load(commission, streamOf(place, idemKey), deadline);
  }

  /**
   * To one beneficiary; answers what that user can withdraw after it. Throws `users/not_found`,
   * `referrals/unknown_currency`, `referrals/idempotency_conflict`.
   */
  async function payOut(
    place: AppPlace,
    request: Payout,
    context: Requester,
  ): Promise<Outcome<EarningsAnswer>> {
    const command = { type: 'DecidePayout', ...request } as const;
    const { environment, appId, scopeId } = place;
    const { idemKey, userId, sourceUserId, currencyId } = request;
    // Asked together, so that one question to the log confirms all.
    const [{ status }, known, source] = await Promise.all([
      users.show({ environment, scopeId, userId }, context),
      load(place, idemKey, context),
      sourceUserId === undefined
        ? 'none'
        : users.standing({ environment, scopeId, userId: sourceUserId }, context),
    ]);
    if (!(await hasCurrency(appId, currencyId))) throw reject('referrals/unknown_currency');
    const earnsNothing = status === 'erased' || source === undefined || source === 'erased';
    if (!isReplay(known, command) && earnsNothing) throw new Rejection('users/not_found');
    failPoint('payout.beforeDecision');
    const { cause, replayed } = await decided(place, command, context);
    failPoint('payout.decided');
    const answer = await afterFirstAppend(() => accrueAll(cause, context.deadlineMs));
    assert(answer, 'a payout accrues once');
    failPoint('payout.accrued');
    return { answer, replayed, appended: [] };
  }

  /** Over the levels of the user's chain, as it is when the decision is made. */
  async function distribute(
    place: AppPlace,
    request: Distribution,
    context: Requester,
  ): Promise<Outcome<DistributionAnswer>> {
    const chain = await chainOf(place, request.userId, request.levels.length, context);
    failPoint('distribute.beforeDecision');
    const { cause, answer, replayed } = await decided(
      place,
      { type: 'DecideDistribution', ...request, chain },
      context,
    );
    assert(answer.type === 'DistributionDecided');
    failPoint('distribute.decided');
    await afterFirstAppend(() => accrueAll(cause, context.deadlineMs));
    failPoint('distribute.accrued');
    const { amount, distributed, withheld } = answer.data;
    return {
      answer: { distributed, withheld, remainder: remainderOf(amount, distributed) },
      replayed,
      appended: [],
    };
  }

  async function decided(
    place: AppPlace,
    command: Parameters<typeof commission.decide>[1],
    context: Requester,
  ) {
    const stream = streamOf(place, command.idemKey);
    const by = requestedBy(context, isoTimeOf(clock));
    const { answer, appended, replayed } = await handler.execute(commission, stream, command, by);
    return { cause: appended[0] ?? (await readEvent(store, stream, 0)), answer, replayed };
  }

  /**
   * What follows from a payout or a distribution: each part is accrued by its beneficiary, all but the last at once, so
   * that the last shows that nothing is missing.
   */
  async function accrueAll(cause: StreamEvent, deadlineMs: number): Promise<EarningsAnswer | undefined> {
    const { environment, appId } = commissionPlaceOf(cause.stream);
    const decision = commissionEvents.decode(cause);
    const accrueOne = async ({ userId, ...content }: Accrual): Promise<EarningsAnswer> => {
      const { idemKey, currencyId } = decision.data;
      const stream = earningsStreamOf({ environment, appId, userId, currencyId });
      const command = { type: 'Accrue', idemKey, ...content } as const;
      return (await handler.execute(earnings, stream, command, causedBy(cause, stream, deadlineMs))).answer;
    };
    const accruals = accrualsOf(decision);
    await Promise.all(accruals.slice(0, -1).map(accrueOne));
    const last = accruals.at(-1);
    return last && accrueOne({ ...last, isLast: true });
  }

  /** From a confirmed current state. */
  async function figures(
    place: AppPlace,
    { userId, currencyId }: { readonly userId: string; readonly currencyId: number },
    deadline: Deadline,
  ): Promise<EarningsFigures> {
    const { environment, appId } = place;
    const stream = earningsStreamOf({ environment, appId, userId, currencyId });
    const state = await handler.load(earnings, stream, deadline);
    return { accrued: state.accrued, withdrawn: state.withdrawn, balance: balanceOf(state) };
  }
}

const streamOf = ({ environment, appId }: AppPlace, idemKey: string): string =>
  commissionStreamOf({ environment, appId, idemKey });
