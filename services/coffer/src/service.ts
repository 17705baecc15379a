/**
 * The composition root: the only place that knows which real things stand behind the ports. What it starts it
 * stops, in the reverse order.
 */
import { timingSafeEqual } from 'node:crypto';
import {
  account,
  accountEndpoints,
  accountStream,
  accountsErrors,
  booksProjection,
  createAccounts,
  holdReactions,
} from '@coffer/accounts';
import { auditEndpoints, auditErrors, createPointsInTime, migrateAudit, streamRules } from '@coffer/audit';
import {
  authMethodsErrors,
  identity,
  migrateAuth,
  requireIdentityKey,
  sessionsErrors,
  type ViewUser,
} from '@coffer/auth';
import { createConsumersTable } from '@coffer/consumers';
import { createPool, type Pool } from '@coffer/database';
import { createCommandHandler, type EventStore, type LogPlace } from '@coffer/event-store';
import { createPostgresSnapshotStore, migrateLog, migrateSnapshots } from '@coffer/event-store/postgres';
import {
  createApp,
  createMetricsRegistry,
  DEFAULT_RATE_LIMITS,
  type Endpoint,
  failureOf,
  httpErrors,
  type Logger,
  parseTrustProxy,
  type RunningServer,
  startServer,
} from '@coffer/http';
import {
  createSecretBox,
  type Environment,
  type ErrorCatalog,
  environment as environments,
  systemClock,
} from '@coffer/kernel';
import {
  createListTransactions,
  createPlaySessions,
  ledgerEndpoints,
  ledgerErrors,
  type PlayerAccount,
  playSession,
  playSessionsProjection,
  sessionDues,
  sessionHoldAct,
  transactionUseOf,
} from '@coffer/ledger';
import {
  createAllowedOrigins,
  createAppDirectory,
  createKeyring,
  listApps,
  migrateRecords,
  portalEndpoints,
  portalErrors,
  streamFilter,
} from '@coffer/portal';
import {
  areOfThisLog,
  caughtUpSince,
  migrateReadModels,
  type ReadModelProjections,
} from '@coffer/read-models';
import { createReconciler } from '@coffer/reconcile';
import { startReconcilerRole } from '@coffer/reconciler';

import { createUsers, user, usersErrors } from '@coffer/users';

import {
  adoptMasterKeys,
  createWallets,
  type MasterKey,
  type MasterKeys,
  masterKeyEndpoints,
  migrateWallets,
  startRewrapper,
  wallet,
  walletsErrors,
} from '@coffer/wallets';

import { authMethods } from './authMethods.ts';
import { type Config, makeWallets, type Role } from './config.ts';
import { errorOf } from './errorOf.ts';
import { openEventStore } from './eventStore.ts';
import { failPointFrom } from './failPoints.ts';
import { wireIdentities } from './identityPorts.ts';
import { ledgerFunds } from './ledgerFunds.ts';
import { observeService } from './observe.ts';
import { playSessionLists } from './playSessionLists.ts';
import { portalAccounts, portalPlaySessions } from './portalPorts.ts';
import { portalProjections } from './portalProjections.ts';
import { portalTotals } from './portalTotals.ts';
import { portalUsers } from './portalUsers.ts';
import { ledgerReconcile, portalReconcile } from './reconcilePorts.ts';
import { startConsumers } from './serviceConsumers.ts';
import { createSignIn, SIGN_IN_ERRORS } from './signIn.ts';
import { createSignInSessions } from './signInSessions.ts';
import { startStoreGateway } from './storeGateway.ts';
import { VERSION } from './version.ts';

export const catalog: ErrorCatalog = {
  ...httpErrors,
  ...usersErrors,
  ...portalErrors,
  ...authMethodsErrors,
  ...accountsErrors,
  ...ledgerErrors,
  ...auditErrors,
  ...walletsErrors,
  ...sessionsErrors,
  ...authMethodsErrors,
};

/** What the read models are made of, whoever fills them. */
export const readModelProjections: ReadModelProjections = {
  books: booksProjection,
  playSessions: playSessionsProjection,
};

/** The consumer that carries out what holds are for, and what is owed to accounts. */
export const HOLD_PROCESS = 'holds';

/** The consumer that finishes what sign-ins and erasures have begun. */
export const IDENTITY_PROCESS = 'identities';

/** Requests in flight may finish for so long after a SIGTERM. Source: architecture, Running it. */
const STOP_GRACE_MS = 8_000;

