/** Between which wallets a movement of the treasury would be, and whether it was requested before. */
import {
  type CommandContext,
  type Deadline,
  type Outcome,
  type Requester,
  requestedBy,
} from '@coffer/event-store';
import {
  type AppPlace,
  type Clock,
  type Environment,
  isoTimeOf,
  Rejection,
  type UserPlace,
} from '@coffer/kernel';
import { asRequested, type MoveState, type Moves, type PayingWallet, treasuryMovePlace } from '@coffer/moves';
import type { Chain } from '@coffer/solana';
import type { Standing, Users } from '@coffer/users';
import { reject } from './errors.ts';
import type { TransferRequest } from './schemas.ts';

export interface TreasuryCurrency {
  readonly id: number;
  readonly decimals: number;
  /** `native`, a base58 mint address, or null if the currency is not on that chain. */
  readonly mint: { readonly [Of in Environment]: string | null };
}

export interface PartiesDependencies {
  readonly moves: Moves;
  readonly clock: Clock;
  readonly users: Pick<Users, 'show' | 'requireActive'>;
  readonly currencyById: (
    appId: string,
    currencyId: number,
  ) => TreasuryCurrency | undefined | Promise<TreasuryCurrency | undefined>;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
  /** The user's active wallet, from a confirmed current state; undefined if there is none. */
  readonly walletOf: (user: UserPlace, deadline: Deadline) => Promise<PayingWallet | undefined>;
  /** The app's treasury, made if there is none. Throws `wallets/keys_unavailable`. */
  readonly treasuryOf: (
    place: Pick<AppPlace, 'appId' | 'environment'>,
    context: CommandContext,
  ) => Promise<PayingWallet>;
}

type Operation = 'deposit' | 'cashOut';

export interface Subject {
  readonly user: UserPlace;
  readonly userId: string;
  readonly standing: Standing;
  readonly currency: TreasuryCurrency;
}

export type Parties = ReturnType<typeof createParties>;

export function createParties({ moves, clock, users, ...dependencies }: PartiesDependencies) {
  return { subjectOf, requestedBefore, partiesOf, onChainOf, contextOf };

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

  /** The answer if the ref was used already; throws if that was with other content. */
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

  /** Makes the state checks, and returns the parties of the move. */
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

/** By the API's names and in its order. */
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

export const conflictOf = (key: string, field: string) =>
  reject('treasury/idempotency_conflict', { key, field });

/** The place of the wallet that admits the move. */
export const walletPlaceOf = ({ walletId, ownerId }: PayingWallet) => ({ walletId, ownerId });
