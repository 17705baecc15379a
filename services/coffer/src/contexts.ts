/** The contexts, wired: what one needs of another it is given here. */
import { hostname } from 'node:os';
import {
  account,
  accountEndpoints,
  accountsErrors,
  booksProjection,
  createAccounts,
  holdReactions,
  operatorAccountEndpoints,
  operatorTotalsEndpoints,
} from '@coffer/accounts';
import {
  auditEndpoints,
  auditErrors,
  CHAIN_CONSUMER,
  chainOfLog,
  createLogScrub,
  createPointsInTime,
  streamRules,
} from '@coffer/audit';
import { authMethodsErrors, identity, sessionsErrors } from '@coffer/auth';
import type { Pool } from '@coffer/database';
import { createCommandHandler, type LogPlace, type OurLog } from '@coffer/event-store';
import { type Endpoint, failureOf, httpErrors } from '@coffer/http';
import { createSecretBox, type ErrorCatalog, environment as environments, systemClock } from '@coffer/kernel';
import {
  createListSessions,
  createListTransactions,
  createPlaySessions,
  ledgerEndpoints,
  ledgerErrors,
  operatorSessionEndpoints,
  playSession,
  playSessionsProjection,
  sessionDues,
  sessionHoldAct,
  transactionUseOf,
} from '@coffer/ledger';
import { move, movesErrors } from '@coffer/moves';
import {
  createAllowedOrigins,
  createAppDirectory,
  createKeyring,
  createSkips,
  listApps,
  portalEndpoints,
  portalErrors,
  skip,
  streamFilter,
} from '@coffer/portal';
import { caughtUpSince, type ReadModelProjections } from '@coffer/read-models';
import {
  type BooksPlace,
  createBooksScrub,
  createReconciler,
  createScrubber,
  reconcileErrors,
} from '@coffer/reconcile';

import { chainErrors } from '@coffer/solana';
import { movesProjection, treasuryErrors } from '@coffer/treasury';
import { createUsers, user, usersErrors } from '@coffer/users';

import {
  createWallets,
  masterKeyEndpoints,
  operatorWallet,
  startRewrapper,
  wallet,
  walletsErrors,
} from '@coffer/wallets';
import { allConsumers } from './allConsumers.ts';
import { authMethods } from './authMethods.ts';
import { errorOf } from './errorOf.ts';
import { failPointFrom } from './failPoints.ts';
import { wireIdentities } from './identityPorts.ts';
import { wireOnChain } from './onChain.ts';
import { createPastPlaceOf } from './pastPlace.ts';
import { portalProjections } from './portalProjections.ts';
import { portalUsers } from './portalUsers.ts';
import { portalWallets } from './portalWallets.ts';
import { createServiceChainReconciler } from './reconcileChain.ts';
import { ledgerReconcile, portalReconcile } from './reconcilePorts.ts';
import type { ServiceOptions } from './service.ts';
import { serviceSnapshots } from './serviceSnapshots.ts';
import { createSignIn, SIGN_IN_ERRORS } from './signIn.ts';
import { createSignInSessions } from './signInSessions.ts';

export const catalog: ErrorCatalog = {
  ...httpErrors,
  ...usersErrors,
  ...portalErrors,
  ...authMethodsErrors,
  ...accountsErrors,
  ...ledgerErrors,
  ...auditErrors,
  ...walletsErrors,
  ...treasuryErrors,
  ...movesErrors,
  ...chainErrors,
  ...reconcileErrors,
  ...sessionsErrors,
};

/** What the read models are made of, whoever fills them. */
export const readModelProjections: ReadModelProjections = {
  books: booksProjection,
  playSessions: playSessionsProjection,
  moves: movesProjection,
};

/** The consumer that carries out what holds are for, and what is owed to accounts. */
export const HOLD_PROCESS = 'holds';

/** The consumer that finishes what sign-ins, erasures and the ends of wallets have begun. */
export const IDENTITY_PROCESS = 'identities';

