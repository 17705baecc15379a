/**
 * What a player does with a wallet on the chain: look at it and send from it. Every call asks the chain, so that
 * anything sent there shows at once. Source: contract, Wallets.
 */

import assert from 'node:assert/strict';
import type { CommandContext, Deadline } from '@coffer/event-store';
import type { Environment, UserPlace } from '@coffer/kernel';
import { type Clock, isoTimeOf } from '@coffer/kernel';
import { type MoveState, type Moves, type RentSponsor, withdrawalPlace, withRentPaid } from '@coffer/moves';
import type { Currency } from '@coffer/portal';
import {
  type Address,
  type Chain,
  mintDecimals,
  NATIVE_DECIMALS,
  planTransfer,
  type TokenAccount,
  type TransferProblem,
} from '@coffer/solana';
import { reject } from './errors.ts';
import { isTokenAccountOf, type OwnAddressesOf } from './ownAddresses.ts';
import type { WalletBalance, WalletView } from './wallet.resource.ts';
import type { Wallets } from './wallets.ts';

/** A wallet that strangers filled with worthless tokens is shown in part. */
const MOST_TOKENS = 1_000;

/** By currency id or by mint; neither means the native currency. */
interface WantedAsset {
  readonly currency?: number | undefined;
  readonly mint?: string | undefined;
}

export interface WithdrawalRequest extends WantedAsset {
  readonly idempotencyKey: string;
  readonly toAddress: Address;
  readonly amount: bigint;
}

/** A wallet of the caller in the app of the sign-in. */
export interface PlayerPlace extends UserPlace {
  readonly appId: string;
}

export interface ChainWallets {
  /** Throws `wallets/not_found`, `chain/not_configured`. */
  readonly balance: (place: PlayerPlace, walletId: string, context: Deadline) => Promise<WalletBalance>;
  /**
   * Requests the transfer, once per `idempotencyKey` of the wallet; answers the move as it was requested. Throws
   * `wallets/not_found`, `wallets/unknown_currency`, `wallets/idempotency_conflict`, `wallets/not_active`,
   * `wallets/own_address`, `wallets/invalid_address`, `wallets/insufficient_funds`, `wallets/below_rent_minimum`,
   * `wallets/mint_not_supported`, `wallets/account_frozen`, `wallets/rent_not_sponsored`, `chain/not_configured`.
   * `requireAllowed` is called before something new is requested, never for a repeat.
   */
  readonly withdraw: (
    place: PlayerPlace,
    walletId: string,
    request: WithdrawalRequest,
    requireAllowed: () => Promise<void>,
    context: CommandContext,
  ) => Promise<{ readonly answer: MoveState; readonly replayed: boolean }>;
  /** Throws `wallets/not_found`, `wallets/withdrawal_not_found`. */
  readonly withdrawal: (
    place: PlayerPlace,
    walletId: string,
    moveId: string,
    context: Deadline,
  ) => Promise<MoveState>;
}

export interface ChainWalletsOptions {
  readonly wallets: Pick<Wallets, 'walletsOf'>;
  readonly moves: Moves;
  readonly rentSponsor: RentSponsor;
  readonly ownAddressesOf: OwnAddressesOf;
  readonly clock: Clock;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
  readonly currencies: (appId: string) => readonly Currency[] | Promise<readonly Currency[]>;
}

