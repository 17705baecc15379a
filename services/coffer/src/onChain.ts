/**
 * What touches a chain, wired: the treasury, players' wallets, signatures, and the moves that all of them ask for. The
 * chain worker that carries moves out is started apart, by whoever has that role.
 */
import type { AccountDue, Accounts, HoldAct } from '@coffer/accounts';
import { createRentSponsor } from '@coffer/chain-worker';
import type { Reaction } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { CommandHandler, EventStore } from '@coffer/event-store';
import type { Endpoint, Logger, SessionCaller } from '@coffer/http';
import { type Clock, type FailPoint, Rejection, type UserPlace } from '@coffer/kernel';
import { createMoves, type PayingWallet, type RentSponsor } from '@coffer/moves';
import type { AppDirectory } from '@coffer/portal';
import { currencyBooks, movesUnderWayOfWallet } from '@coffer/read-models';
import { cashOutHoldAct, createTreasury, treasuryDues, treasuryEndpoints } from '@coffer/treasury';
import type { Users } from '@coffer/users';
import {
  admittedMoveReactions,
  createAdmittedMoves,
  createChainWallets,
  createExportGuard,
  createExports,
  createOperatorWallets,
  createSigner,
  createTransactionSigning,
  createWalletMigration,
  DEFAULT_SIGNING_LIMITS,
  type MasterKeys,
  type OperatorWallets,
  ownAddressesOf,
  playerWalletEndpoints,
  provisionsSuccessors,
  type Signer,
  signingEndpoints,
  type WalletMigration,
  type Wallets,
} from '@coffer/wallets';
import type { Chains } from './chains.ts';

/** Keys that were handed out a day ago are destroyed so often, so many at a time. */
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_LIMIT = 100;
/** Moves of a wallet that rows show as under way: of a former release, or because the rows are a moment old. */
const MOST_FORMER_MOVES = 10_000;

export interface OnChainOptions {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly handler: CommandHandler;
  readonly clock: Clock;
  readonly failPoint: FailPoint;
  readonly logger: Logger;
  readonly chains: Chains;
  readonly masterKeys: MasterKeys;
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly wallets: Wallets;
  readonly accounts: Accounts;
  /** Whether the rows show all that was in the log when this service started. */
  readonly hasRowsOfStart: () => Promise<boolean>;
}

export interface OnChain {
  readonly endpoints: readonly Endpoint[];
  /** What holds of cash-outs are for, and what the ends of moves owe to accounts. */
  readonly holdActs: { readonly cashout: HoldAct };
  readonly dues: readonly AccountDue[];
  /** What follows from the end of a wallet, and from the moves that one has admitted. */
  readonly walletReactions: readonly Reaction[];
  readonly operatorWallets: OperatorWallets;
  readonly migration: WalletMigration;
  readonly rentSponsor: RentSponsor;
  readonly signer: Signer;
  readonly stop: () => Promise<void>;
}

