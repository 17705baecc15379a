/** From the user's wallet to the treasury; booked once the chain has confirmed it. */
import type { Outcome, Requester } from '@coffer/event-store';
import { type AppPlace, type FailPoint, isoTimeOf, Rejection } from '@coffer/kernel';
import { type MoveState, treasuryMovePlace } from '@coffer/moves';
import { requirePossible } from './onChain.ts';
import { type Parties, type PartiesDependencies, walletPlaceOf } from './parties.ts';
import type { TransferRequest } from './schemas.ts';

export interface DepositDependencies extends PartiesDependencies {
  readonly failPoint: FailPoint;
}

export function createDeposits({ moves, clock, failPoint }: DepositDependencies, parties: Parties) {
  return { deposit };

  /** Idempotent on `ref`. */
  async function deposit(
    place: AppPlace,
    request: TransferRequest,
    context: Requester,
  ): Promise<Outcome<MoveState>> {
    const subject = await parties.subjectOf(place, request, context);
    const replay = await parties.requestedBefore(place, 'deposit', request, context);
    if (replay) return replay;

    const { wallet, treasury, mint, chain } = await parties.partiesOf(place, subject, context);
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
        parties.contextOf(context, requestedAt),
      )
      .catch(asWithoutWallet);
    failPoint('deposit.requested');
    return outcome;
  }
}

/** It has ended since it was looked up: the user is refused like one without a wallet. */
function asWithoutWallet(error: unknown): never {
  if (error instanceof Rejection && error.code === 'wallets/not_active') {
    throw new Rejection('wallets/no_wallet');
  }
  throw error;
}