export function createChainWallets(options: ChainWalletsOptions): ChainWallets {
  const { wallets, moves, rentSponsor: sponsor, clock, chainOf, currencies } = options;

  return {
    async balance(place, walletId, context) {
      const { id, address } = await walletOf(place, walletId, context);
      const { environment } = place;
      const chain = chainOf(environment);
      const [[account], held, known] = await Promise.all([
        chain.accounts([address], 'confirmed'),
        chain.tokenAccountsOf(address, 'confirmed'),
        currencies(place.appId),
      ]);
      const labelOf = labelsIn(known, environment);
      return {
        walletId: id,
        address,
        environment,
        native: {
          symbol: 'SOL',
          amount: account?.lamports ?? 0n,
          decimals: NATIVE_DECIMALS,
          ...labelOf('native'),
        },
        tokens: await tokensOf(chain, held, labelOf),
      };
    },

    async withdraw(place, walletId, request, requireAllowed, context) {
      const wallet = await walletOf(place, walletId, context);
      const { environment, appId, scopeId, userId } = place;
      const { idempotencyKey: key, amount, toAddress } = request;
      const move = withdrawalPlace(environment, scopeId, walletId, key);
      const before = await moves.find(move, context);
      const asset = await assetOf(place, request, before);
      const order = {
        operation: 'withdraw',
        key,
        appId,
        userId,
        ...asset,
        amount,
        from: { walletId, ownerId: scopeId, address: wallet.address },
        toAddress,
        requestedAt: isoTimeOf(clock),
        admittedBy: { walletId, ownerId: scopeId },
      } as const;
      if (before) return moves.request(move, order, context);
      await requireAllowed();
      if (wallet.status !== 'active') throw reject('wallets/not_active', { status: wallet.status });
      const own = await options.ownAddressesOf(appId, context);
      if (own.includes(toAddress)) throw reject('wallets/own_address');
      const chain = chainOf(environment);
      const plan = await planTransfer(chain, { ...order, from: wallet.address, to: toAddress });
      if (plan.outcome === 'unacceptableRecipient') {
        const mints = mintsOf(await currencies(appId), order.mint);
        if (await isTokenAccountOf(own, toAddress, mints, chain)) throw reject('wallets/own_address');
      }
      if (plan.outcome !== 'possible') throw rejectionOf(plan, amount);
      return withRentPaid(
        { chain, sponsor },
        { moveId: move.moveId, appId, environment, userId, plan, wallet: wallet.address },
        () => moves.request(move, order, context),
      );
    },

    async withdrawal(place, walletId, moveId, context) {
      await walletOf(place, walletId, context);
      const { environment, scopeId } = place;
      const found = await moves.find({ environment, ownerId: scopeId, moveId }, context);
      if (found?.from.walletId !== walletId) throw reject('wallets/withdrawal_not_found');
      return found;
    },
  };

  async function walletOf(place: PlayerPlace, walletId: string, context: Deadline): Promise<WalletView> {
    const owned = await wallets.walletsOf(place, context);
    const found = owned.find(({ id }) => id === walletId);
    if (!found) throw reject('wallets/not_found');
    return found;
  }

  async function assetOf(
    { appId, environment }: PlayerPlace,
    { currency, mint }: WantedAsset,
    before: MoveState | undefined,
  ): Promise<{ readonly currencyId: number | null; readonly mint: string; readonly decimals: number }> {
    const known = await currencies(appId);
    if (currency !== undefined) {
      const wanted = known.find(({ id }) => id === currency);
      if (!wanted) throw reject('wallets/unknown_currency');
      const onChain = wanted.mint[environment];
      if (onChain === null) throw reject('wallets/currency_not_on_chain');
      return { currencyId: wanted.id, mint: onChain, decimals: wanted.decimals };
    }
    const wanted = mint ?? 'native';
    const labelled = known.find((one) => one.mint[environment] === wanted);
    if (labelled) return { currencyId: labelled.id, mint: wanted, decimals: labelled.decimals };
    if (wanted === 'native') return { currencyId: null, mint: wanted, decimals: NATIVE_DECIMALS };
    // A repeat is answered even when the chain is unreachable.
    if (before?.mint === wanted) return { currencyId: null, mint: wanted, decimals: before.decimals };
    const decimals = (await mintDecimals(chainOf(environment), [wanted])).get(wanted);
    if (decimals === undefined)
      throw reject('wallets/mint_not_supported', { reason: 'There is no such mint.' });
    return { currencyId: null, mint: wanted, decimals };
  }
}

/** Currencies of an app on either chain, and one other. */
const mintsOf = (known: readonly Currency[], another: string): readonly Address[] =>
  [...known.flatMap(({ mint }) => [mint.test, mint.live]), another].filter(
    (mint): mint is Address => mint !== null && mint !== 'native',
  );

function rejectionOf(problem: TransferProblem, amount: bigint) {
  switch (problem.outcome) {
    case 'insufficientFunds':
      return reject('wallets/insufficient_funds', { available: problem.available, amount });
    case 'belowRentMinimum':
      return reject('wallets/below_rent_minimum', { minimum: problem.minimum });
    case 'unacceptableRecipient':
      return reject('wallets/invalid_address', { reason: problem.reason });
    case 'unsupportedMint':
      return reject('wallets/mint_not_supported', { reason: problem.reason });
    case 'frozen':
      return reject('wallets/account_frozen', { account: problem.account });
    default:
      throw new assert.AssertionError({ message: 'no such problem', actual: problem satisfies never });
  }
}

type LabelOf = (mint: string) => Pick<WalletBalance['native'], 'currency' | 'currencyId'>;

/** If several currencies name one mint, the one with the lowest id labels it. */
function labelsIn(known: readonly Currency[], environment: Environment): LabelOf {
  return (mint) => {
    const found = known.find((one) => one.mint[environment] === mint);
    return { currency: found?.code ?? null, currencyId: found?.id ?? null };
  };
}

async function tokensOf(chain: Chain, held: readonly TokenAccount[], labelOf: LabelOf) {
  const amounts = new Map<Address, bigint>();
  for (const { mint, amount } of held) amounts.set(mint, (amounts.get(mint) ?? 0n) + amount);
  const mints = [...amounts.keys()]
    .sort((one, other) => rank(labelOf(one)) - rank(labelOf(other)))
    .slice(0, MOST_TOKENS);
  const decimals = await mintDecimals(chain, mints);
  return mints.flatMap((mint) => {
    const ofMint = decimals.get(mint);
    if (ofMint === undefined) return [];
    return [{ mint, amount: amounts.get(mint) ?? 0n, decimals: ofMint, ...labelOf(mint) }];
  });
}

const rank = ({ currencyId }: Pick<WalletBalance['native'], 'currencyId'>): number =>
  currencyId ?? Number.MAX_SAFE_INTEGER;
