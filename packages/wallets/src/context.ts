/** Keys in our custody: those of the players' wallets and of the apps' own wallets, and what is signed with them. */
import type { Deadline } from '@coffer/event-store';
import { defineContext, isDatabaseAway, type Platform, someStream } from '@coffer/host';
import type { SessionCaller } from '@coffer/http';
import { type Environment, Rejection, type UserPlace } from '@coffer/kernel';
import { createMoves, type RentSponsor } from '@coffer/moves';
import type { AppDirectory } from '@coffer/portal';
import { caughtUpSince, movesUnderWayOfWallet } from '@coffer/read-models';
import type { Chains } from '@coffer/solana';
import type { Users } from '@coffer/users';
import { admittedMoveReactions } from './admittedMoves.reactions.ts';
import { createAdmittedMoves } from './admittedMoves.ts';
import { createChainWallets } from './chainWallets.ts';
import { destroyOldKeysRegularly } from './destroyOldKeys.ts';
import { wallet } from './domain/wallet.ts';
import { walletsErrors } from './errors.ts';
import { createExportGuard } from './exportGuard.ts';
import { createExports } from './exports.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { adoptMasterKeys } from './masterKeyVersions.ts';
import { walletMigrations } from './migrations.ts';
import { createOperatorWallets, operatorWallet } from './operator/index.ts';
import { operatorWalletEndpoints } from './operatorRoutes.ts';
import { ownAddressesOf } from './ownAddresses.ts';
import { playerWalletEndpoints } from './playerRoutes.ts';
import { DEFAULT_SIGNING_LIMITS } from './policy/limits.ts';
import { startRewrapper } from './rewrap.ts';
import { masterKeyEndpoints } from './routes.ts';
import { walletAt } from './sealedKeys.ts';
import { createSigner } from './signer.ts';
import { createTransactionSigning } from './signing.ts';
import { signingEndpoints } from './signingRoutes.ts';
import { provisionsSuccessors } from './successors.reactions.ts';
import { createWalletMigration } from './walletMigration.ts';
import { createWallets, identityWalletsOf } from './wallets.ts';

/** Moves that the rows show as in flight: from a former release, or because the rows are slightly behind. */
const MOST_FORMER_MOVES = 10_000;

export interface WalletsNeeds extends Platform {
  readonly directory: AppDirectory;
  readonly users: Users;
  readonly rentSponsor: RentSponsor;
  readonly chains: Chains;
  /** Those that this process may use; none if it needs none. */
  readonly masterKeys: MasterKeys;
  /** Present if the installation makes and keeps its own. */
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
}

type Place = Pick<SessionCaller, 'appId' | 'environment'>;

export const walletsContext = defineContext({
  name: 'wallets',
  errors: walletsErrors,
  migrations: [walletMigrations],
  streams: [someStream(wallet), someStream(operatorWallet)],
  create(needs: WalletsNeeds) {
    const { pool, store, handler, clock, failPoint, logger, headAtStart } = needs;
    const { directory, users, rentSponsor, chains, masterKeys } = needs;
    const { currencies } = directory;
    const wallets = createWallets({ pool, handler, masterKeys, clock, failPoint });
    const moves = createAdmittedMoves({
      moves: createMoves({ handler, store }),
      handler,
      store,
      failPoint,
      async formerMovesOf(walletId) {
        // Moves from a former release are in the rows only, and all of them were requested before this process started.
        if (!(await caughtUpSince(pool, store, headAtStart))) {
          const reasons = ['The read models have not caught up since the start.'];
          throw new Rejection('service/not_ready', { reasons });
        }
        return movesUnderWayOfWallet(pool, walletId, MOST_FORMER_MOVES);
      },
    });
    const signer = createSigner({ pool, masterKeys });
    const operatorWallets = createOperatorWallets({ pool, handler, masterKeys, clock });
    const exports = createExports({ pool, handler, wallets, moves, masterKeys, clock, failPoint });
    const migration = createWalletMigration({
      handler,
      wallets,
      moves,
      rentSponsor,
      clock,
      chainOf: chains.of,
      currencies,
    });
    const chainWallets = createChainWallets({
      wallets,
      moves,
      rentSponsor,
      ownAddressesOf: ownAddressesOf(operatorWallets),
      clock,
      chainOf: chains.of,
      currencies,
    });
    const exportGuard = createExportGuard({
      clock,
      stepUpSeconds: (place) => setting(place, 'exportStepUpSeconds'),
      exportFloor: (place) => setting(place, 'exportFloor'),
      currencies,
      hasMovesInFlight: moves.isAnyInFlight,
      chainOf: chains.of,
    });
    const rewrapper = startRewrapper({
      pool,
      masterKeys,
      onDone: (report) => logger.info(report, 'keys of wallets are under the current master key'),
      onTrouble: (error) =>
        logger[isDatabaseAway(error) ? 'warn' : 'error'](
          { err: error },
          'a key of a wallet was not brought under the current master key',
        ),
    });
    const setting = <Key extends Parameters<AppDirectory['setting']>[2]>(
      { appId, environment }: Place,
      key: Key,
    ) => directory.setting(appId, environment, key);
    const withdrawStepUpSeconds = (place: Place) => setting(place, 'withdrawStepUpSeconds');

    return {
      provides: {
        moves,
        signer,
        operatorWallets,
        walletAt: walletAt(pool),
        /** Whose signature pays for a transfer of the treasury. */
        payingWallets: {
          /** The user's active wallet, read from a confirmed current state; undefined if there is none. */
          async ofUser(user: UserPlace, deadline: Deadline) {
            const found = (await wallets.walletsOf(user, deadline)).find(({ status }) => status === 'active');
            return found && { walletId: found.id, ownerId: user.scopeId, address: found.address };
          },
          /** Makes it if there is none. Throws `wallets/keys_unavailable`. */
          ofTreasury: (place: Place, context: Parameters<typeof operatorWallets.provision>[1]) =>
            operatorWallets.provision({ ...place, role: 'treasury' }, context),
        },
        /** What a sign-in needs from wallets. */
        identityWallets: identityWalletsOf(wallets),
      },
      endpoints: [
        ...playerWalletEndpoints({
          wallets,
          chainWallets,
          exports,
          exportGuard,
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
          settingsOf: async (place) => ({
            serverSigningEnabled: await setting(place, 'serverSigningEnabled'),
            programAllowList: await setting(place, 'programAllowList'),
          }),
          clock,
          withdrawStepUpSeconds,
        }),
        ...operatorWalletEndpoints({ directory, users, migration, operatorWallets, chains, clock }),
        ...masterKeyEndpoints({
          pool,
          masterKeys,
          clock,
          makeNext: needs.makeNextMasterKey,
          onRotated: rewrapper.wake,
        }),
      ],
      reactions: { identities: [provisionsSuccessors(wallets), ...admittedMoveReactions(moves)] },
      workers: [
        {
          async start() {
            await adoptMasterKeys(pool, masterKeys, { actor: 'service', requestId: 'start', at: clock() });
            rewrapper.wake();
            return { stop: rewrapper.stop };
          },
        },
        { start: () => ({ stop: destroyOldKeysRegularly(exports, logger) }) },
      ],
    };
  },
});
