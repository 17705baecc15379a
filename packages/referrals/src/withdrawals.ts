/**
 * Withdrawals: set aside from the earnings first, then the key is taken, then the money reaches the player's available
 * funds. Every later event follows from the one before it, so the request and the process that finishes it after a crash
 * do the same. Source: contract, Referrals; ADR 0006.
 */
import assert from 'node:assert/strict';
import type { Accounts } from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandHandler,
  causedBy,
  type EventStore,
  type Outcome,
  type Requester,
  readEvent,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import { type AppPlace, type Clock, type FailPoint, isoTimeOf, Rejection } from '@coffer/kernel';
import type { Users } from '@coffer/users';
import type { Commissions } from './commissions.ts';
import { commission, commissionStreamOf, isReplay, type Withdrawal } from './domain/commission.ts';
import { earningsEvents } from './domain/earnings.events.ts';
import { type EarningsAnswer, earnings, earningsStreamOf, parseEarningsStream } from './domain/earnings.ts';
import { reject } from './errors.ts';

export interface WithdrawalDependencies {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<Accounts, 'creditEarnings'>;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly hasCurrency: (appId: string, currencyId: number) => Promise<boolean>;
  readonly commissions: Pick<Commissions, 'load'>;
}

export type Withdrawals = ReturnType<typeof createWithdrawals>;

export function createWithdrawals(dependencies: WithdrawalDependencies) {
  const { handler, store, clock, failPoint, accounts, users, hasCurrency, commissions } = dependencies;
  return { withdraw, finishWithdrawal };

  /** To the player's available funds. */
  async function withdraw(
    place: AppPlace,
    request: Withdrawal,
    context: Requester,
  ): Promise<Outcome<EarningsAnswer>> {
    const { environment, appId, scopeId } = place;
    const { idemKey, userId, currencyId, requested } = request;
    const user = { environment, scopeId, userId };
    // Asked together, so that one question to the log confirms both.
    const [{ status }, known] = await Promise.all([
      users.show(user, context),
      commissions.load(place, idemKey, context),
    ]);
    if (!(await hasCurrency(appId, currencyId))) throw reject('referrals/unknown_currency');
    const isActive = isReplay(known, { type: 'DecideWithdrawal', ...request }) || status === 'active';
    if (!isActive) await users.requireActive(user, context);
    failPoint('withdraw.beforeEarnings');
    const stream = earningsStreamOf({ environment, appId, userId, currencyId });
    const outcome = await handler.execute(
      earnings,
      stream,
      { type: 'Withdraw', idemKey, requested },
      requestedBy(context, isoTimeOf(clock)),
    );
    failPoint('withdraw.setAside');
    await afterFirstAppend(async () => {
      const cause = outcome.appended[0] ?? (await readEvent(store, stream, outcome.answer.revision));
      const conflict = await finishWithdrawal(cause, context.deadlineMs);
      if (conflict) throw conflict;
    });
    failPoint('withdraw.credited');
    return outcome;
  }

  /**
   * What follows from earnings set aside: the key is this withdrawal's and the player is credited, or the key is
   * another operation's and the earnings come back. Answers the conflict in that case.
   */
  async function finishWithdrawal(cause: StreamEvent, deadlineMs: number): Promise<Rejection | undefined> {
    const event = earningsEvents.decode(cause);
    assert(event.type === 'EarningsWithdrawn');
    const owner = parseEarningsStream(cause.stream);
    assert(owner, `${cause.stream} holds nobody's earnings`);
    const { idemKey, requested, amount, balance } = event.data;
    const { userId, currencyId } = owner;
    const key = commissionStreamOf({ ...owner, idemKey });
    try {
      const asked = requested === undefined ? {} : { requested };
      await handler.execute(
        commission,
        key,
        { type: 'DecideWithdrawal', idemKey, userId, currencyId, ...asked, amount, balance },
        causedBy(cause, key, deadlineMs),
      );
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      const context = causedBy(cause, cause.stream, deadlineMs);
      await handler.execute(earnings, cause.stream, { type: 'ReturnWithdrawal', idemKey }, context);
      return error;
    }
    failPoint('withdraw.decided');
    await accounts.creditEarnings(owner, { idemKey, amount }, cause, deadlineMs);
    return undefined;
  }
}
