/**
 * Money between users' wallets and the app's treasury, and how it gets into the books. A deposit is booked once the
 * chain has confirmed it. A cash-out reserves on the player's account, then moves, then closes the hold: each later
 * event is a pure function of the one before it, so the request that began and the process that finishes it after a
 * crash write the same bytes. Source: docs/api.md, Treasury; ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, cashOutHoldId, depositEntryId, holdOpenedBy } from '@coffer/accounts';
import {
  afterFirstAppend,
  type CommandContext,
  causedBy,
  type Deadline,
  type Outcome,
  type Requester,
  requestedBy,
  type StreamEvent,
} from '@coffer/event-store';
import {
  type AppPlace,
  type Clock,
  type Environment,
  type FailPoint,
  isoTimeOf,
  Rejection,
  type UserPlace,
} from '@coffer/kernel';
import {
  asRequested,
  type MoveState,
  type Moves,
  moveStreamName,
  type PayingWallet,
  type RentSponsor,
  treasuryMovePlace,
  withRentPaid,
} from '@coffer/moves';
import type { Chain } from '@coffer/solana';
import type { Standing, Users } from '@coffer/users';
import { heldRequestOf, orderOf } from './cashOutOrder.ts';
import { reject } from './errors.ts';
import { endOfMove } from './moveFacts.ts';
import { finalFundsOf, requirePossible } from './onChain.ts';

export interface TreasuryCurrency {
  readonly id: number;
  readonly decimals: number;
  /** `native`, a base58 mint address, or null where the currency is not on that chain. */
  readonly mint: { readonly [Of in Environment]: string | null };
}

export interface TransferRequest {
  readonly userId: string;
  /** The id of one of the app's currencies. */
  readonly currency: number;
  readonly amount: bigint;
  readonly ref: string;
}

/** What the treasury owes in a currency, and what has left for the chain and is still in the books: of one moment. */
export interface TreasuryBooks {
  readonly liabilities: bigint;
  readonly inFlight: bigint;
}

export interface TreasuryBalance {
  readonly userId: string;
  readonly currency: number;
  readonly deposited: bigint;
  readonly withdrawn: bigint;
  readonly available: bigint;
  readonly held: bigint;
  readonly treasury: TreasuryBooks & { readonly address: string; readonly onChain: bigint };
}

type Operation = 'deposit' | 'cashOut';

export interface TreasuryDependencies {
  readonly moves: Moves;
  readonly rentSponsor: RentSponsor;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly accounts: Pick<
    Accounts,
    'hold' | 'findHold' | 'closeHold' | 'creditDeposit' | 'isBooked' | 'external'
  >;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly currencyById: (
    appId: string,
    currencyId: number,
  ) => TreasuryCurrency | undefined | Promise<TreasuryCurrency | undefined>;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
  /** The user's active wallet, confirmed current; undefined where there is none. */
  readonly walletOf: (user: UserPlace, deadline: Deadline) => Promise<PayingWallet | undefined>;
  /** The app's treasury; made where there is none. Throws `wallets/keys_unavailable`. */
  readonly treasuryOf: (
    place: Pick<AppPlace, 'appId' | 'environment'>,
    context: CommandContext,
  ) => Promise<PayingWallet>;
  readonly booksOf: (
    place: Pick<AppPlace, 'appId' | 'environment'> & { readonly currencyId: number },
  ) => Promise<TreasuryBooks>;
}

export type Treasury = ReturnType<typeof createTreasury>;