export interface ServiceOptions {
  readonly config: Config;
  readonly roles: readonly Role[];
  readonly databaseUrl: string;
  readonly secretsKey: Uint8Array;
  readonly identityKey: Uint8Array;
  readonly operatorToken: string;
  /** Those that this process may use; none where it has no need of them. */
  readonly masterKeys: MasterKeys;
  /** Given where the installation keeps its own. */
  readonly makeNextMasterKey: ((environment: Environment) => Promise<MasterKey>) | undefined;
  readonly logger: Logger;
  /** For specs: compares every reply with the schema that its endpoint declares. */
  readonly checkReplies?: boolean;
  /** For specs: who a user is, for sign-in sessions. Default: the one behind the identity. */
  readonly viewUser?: ViewUser;
  /** For specs: stands between the service and its event store. */
  readonly wrapStore?: (store: EventStore) => EventStore;
}

export interface Service {
  /** Without a path; undefined where this process does not serve the API. */
  readonly url: string | undefined;
  /** Of health and metrics where this process does not serve the API; undefined where it does, or is not told to. */
  readonly systemUrl: string | undefined;
  /** Undefined where the store gateway is not asked for. */
  readonly storeGatewayPort: number | undefined;
  readonly stop: () => Promise<void>;
}

/** Creates or updates every schema. Safe to run by several processes at once. */
export async function migrateAll(pool: Pool): Promise<void> {
  await migrateLog(pool);
  await migrateSnapshots(pool);
  await migrateRecords(pool);
  await migrateAuth(pool);
  await migrateAudit(pool);
  await migrateWallets(pool);
  await createConsumersTable(pool, 'records');
  await migrateReadModels(pool);
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, roles, databaseUrl, logger } = options;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne();
  };
  try {
    const pool = createPool({
      connectionString: databaseUrl,
      applicationName: 'coffer',
      // The driver hangs the whole connection on the error: its message is what anyone wants to read.
      onIdleError: ({ message }) => logger.warn({ reason: message }, 'a database connection was lost'),
    });
    stops.push(() => pool.end());
    await requireIdentityKey(pool, options.identityKey);
    const ownStore = await openEventStore(options);
    stops.push(() => ownStore.close());
    const store = options.wrapStore?.(ownStore) ?? ownStore;
    const gateway = await startStoreGateway({ ...options, store });
    if (gateway) stops.push(() => gateway.stop());
    const headAtStart = await store.head();

    if (makeWallets(roles) && options.masterKeys.all().length === 0) {
      logger.warn('no master keys are given: no wallet is provisioned or signs (COFFER_MASTER_KEYS)');
    }
    await adoptMasterKeys(pool, options.masterKeys, {
      actor: 'service',
      requestId: 'start',
      at: systemClock(),
    });
    let ownOrigin: string | undefined;
    const contexts = createContexts(options, pool, store, () => ownOrigin);
    stops.push(() => contexts.rewrapper.stop());
    contexts.rewrapper.wake();
    stops.push(() => contexts.keyring.close());
    stops.push(() => contexts.signInSessions.stop());
    stops.push(() => contexts.methods.stop());
    stops.push(() => contexts.reconciler.close());
    const consumers = await startConsumers(options, pool, store, {
      ...contexts,
      projections: readModelProjections,
    });
    stops.push(async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    });
    const metrics = createMetricsRegistry();
    observeService(metrics, { handler: contexts.handler, consumers });
    if (roles.includes('reconciler')) {
      const role = startReconcilerRole({
        reconciler: contexts.reconciler,
        places: contexts.places,
        schedule: config.reconcileSchedule,
        fullSchedule: config.fullReconcileSchedule,
        clock: systemClock,
        registry: metrics,
        logger,
      });
      stops.push(role.stop);
    }

    const isApi = roles.includes('api');
    const server = isApi ? await serve(contexts.endpoints, config.port) : undefined;
    ownOrigin = server?.url;
    const systemPort = isApi ? undefined : config.systemPort;
    const system = systemPort === undefined ? undefined : await serve([], systemPort);
    return { url: server?.url, systemUrl: system?.url, storeGatewayPort: gateway?.port, stop };

    /** Without endpoints it serves health and metrics alone. */
    async function serve(endpoints: readonly Endpoint[], port: number): Promise<RunningServer> {
      const app = createApp({
        endpoints,
        catalog,
        errorOf,
        resolveKey: contexts.keyring.resolveKey,
        resolveSession: contexts.signInSessions.resolveSession,
        allowedOrigins: contexts.allowedOrigins,
        isOperatorToken: operatorTokenCheck(options.operatorToken),
        logger,
        metrics,
        readiness: () => readinessOf(pool, store, headAtStart),
        version: VERSION,
        trustProxy: parseTrustProxy(config.trustProxy),
        rateLimits: rateLimitsOf(config),
        maxConcurrentRequests: config.maxConcurrentRequests,
        requestTimeoutMs: config.requestTimeoutMs,
        openMetrics: config.metricsPublic,
        checkReplies: options.checkReplies ?? false,
      });
      const running = await startServer(app, { host: config.host, port });
      stops.push(() => running.stop(STOP_GRACE_MS), contexts.projections.stop);
      return running;
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

async function readinessOf(pool: Pool, store: EventStore, headAtStart: LogPlace | undefined) {
  const reasons: string[] = [];
  if (!(await caughtUpSince(pool, store, headAtStart))) {
    reasons.push('The read models have not caught up since the start.');
  }
  if (!(await areOfThisLog(pool, store))) {
    reasons.push('The read models are of another log: it was put back to an older state.');
  }
  return { ready: reasons.length === 0, reasons };
}

/** The contexts, wired: what one needs of another it is given here. */
function createContexts(
  options: ServiceOptions,
  pool: Pool,
  store: EventStore,
  ownOrigin: () => string | undefined,
) {
  const { config, secretsKey, identityKey, masterKeys, makeNextMasterKey, viewUser, logger } = options;
  const clock = systemClock;
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
  const handler = createCommandHandler({
    store,
    cacheBytes: config.cacheBytes,
    snapshots: createPostgresSnapshotStore(pool),
    onSnapshotError: (error) => logger.warn({ err: error }, 'a snapshot was not kept'),
  });
  const users = createUsers({ handler, store, clock });
  const failPoint = failPointFrom(config.failPoint);
  const wallets = createWallets({ pool, handler, masterKeys, clock });
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
    funds: ledgerFunds(accounts),
    users,
    currencyByCode: directory.currencyByCode,
  });
  const lists = playSessionLists(pool);
  const projections = portalProjections({
    pool,
    store,
    projections: readModelProjections,
    onTrouble: (error) =>
      logger.warn({ err: error }, 'a rebuild of the read models is left to be cleared up'),
  });

  const reaction = {
    accountStreamOf: ({ environment, appId, userId, currencyId }: PlayerAccount) =>
      accountStream(environment, appId, userId, currencyId),
    carryOut: playSessions.carryOut,
  };
  const holds = holdReactions({ session: sessionHoldAct(reaction) }, sessionDues(reaction));
  const reconciler = createReconciler({
    pool,
    store,
    clock,
    projections: readModelProjections,
    transactionUseOf,
    process: { name: HOLD_PROCESS, reactions: holds },
  });

  const pointsInTime = createPointsInTime(pool, store);

  const rewrapper = startRewrapper({
    pool,
    masterKeys,
    onDone: (report) => logger.info(report, 'keys of wallets are under the current master key'),
    onTrouble: (error) =>
      logger.error({ err: error }, 'a key of a wallet was not brought under the current master key'),
  });

  const endpoints: readonly Endpoint[] = [
    ...ledgerEndpoints({
      playSessions,
      listTransactions: createListTransactions(store),
      listSessions: lists,
      reconcile: ledgerReconcile(reconciler, directory),
      envelopeOf: (error) => {
        const { status, body } = failureOf(error, catalog, errorOf);
        return { status, body: JSON.parse(body) };
      },
    }),
    ...methods.endpoints,
    ...signInSessions.endpoints,
    ...accountEndpoints({ accounts, currencies: directory.currencies, requireUser: users.show }),
    ...portalEndpoints({
      pool,
      clock,
      secretBox,
      directory,
      eventStore: store,
      users: portalUsers({ users, erasure, sessions: signInSessions.sessions, clock }),
      accounts: portalAccounts({
        accounts,
        users,
        clock,
        store,
        pointsInTime,
      }),
      totals: portalTotals({ pool, store, directory, pointsInTime }),
      playSessions: portalPlaySessions(playSessions, lists),
      reconcile: portalReconcile(reconciler, directory),
      projections,
    }),
    ...auditEndpoints({
      db: pool,
      store,
      rules: [
        streamRules(user),
        streamRules(identity),
        streamRules(wallet),
        streamRules(account),
        streamRules(playSession),
      ],
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
  const places = async () =>
    (await listApps(pool)).flatMap(({ appId }) =>
      environments.options.map((environment) => ({ appId, environment })),
    );
  const reactions = { [HOLD_PROCESS]: holds, [IDENTITY_PROCESS]: identityReactions };
  return {
    handler,
    keyring,
    allowedOrigins,
    signInSessions,
    methods,
    endpoints,
    reactions,
    reconciler,
    places,
    projections,
    rewrapper,
  };
}

function operatorTokenCheck(operatorToken: string): (token: string) => boolean {
  const expected = Buffer.from(operatorToken);
  return (token) => {
    const given = Buffer.from(token);
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
}

function rateLimitsOf({ secretKeyRatePerMinute }: Config) {
  if (secretKeyRatePerMinute === undefined) return DEFAULT_RATE_LIMITS;
  const secretKey = { perMinute: secretKeyRatePerMinute, burst: secretKeyRatePerMinute };
  return { ...DEFAULT_RATE_LIMITS, secretKey };
}
