/** Money between players' wallets and the app's treasury, and how it gets into the books. */
import { type Accounts, type HoldActs, settlesDue } from '@coffer/accounts';
import type { CommandContext, Deadline } from '@coffer/event-store';
import { defineContext, type Platform } from '@coffer/host';
import type { AppPlace, UserPlace } from '@coffer/kernel';
import type { Moves, PayingWallet, RentSponsor } from '@coffer/moves';
import type { AppDirectory } from '@coffer/portal';
import { currencyBooks } from '@coffer/read-models';
import type { Chains } from '@coffer/solana';
import type { Users } from '@coffer/users';
import { treasuryErrors } from './errors.ts';
import { finalFundsOf } from './onChain.ts';
import { treasuryEndpoints } from './routes.ts';
import { cashOutHoldAct, treasuryDues } from './treasury.reactions.ts';
import { createTreasury } from './treasury.ts';

export interface TreasuryNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly accounts: Accounts;
  readonly holds: HoldActs;
  readonly moves: Moves;
  readonly rentSponsor: RentSponsor;
  readonly chains: Chains;
  readonly payingWallets: {
    /** The user's active wallet, from a confirmed current state; undefined if there is none. */
    readonly ofUser: (user: UserPlace, deadline: Deadline) => Promise<PayingWallet | undefined>;
    /** The app's own, made if there is none. Throws `wallets/keys_unavailable`. */
    readonly ofTreasury: (
      place: Pick<AppPlace, 'appId' | 'environment'>,
      context: CommandContext,
    ) => Promise<PayingWallet>;
  };
}

export const treasuryContext = defineContext({
  name: 'treasury',
  errors: treasuryErrors,
  create({ pool, clock, failPoint, directory, chains, payingWallets, ...needs }: TreasuryNeeds) {
    const { users, accounts, moves, rentSponsor } = needs;
    const treasury = createTreasury({
      moves,
      rentSponsor,
      clock,
      failPoint,
      accounts,
      users,
      currencyById: directory.currencyById,
      chainOf: chains.of,
      walletOf: payingWallets.ofUser,
      treasuryOf: payingWallets.ofTreasury,
      booksOf: (place) => currencyBooks(pool, place),
    });
    needs.holds.register('cashout', cashOutHoldAct(treasury));
    return {
      provides: { finalFundsOf },
      endpoints: treasuryEndpoints(treasury),
      reactions: { holds: treasuryDues(treasury).map(settlesDue) },
    };
  },
});