export function createTreasury(dependencies: TreasuryDependencies) {
  const { moves, rentSponsor: sponsor, clock, failPoint, accounts, users } = dependencies;

  return { deposit, withdraw, show, balance, carryOut: { cashOut: carryOutCashOut, book } };

  /** From the user's wallet to the treasury. Idempotent on `ref`. */
  async function deposit(
    place: AppPlace,
    request: TransferRequest,
    context: Requester,
  ): Promise<Outcome<MoveState>> {
    const subject = await subjectOf(place, request, context);
    const replay = await requestedBefore(place, 'deposit', request, context);
    if (replay) return replay;

    const { wallet, treasury, mint, chain } = await partiesOf(place, subject, context);
    const { decimals } = subject.currency;
    const { amount } = request;
    const transfer = { from: wallet.address, to: treasury.address, mint, decimals, amount };
    await requirePossible(chain, transfer, 'treasury/insufficient_wallet_funds');

    failPoint('deposit.beforeRequest');
    const requestedAt = isoTimeOf(clock);
    const outcome = await moves
      .request(
        treasuryMovePlace(place.environment, place.appId, request.ref),
        {
          operation: 'deposit',
          key: request.ref,
          appId: place.appId,
          userId: request.userId,
          currencyId: request.currency,
          mint,
          decimals,
          amount,
          from: wallet,
          toAddress: treasury.address,
          requestedAt,
          admittedBy: walletPlaceOf(wallet),
        },
        contextOf(context, requestedAt),
      )
      .catch(asWithoutWallet);
    failPoint('deposit.requested');
    return outcome;
  }

  /** From the treasury to the user's wallet: reserve on the account, then move. Idempotent on `ref`. */
  async function withdraw(
    place: AppPlace,
    request: TransferRequest,
    context: Requester,
  ): Promise<Outcome<MoveState>> {
    const { userId, currency: currencyId, amount, ref } = request;
    const subject = await subjectOf(place, request, context);
    const replay = await requestedBefore(place, 'cashOut', request, context);
    if (replay) return replay;
    const account = { environment: place.environment, appId: place.appId, userId, currencyId };
    const begun = await accounts.findHold(account, cashOutHoldId(ref), context);
    if (begun.standing !== 'none') return goOn(begun);

    const { wallet, treasury, mint, chain } = await partiesOf(place, subject, context);
    const { decimals } = subject.currency;
    const { address: from } = treasury;
    const transfer = { from, to: wallet.address, mint, decimals, amount, onlyAssociated: true };
    const plan = await requirePossible(chain, transfer, 'treasury/insufficient_treasury');

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
          contextOf(context, requestedAt),
        );
        if (held.outcome === 'insufficient') {
          throw reject('treasury/insufficient_funds', { available: held.available, amount });
        }
        return held;
      },
    );
    failPoint('cashOut.held');

    switch (hold.outcome) {
      case 'closed':
        return goOn({ standing: 'closed' });
      default:
        return goOn({ standing: 'open', hold: { amount }, ...hold });
    }

    /** From a hold that is there: by this request, by one before it, or by one beside it. */
    async function goOn(hold: GoOnFrom): Promise<Outcome<MoveState>> {
      if (hold.standing === 'open') {
        if (hold.hold.amount !== amount) throw conflictOf(ref, 'amount');
        const outcome = await afterFirstAppend(() => moveFromHold(hold.cause, context.deadlineMs));
        failPoint('cashOut.requested');
        // Who held the funds has begun it, also where the process has requested the move meanwhile.
        if (outcome) return { ...outcome, replayed: outcome.replayed && hold.outcome !== 'held' };
      }
      // Closed: the move has come to its end meanwhile, or somebody else was the first under this ref.
      const requested = await requestedBefore(place, 'cashOut', request, context);
      assert(requested, 'a hold was closed, but nothing was requested in its place');
      return requested;
    }
  }

  /**
   * The act of a hold: requests the move that the funds are held for. Undefined where another move has its ref: this
   * hold is then closed in full.
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

  async function carryOutCashOut(cause: StreamEvent, deadlineMs: number): Promise<void> {
    await moveFromHold(cause, deadlineMs);
  }

  /** What the end of a move is to the player's account. */
  async function book(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const end = endOfMove(cause);
    assert(end, `${cause.type} of ${cause.stream} is no end of a move of the treasury`);
    const { account, operation, ref, amount, isConfirmed } = end;
    if (operation === 'cashOut') {
      const payout = isConfirmed ? 0n : amount;
      await accounts.closeHold(account, { holdId: cashOutHoldId(ref), payout }, cause, deadlineMs);
    } else if (isConfirmed) {
      await accounts.creditDeposit(account, { ref, amount }, cause, deadlineMs);
    }
  }

  /** The move as it stands; at its end only once that is in the books. Throws `treasury/move_not_found`. */
  async function show(place: AppPlace, ref: string, deadline: Deadline): Promise<MoveState> {
    const move = await moves.find(treasuryMovePlace(place.environment, place.appId, ref), deadline);
    if (!move) throw reject('treasury/move_not_found');
    if (!isAtItsEnd(move) || (await isInBooks(place, move, deadline))) return move;
    const status = move.signature === null ? 'pending' : 'submitted';
    return { ...move, status, slot: null, errorCode: null };
  }

  async function isInBooks(place: AppPlace, move: MoveState, deadline: Deadline): Promise<boolean> {
    const { userId, currencyId, operation, key } = move;
    assert(currencyId !== null, 'a move of the treasury is of a currency');
    const account = { environment: place.environment, appId: place.appId, userId, currencyId };
    if (operation === 'deposit') {
      return move.status === 'failed' || accounts.isBooked(account, depositEntryId(key), deadline);
    }
    return (await accounts.findHold(account, cashOutHoldId(key), deadline)).standing === 'closed';
  }

  /** The player's net position, and what the treasury holds beside what is owed to all players of the app. */
  async function balance(
    place: AppPlace,
    request: Pick<TransferRequest, 'userId' | 'currency'>,
    context: Requester,
  ): Promise<TreasuryBalance> {
    const { environment, appId } = place;
    const { currency, userId } = await subjectOf(place, request, context);
    const { mint, chain } = onChainOf(place, currency);
    const { address } = await dependencies.treasuryOf(place, contextOf(context));
    const account = { environment, appId, userId, currencyId: currency.id };
    const player = await accounts.external(account, context);
    // Before the chain: what the books have of a deposit then, the chain has had for longer.
    const books = await dependencies.booksOf({ environment, appId, currencyId: currency.id });
    const onChain = await finalFundsOf(chain, address, mint);
    return { userId, currency: currency.id, ...player, treasury: { address, onChain, ...books } };
  }

  /** Throws `users/not_found`, `treasury/unknown_currency`. */
  async function subjectOf(
    { appId, environment, scopeId }: AppPlace,
    { userId, currency: currencyId }: Pick<TransferRequest, 'userId' | 'currency'>,
    deadline: Deadline,
  ): Promise<Subject> {
    const user = { environment, scopeId, userId };
    const { status: standing } = await users.show(user, deadline);
    const currency = await dependencies.currencyById(appId, currencyId);
    if (!currency) throw reject('treasury/unknown_currency');
    return { user, userId, standing, currency };
  }

  /** The answer when the ref was used already; throws when that was with other content. */
  async function requestedBefore(
    { environment, appId }: AppPlace,
    operation: Operation,
    request: TransferRequest,
    deadline: Deadline,
  ): Promise<Outcome<MoveState> | undefined> {
    const move = await moves.find(treasuryMovePlace(environment, appId, request.ref), deadline);
    if (!move) return undefined;
    const field = firstDifference(move, operation, request);
    if (field) throw conflictOf(request.ref, field);
    return { answer: asRequested(move), replayed: true, appended: [] };
  }

  /** The state checks, and between whom a move would be. */
  async function partiesOf(place: AppPlace, { user, standing, currency }: Subject, context: Requester) {
    if (standing !== 'active') await users.requireActive(user, context);
    const { mint, chain } = onChainOf(place, currency);
    const wallet = await dependencies.walletOf(user, context);
    if (!wallet) throw new Rejection('wallets/no_wallet');
    const treasury = await dependencies.treasuryOf(place, contextOf(context));
    return { wallet, treasury, mint, chain };
  }

  /** Throws `treasury/currency_not_on_chain`, `chain/not_configured`. */
  function onChainOf({ environment }: AppPlace, currency: TreasuryCurrency) {
    const mint = currency.mint[environment];
    if (mint === null) throw reject('treasury/currency_not_on_chain');
    return { mint, chain: dependencies.chainOf(environment) };
  }

  function contextOf(request: Requester, occurredAt = isoTimeOf(clock)): CommandContext {
    return requestedBy(request, occurredAt);
  }
}

