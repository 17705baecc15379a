/**
 * Money between users' wallets and the app's treasury, and how it gets into the books: a deposit once the chain has
 * confirmed it, a cash-out through the hold that it began with. Source: docs/api.md, Treasury; ADR 0006.
 */
import assert from 'node:assert/strict';
import { type Accounts, cashOutHoldId, depositEntryId } from '@coffer/accounts';
import type { Deadline, Requester, StreamEvent } from '@coffer/event-store';
import type { AppPlace } from '@coffer/kernel';
import { type MoveState, treasuryMovePlace } from '@coffer/moves';
import { type CashOutDependencies, createCashOuts } from './cashOuts.ts';
import { createDeposits } from './deposits.ts';
import { reject } from './errors.ts';
import { endOfMove } from './moveFacts.ts';
import { finalFundsOf } from './onChain.ts';
import { createParties } from './parties.ts';
import type { TransferRequest, TreasuryBalance } from './schemas.ts';

/** What the treasury owes in a currency, and what is signed but still in the books, at the same moment. */
export interface TreasuryBooks {
  readonly liabilities: bigint;
  readonly inFlight: bigint;
}

export interface TreasuryDependencies extends CashOutDependencies {
  readonly accounts: Pick<
    Accounts,
    'figures' | 'hold' | 'findHold' | 'closeHold' | 'creditDeposit' | 'isBooked' | 'external'
  >;
  readonly booksOf: (
    place: Pick<AppPlace, 'appId' | 'environment'> & { readonly currencyId: number },
  ) => Promise<TreasuryBooks>;
}

export type Treasury = ReturnType<typeof createTreasury>;

export function createTreasury(dependencies: TreasuryDependencies) {
  const { moves, accounts } = dependencies;
  const parties = createParties(dependencies);
  const { deposit } = createDeposits(dependencies, parties);
  const cashOuts = createCashOuts(dependencies, parties);

  return {
    deposit,
    withdraw: cashOuts.withdraw,
    show,
    balance,
    carryOut: { cashOut: cashOuts.carryOut, book },
  };

  /** Books what the end of a move means for the player's account. */
  async function book(cause: StreamEvent, deadlineMs: number): Promise<void> {
    const end = endOfMove(cause);
    assert(end, `${cause.type} of ${cause.stream} is not the end of a move of the treasury`);
    const { account, operation, ref, amount, isConfirmed } = end;
    if (operation === 'cashOut') {
      const payout = isConfirmed ? 0n : amount;
      await accounts.closeHold(account, { holdId: cashOutHoldId(ref), payout }, cause, deadlineMs);
    } else if (isConfirmed) {
      await accounts.creditDeposit(account, { ref, amount }, cause, deadlineMs);
    }
  }

  /** The move as it is now; as ended only once that is in the books. Throws `treasury/move_not_found`. */
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

  /** The player's net position, and what the treasury holds next to what is owed to all players of the app. */
  async function balance(
    place: AppPlace,
    request: Pick<TransferRequest, 'userId' | 'currency'>,
    context: Requester,
  ): Promise<TreasuryBalance> {
    const { environment, appId } = place;
    const { currency, userId } = await parties.subjectOf(place, request, context);
    const { mint, chain } = parties.onChainOf(place, currency);
    const { address } = await dependencies.treasuryOf(place, parties.contextOf(context));
    const account = { environment, appId, userId, currencyId: currency.id };
    const player = await accounts.external(account, context);
    // Before the chain, so that every deposit in these books is already on the chain.
    const books = await dependencies.booksOf({ environment, appId, currencyId: currency.id });
    const onChain = await finalFundsOf(chain, address, mint);
    return {
      userId,
      currency: currency.id,
      ...player,
      net: player.deposited - player.withdrawn,
      treasury: { address, onChain, ...books, surplus: onChain + books.inFlight - books.liabilities },
    };
  }
}

const isAtItsEnd = ({ status }: MoveState) => status === 'confirmed' || status === 'failed';
