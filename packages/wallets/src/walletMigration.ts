/**
 * An operator gives a user another address, because the old one is in danger or is to be abandoned for another reason.
 * What the old wallet holds is sent on; the old key stays, since strangers may still send there.
 * Source: contract, The command line (`wallets migrate`).
 */
import type { CommandContext, CommandHandler, Deadline } from '@coffer/event-store';
import { type Clock, type Environment, isoTimeOf, type UserPlace } from '@coffer/kernel';
import { isRentOfApp, type MoveState, type Moves, type RentSponsor, sweepPlace } from '@coffer/moves';
import type { Currency } from '@coffer/portal';
import { type Chain, canSpare, mintDecimals, movableOf, NATIVE_DECIMALS, planTransfer } from '@coffer/solana';
import type { ProvisionedWallet } from './domain/wallet.state.ts';
import { wallet } from './domain/wallet.ts';
import { walletStreamName } from './domain/walletIds.ts';
import { reject } from './errors.ts';
import type { WalletView } from './wallet.resource.ts';
import { placeOf, viewOf, type Wallets } from './wallets.ts';

interface Migrated {
  readonly from: WalletView;
  readonly to: WalletView;
  /** One for each asset of the old wallet: just requested, or not yet at its end. */
  readonly sweeps: readonly MoveState[];
}

export interface WalletMigration {
  /**
   * Idempotent on `ref`: a repeat never changes the address, and sends on what has since arrived at the old one; it
   * answers how things stand now. Throws `wallets/not_found` if the user has no wallet, `chain/not_configured`.
   */
  readonly migrate: (
    place: UserPlace & { readonly appId: string },
    ref: string,
    context: CommandContext,
  ) => Promise<Migrated>;
}

/** The most sweeps of one mint: finding the current one looks at each before it. */
const MOST_ROUNDS = 1_000;

interface Holding {
  readonly mint: string;
  readonly decimals: number;
  readonly amount: bigint;
}