interface Subject {
  readonly user: UserPlace;
  readonly userId: string;
  readonly standing: Standing;
  readonly currency: TreasuryCurrency;
}

type GoOnFrom =
  | {
      readonly standing: 'open';
      readonly hold: { readonly amount: bigint };
      readonly cause: StreamEvent;
      readonly outcome?: 'held' | 'alreadyHeld';
    }
  | { readonly standing: 'closed' };

/** By the API's name and in its order. */
function firstDifference(
  move: MoveState,
  operation: Operation,
  { userId, currency, amount }: TransferRequest,
): string | undefined {
  if (move.operation !== operation) return 'operation';
  if (move.userId !== userId) return 'userId';
  if (move.currencyId !== currency) return 'currency';
  return move.amount === amount ? undefined : 'amount';
}

const conflictOf = (key: string, field: string) => reject('treasury/idempotency_conflict', { key, field });

const walletPlaceOf = ({ walletId, ownerId }: PayingWallet) => ({ walletId, ownerId });

/** It has ended since it was looked up: the user is refused as one who has none. */
function asWithoutWallet(error: unknown): never {
  if (error instanceof Rejection && error.code === 'wallets/not_active') {
    throw new Rejection('wallets/no_wallet');
  }
  throw error;
}

const isAtItsEnd = ({ status }: MoveState) => status === 'confirmed' || status === 'failed';