export function createContexts(
  options: ServiceOptions,
  pool: Pool,
  store: OurLog,
  ownOrigin: () => string | undefined,
  headAtStart: LogPlace | undefined,
) {
  const { config, secretsKey, identityKey, masterKeys, makeNextMasterKey, viewUser, logger, chains } =
    options;
  const clock = options.clock ?? systemClock;
  const secretBox = createSecretBox(secretsKey);
  const directory = createAppDirectory(pool, { secretBox });
  const allowedOrigins = createAllowedOrigins(pool, {
    directory,
    // With the embedded database it is an installation for trying out, on the machine of whoever tries it.
    acceptsLoopback: config.databaseUrl === undefined,
  });
  const keyring = createKeyring(pool, {
    clock,
    onWriteFailure: (error) => logger.warn({ err: error }, 'the time a key was last used was not kept'),
  });
  const snapshots = serviceSnapshots(options, pool);
  const handler = createCommandHandler({
    store,
    cacheBytes: config.cacheBytes,
    ...(snapshots && { snapshots: snapshots.store }),
    onSnapshotError: (error) => logger.warn({ err: error }, 'a snapshot was not kept'),
  });
  const users = createUsers({ handler, store, clock });
  const failPoint = failPointFrom(config.failPoint);
  const wallets = createWallets({ pool, handler, masterKeys, clock, failPoint });
  const {
    identities,
    erasure,
    reactions: identityReactions,
  } = wireIdentities({
    pool,
    handler,
    store,
    secretBox,
    identityKey,
    users,
    wallets,
    failPoint,
  });
  const signInSessions = createSignInSessions({
    pool,
    clock,
    secretsKey,
    secretBox,
    logger,
    publicOrigin: config.publicOrigin,
    ownOrigin,
    view: viewUser ?? identities.view,
  });
  const methods = authMethods({
    config,
    directory,
    logger,
    pool,
    clock,
    secretsKey,
    secretBox,
    signIn: createSignIn({ identities, sessions: signInSessions.sessions }),
    signInErrors: SIGN_IN_ERRORS,
    ownOrigin,
  });
  const accounts = createAccounts({ handler, store });
  const playSessions = createPlaySessions({
    handler,
    store,
    clock,
    failPoint,
    accounts,
    users,
    currencyByCode: directory.currencyByCode,
  });
  const onChain = wireOnChain({
    pool,
    store,
    handler,
    clock,
    failPoint,
    logger,
    chains,
    masterKeys,
    directory,
    users,
    wallets,
    accounts,
    hasRowsOfStart: () => caughtUpSince(pool, store, headAtStart),
  });
  const listSessions = createListSessions(pool);
  const skips = createSkips({
    handler,
    store,
    clock,
    consumers: () => allConsumers(pool),
    owners: async () => [
      ...new Set((await listApps(pool)).flatMap(({ appId, scopeId }) => [appId, scopeId])),
    ],
    neverSkips: CHAIN_CONSUMER.name,
  });
  const projections = portalProjections({
    pool,
    store,
    skips,
    clock,
    isSkipped: skips.isSkipped,
    projections: readModelProjections,
    onTrouble: (error) =>
      logger.warn({ err: error }, 'a rebuild of the read models is left to be cleared up'),
  });

  const holds = holdReactions({ session: sessionHoldAct(playSessions), ...onChain.holdActs }, [
    ...sessionDues(playSessions),
    ...onChain.dues,
  ]);
  const reconciling = {
    pool,
    store,
    clock,
    projections: readModelProjections,
    transactionUseOf,
    chain: chainOfLog,
    process: { name: HOLD_PROCESS, reactions: holds },
    isSkipped: skips.isSkipped,
    skipsOf: async ({ appId, environment }: BooksPlace) => {
      const scopeId = (await directory.app(appId))?.scopeId;
      return skips.standing(environment, scopeId === undefined ? [appId] : [appId, scopeId]);
    },
  };
  const reconciler = createReconciler(reconciling);

  const chainReconciler = createServiceChainReconciler({
    ...onChain,
    pool,
    store,
    clock,
    chains,
    directory,
    logger,
  });

  const pastPlaceOf = createPastPlaceOf({ store, clock, pointsInTime: createPointsInTime(pool, store) });

  const rewrapper = startRewrapper({
    pool,
    masterKeys,
    onDone: (report) => logger.info(report, 'keys of wallets are under the current master key'),
    onTrouble: (error) =>
      logger.error({ err: error }, 'a key of a wallet was not brought under the current master key'),
  });

  const rules = [
    streamRules(user),
    streamRules(identity),
    streamRules(wallet),
    streamRules(account),
    streamRules(playSession),
    streamRules(move),
    streamRules(operatorWallet),
    streamRules(skip),
  ];
  const places = async () =>
    (await listApps(pool)).flatMap(({ appId }) =>
      environments.options.map((environment) => ({ appId, environment })),
    );
  const scrubber = createScrubber({
    pool,
    clock,
    owner: `${hostname()}:${process.pid}`,
    passMs: config.scrubPassMs,
    log: createLogScrub({ db: pool, store, rules, snapshots: snapshots?.store }),
    books: createBooksScrub(reconciling),
    places,
  });

  const endpoints: readonly Endpoint[] = [
    ...ledgerEndpoints({
      playSessions,
      listTransactions: createListTransactions(store),
      listSessions,
      reconcile: ledgerReconcile(reconciler, directory),
      envelopeOf: (error) => {
        const { status, body } = failureOf(error, catalog, errorOf);
        return { status, body: JSON.parse(body) };
      },
    }),
    ...methods.endpoints,
    ...onChain.endpoints,
    ...signInSessions.endpoints,
    ...accountEndpoints({ accounts, currencies: directory.currencies, requireUser: users.show }),
    ...operatorAccountEndpoints({
      directory,
      accounts,
      requireUser: users.show,
      clock,
      store,
      pastPlaceOf,
    }),
    ...operatorTotalsEndpoints({ pool, directory, pastPlaceOf }),
    ...operatorSessionEndpoints({ directory, playSessions, listSessions }),
    ...portalEndpoints({
      pool,
      clock,
      secretBox,
      directory,
      eventStore: store,
      users: portalUsers({ users, erasure, sessions: signInSessions.sessions, clock }),
      wallets: portalWallets({ ...onChain, users, chains, clock }),
      reconcile: portalReconcile({ reconciler, chainReconciler, directory, chains }),
      projections,
      onCurrency: chains.ensureMint,
      mintCheck: chains.mintCheck,
    }),
    ...auditEndpoints({
      db: pool,
      store,
      rules,
      snapshots: snapshots?.store,
      streamFilter: (wanted) => streamFilter(directory, wanted),
    }),
    ...masterKeyEndpoints({
      pool,
      masterKeys,
      clock,
      makeNext: makeNextMasterKey,
      onRotated: rewrapper.wake,
    }),
  ];
  const reactions = {
    [HOLD_PROCESS]: holds,
    [IDENTITY_PROCESS]: [...identityReactions, ...onChain.walletReactions],
  };
  return {
    handler,
    snapshots,
    keyring,
    allowedOrigins,
    signInSessions,
    methods,
    endpoints,
    reactions,
    reconciler,
    chainReconciler,
    scrubber,
    places,
    projections,
    rewrapper,
    onChain,
    isSkipped: skips.isSkipped,
    failPoint,
  };
}