export function wireOnChain(options: OnChainOptions): OnChain {
  const { pool, store, handler, clock, failPoint, chains, masterKeys, directory, users, wallets, accounts } =
    options;
  const moves = createAdmittedMoves({
    moves: createMoves({ handler, store }),
    handler,
    store,
    failPoint,
    formerMovesOf: async (walletId) => {
      await requireRows(options.hasRowsOfStart);
      return movesUnderWayOfWallet(pool, walletId, MOST_FORMER_MOVES);
    },
  });
  const rentSponsor = createRentSponsor({
    pool,
    capsOf: async ({ appId, environment }) => ({
      perUser: await directory.setting(appId, environment, 'rentSponsorPerUserPerDay'),
      perApp: await directory.setting(appId, environment, 'rentSponsorPerAppPerDay'),
    }),
  });
  const signer = createSigner({ pool, masterKeys });
  const operatorWallets = createOperatorWallets({ pool, handler, masterKeys, clock });
  const migration = createWalletMigration({
    handler,
    wallets,
    moves,
    rentSponsor,
    clock,
    chainOf: chains.of,
    currencies: directory.currencies,
  });
  const exports = createExports({ pool, handler, wallets, moves, masterKeys, clock, failPoint });

  const activeWallet = async (owner: UserPlace, deadline: { readonly deadlineMs: number }) =>
    (await wallets.walletsOf(owner, deadline)).find(({ status }) => status === 'active');

  const treasury = createTreasury({
    moves,
    rentSponsor,
    clock,
    failPoint,
    accounts,
    users,
    currencyById: directory.currencyById,
    chainOf: chains.of,
    async walletOf(user, deadline): Promise<PayingWallet | undefined> {
      const wallet = await activeWallet(user, deadline);
      return wallet && { walletId: wallet.id, ownerId: user.scopeId, address: wallet.address };
    },
    treasuryOf: (place, context) => operatorWallets.provision({ ...place, role: 'treasury' }, context),
    booksOf: (place) => currencyBooks(pool, place),
  });
  const withdrawStepUpSeconds = ({ appId, environment }: Pick<SessionCaller, 'appId' | 'environment'>) =>
    directory.setting(appId, environment, 'withdrawStepUpSeconds');

  const endpoints: readonly Endpoint[] = [
    ...treasuryEndpoints(treasury),
    ...playerWalletEndpoints({
      wallets,
      chainWallets: createChainWallets({
        wallets,
        moves,
        rentSponsor,
        ownAddressesOf: ownAddressesOf(operatorWallets),
        clock,
        chainOf: chains.of,
        currencies: directory.currencies,
      }),
      exports,
      exportGuard: createExportGuard({
        clock,
        stepUpSeconds: ({ appId, environment }) =>
          directory.setting(appId, environment, 'exportStepUpSeconds'),
        exportFloor: ({ appId, environment }) => directory.setting(appId, environment, 'exportFloor'),
        currencies: directory.currencies,
        hasMovesInFlight: moves.isAnyInFlight,
        chainOf: chains.of,
      }),
      clock,
      withdrawStepUpSeconds,
    }),
    ...signingEndpoints({
      sign: createTransactionSigning({
        pool,
        signer,
        chainOf: chains.of,
        limits: DEFAULT_SIGNING_LIMITS,
      }),
      requireActive: users.requireActive,
      requireKnown: users.show,
      wallets,
      settingsOf: async ({ appId, environment }) => ({
        serverSigningEnabled: await directory.setting(appId, environment, 'serverSigningEnabled'),
        programAllowList: await directory.setting(appId, environment, 'programAllowList'),
      }),
      clock,
      withdrawStepUpSeconds,
    }),
  ];

  return {
    endpoints,
    holdActs: { cashout: cashOutHoldAct(treasury) },
    dues: treasuryDues(treasury),
    walletReactions: [provisionsSuccessors(wallets), ...admittedMoveReactions(moves)],
    operatorWallets,
    migration,
    rentSponsor,
    signer,
    stop: destroyRegularly(() => exports.destroyOldKeys(SWEEP_LIMIT), options.logger),
  };
}

/** Moves of a former release are in the rows alone, and all of them were requested before this service started. */
async function requireRows(hasRowsOfStart: () => Promise<boolean>): Promise<void> {
  if (await hasRowsOfStart()) return;
  throw new Rejection('service/not_ready', {
    reasons: ['The read models have not caught up since the start.'],
  });
}

function destroyRegularly(destroy: () => Promise<number>, logger: Logger): () => Promise<void> {
  let underWay = Promise.resolve();
  // Also at once: nobody knows for how long nothing ran.
  destroyNow();
  const timer = setInterval(destroyNow, SWEEP_INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return underWay;
  };

  function destroyNow() {
    underWay = destroy().then(
      (count) => {
        if (count > 0) logger.info({ count }, 'keys that their users took a day ago were destroyed');
      },
      (error: unknown) => logger.warn({ err: error }, 'keys that their users took were not destroyed'),
    );
  }
}
