/**
 * From the treasury to the user's wallet: reserve on the account, then move, then close the hold. Each later event is a
 * pure function of the one before it, so the request that began it and the process that finishes it after a crash write
 * the same bytes. Source: ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, cashOutHoldId, holdOpenedBy } from '@coffer/accounts';
import {
  afterFirstAppend,
  causedBy,
  type Outcome,
  type Requester,
  type StreamEvent,
} from '@coffer/event-store';
import { type AccountKey, type AppPlace, type FailPoint, isoTimeOf, Rejection } from '@coffer/kernel';
import {
  type MoveState,
  moveStreamName,
  type RentSponsor,
  treasuryMovePlace,
  withRentPaid,
} from '@coffer/moves';
import { heldRequestOf, orderOf } from './cashOutOrder.ts';
import { reject } from './errors.ts';
import { requirePossible } from './onChain.ts';
import {
  conflictOf,
  type Parties,
  type PartiesDependencies,
  type Subject,
  walletPlaceOf,
} from './parties.ts';
import type { TransferRequest } from './schemas.ts';

export interface CashOutDependencies extends PartiesDependencies {
  readonly rentSponsor: RentSponsor;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<Accounts, 'figures' | 'hold' | 'findHold' | 'closeHold'>;
}

/** An existing hold of a cash-out: taken by this request, an earlier one or a concurrent one. */
type BegunCashOut =
  | {
      readonly standing: 'open';
      readonly hold: { readonly amount: bigint };
      readonly cause: StreamEvent;
      readonly outcome?: 'held' | 'alreadyHeld';
    }
  | { readonly standing: 'closed' };

export function createCashOuts(dependencies: CashOutDependencies, parties: Parties) {
  const { moves, rentSponsor: sponsor, clock, failPoint, accounts } = dependencies;

  return { withdraw, carryOut };

  /** Idempotent on `ref`. */
  async function withdraw(
    place: AppPlace,
    request: TransferRequest,
    context: Requester,
  ): Promise<Outcome<MoveState>> {
    const { userId, currency: currencyId, ref } = request;
    const subject = await parties.subjectOf(place, request, context);
    const replay = await parties.requestedBefore(place, 'cashOut', request, context);
    if (replay) return replay;
    const account = { environment: place.environment, appId: place.appId, userId, currencyId };
    const known = await accounts.findHold(account, cashOutHoldId(ref), context);
    const begun: BegunCashOut =
      known.standing === 'none' ? await reserve(place, account, subject, request, context) : known;
    if (begun.standing === 'open') {
      if (begun.hold.amount !== request.amount) throw conflictOf(ref, 'amount');
      const outcome = await afterFirstAppend(() => moveFromHold(begun.cause, context.deadlineMs));
      failPoint('cashOut.requested');
      // Whoever held the funds began it, even if the process or a repeat has requested the move in the meantime.
      if (outcome) return { ...outcome, replayed: begun.outcome !== 'held' };
    }
    // Closed: the move has ended in the meantime, or somebody else was first under this ref.
    const requested = await parties.requestedBefore(place, 'cashOut', request, context);
    assert(requested, 'a hold was closed, but nothing was requested in its place');
    return requested;
  }

  async function reserve(
    place: AppPlace,
    account: AccountKey,
    subject: Subject,
    { userId, amount, ref }: TransferRequest,
    context: Requester,
  ): Promise<BegunCashOut> {
    const { wallet, treasury, mint, chain } = await parties.partiesOf(place, subject, context);
    const { decimals } = subject.currency;
    const { address: from } = treasury;
    const transfer = { from, to: wallet.address, mint, decimals, amount, onlyAssociated: true };
    const plan = await requirePossible(chain, transfer, 'treasury/insufficient_treasury').catch(
      async (error: unknown) => {
        if (!(error instanceof Rejection && error.code === 'treasury/insufficient_treasury')) throw error;
        // To fund the treasury would not help a player who has less than that as well.
        const { available } = await accounts.figures(account, context);
        throw available < amount ? insufficientFunds(available, amount) : error;
      },
    );

    const requestedAt = isoTimeOf(clock);
    const order = {
      ref,
      mint,
      decimals,
      from: treasury,
      toAddress: wallet.address,
      requestedAt,
      admittedBy: walletPlaceOf(wallet),
    };
    const { appId, environment } = place;
    const { moveId } = treasuryMovePlace(environment, appId, ref);
    const hold = await withRentPaid(
      { chain, sponsor },
      { moveId, appId, environment, userId, plan, wallet: wallet.address },
      async () => {
        failPoint('cashOut.beforeHold');
        const held = await accounts.hold(
          account,
          { holdId: cashOutHoldId(ref), amount, purpose: 'cashout', request: heldRequestOf(order) },
          parties.contextOf(context, requestedAt),
        );
        if (held.outcome === 'insufficient') throw insufficientFunds(held.available, amount);
        return held;
      },
    );
    failPoint('cashOut.held');

    // For an earlier hold, the amount is the one that was held.
    return hold.outcome === 'closed'
      ? { standing: 'closed' }
      : { standing: 'open', hold: { amount }, ...hold };
  }

  /**
   * The act of a hold: requests the move that the funds are held for. Undefined if another move has its ref: this hold
   * is then closed in full.
   */
  async function moveFromHold(
    cause: StreamEvent,
    deadlineMs: number,
  ): Promise<Outcome<MoveState> | undefined> {
    const hold = holdOpenedBy(cause, 'cashout');
    assert(hold, `${cause.type} of ${cause.stream} holds nothing for a cash-out`);
    const { account, holdId, amount } = hold;
    const order = orderOf(hold);
    const place = treasuryMovePlace(account.environment, account.appId, order.key);
    try {
      return await moves.request(place, order, causedBy(cause, moveStreamName(place), deadlineMs));
    } catch (error) {
      if (!(error instanceof Rejection && error.code === 'treasury/idempotency_conflict')) throw error;
      await accounts.closeHold(account, { holdId, payout: amount }, cause, deadlineMs);
      return undefined;
    }
  }

  async function carryOut(cause: StreamEvent, deadlineMs: number): Promise<void> {
    await moveFromHold(cause, deadlineMs);
  }
}

const insufficientFunds = (available: bigint, amount: bigint): Rejection =>
  reject('treasury/insufficient_funds', { available, amount });