export function createWalletMigration({
  handler,
  wallets,
  moves,
  rentSponsor,
  clock,
  chainOf,
  currencies,
}: {
  readonly handler: Pick<CommandHandler, 'execute'>;
  readonly wallets: Pick<Wallets, 'generationsOf' | 'successorOf' | 'provision'>;
  readonly moves: Moves;
  readonly rentSponsor: RentSponsor;
  readonly clock: Clock;
  /** Throws `chain/not_configured`. */
  readonly chainOf: (environment: Environment) => Chain;
  readonly currencies: (appId: string) => readonly Currency[] | Promise<readonly Currency[]>;
}): WalletMigration {
  return {
    async migrate(place, ref, context) {
      const chain = chainOf(place.environment);
      const all = await wallets.generationsOf(place, context);
      const before = all.find((one) => one.status === 'migrated' && one.ref === ref);
      const old = before ?? all.at(-1);
      if (!old) throw reject('wallets/not_found');

      if (!before) await end(place, old, ref, context);
      await wallets.provision(place, context);
      const now = await wallets.generationsOf(place, context);
      const [from, to] = [now.at(old.generation - 1), now.at(old.generation)];
      if (!from || !to) throw new Error(`${old.walletId} was migrated and no wallet follows it.`);
      // By the time of a repeat, the user may have yet another wallet.
      const sweeps = await sweep(chain, place, from, now.at(-1) ?? to, context);
      return { from: viewOf(place, from), to: viewOf(place, to), sweeps };
    },
  };

  async function end(owner: UserPlace, old: ProvisionedWallet, ref: string, context: CommandContext) {
    // The next key is durable before the event that names it.
    const successor = await wallets.successorOf(owner, old.generation);
    const stream = walletStreamName(placeOf(owner, old.generation));
    await handler.execute(wallet, stream, { type: 'MigrateWallet', ref, ...successor, at: clock() }, context);
  }

  async function sweep(
    chain: Chain,
    place: UserPlace & { readonly appId: string },
    from: ProvisionedWallet,
    to: ProvisionedWallet,
    context: CommandContext,
  ): Promise<readonly MoveState[]> {
    const { appId, environment, userId } = place;
    const known = await currencies(appId);
    const sweeps: MoveState[] = [];
    // Lamports that the old wallet pays for accounts of the new one are not sent on. Tokens come first.
    let rent = 0n;
    for (const { mint, decimals, amount: held } of await holdingsOf(chain, from.address)) {
      const amount = mint === 'native' ? held - rent : held;
      const transfer = { from: from.address, to: to.address, mint, decimals, amount };
      const plan = await planTransfer(chain, transfer);
      // Less than an account must hold stays: the old address's balance shows it.
      if (amount <= 0n || plan.outcome !== 'possible') continue;
      const currencyId = known.find((one) => one.mint[environment] === mint)?.id ?? null;
      const isOfApp = !plan.createsAccount || isRentOfApp({ operation: 'sweep', currencyId });
      const isOfWallet = !isOfApp && (await canSpare(chain, from.address, rent + plan.rent));
      if (isOfWallet) rent += plan.rent;
      const { key, movePlace, underWay } = await roundOf(place, from.walletId, mint, context);
      if (underWay) {
        sweeps.push(underWay);
        continue;
      }
      const sponsored = { moveId: movePlace.moveId, appId, environment, userId };
      // Strangers' tokens, whose accounts nobody pays for today: they stay until the next time.
      if (!isOfApp && !isOfWallet && !(await rentSponsor.reserve(sponsored))) continue;
      const { answer } = await moves.request(
        movePlace,
        {
          operation: 'sweep',
          key,
          appId,
          userId,
          currencyId,
          mint,
          decimals,
          amount,
          from: { walletId: from.walletId, ownerId: place.scopeId, address: from.address },
          toAddress: to.address,
          requestedAt: isoTimeOf(clock),
          admittedBy: { walletId: to.walletId, ownerId: place.scopeId },
        },
        context,
      );
      sweeps.push(answer);
    }
    return sweeps;
  }

  /** The unfinished sweep of the mint, or the key of the next one. */
  async function roundOf(
    { environment, scopeId }: UserPlace,
    walletId: string,
    mint: string,
    context: Deadline,
  ) {
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      const key = `sweep:${mint}:${round}`;
      const movePlace = sweepPlace(environment, scopeId, walletId, key);
      const found = await moves.find(movePlace, context);
      if (!found) return { key, movePlace, underWay: undefined };
      if (found.status === 'pending' || found.status === 'submitted')
        return { key, movePlace, underWay: found };
    }
    throw new Error(`${walletId} was swept ${MOST_ROUNDS} times.`);
  }
}

/**
 * What one move can send of each: tokens from the largest accounts, as many as fit into it; a repeat sends the others.
 */
async function holdingsOf(chain: Chain, address: string): Promise<readonly Holding[]> {
  const [[account], held] = await Promise.all([
    chain.accounts([address], 'confirmed'),
    chain.tokenAccountsOf(address, 'confirmed'),
  ]);
  const tokens = [...Map.groupBy(held, ({ mint }) => mint)].flatMap(([mint, accounts]) => {
    const amount = movableOf(accounts).reduce((sum, one) => sum + one.amount, 0n);
    return amount > 0n ? [{ mint, amount }] : [];
  });
  const decimalsOf = await mintDecimals(
    chain,
    tokens.map(({ mint }) => mint),
  );
  const holdings: Holding[] = tokens.flatMap(({ mint, amount }) => {
    const decimals = decimalsOf.get(mint);
    return decimals === undefined ? [] : [{ mint, decimals, amount }];
  });
  const lamports = account?.lamports ?? 0n;
  if (lamports > 0n) holdings.push({ mint: 'native', decimals: NATIVE_DECIMALS, amount: lamports });
  return holdings;
}
