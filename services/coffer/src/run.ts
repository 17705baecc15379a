/** `coffer run`: from a configuration to a running service, until it is stopped. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NEWEST_POSTGRES, type Pool, requireSupportedPostgres, withPool } from '@coffer/database';
import { requireUnownedDataFolder } from '@coffer/embedded-postgres';
import { roles as allRoles, migrateAll, type Role } from '@coffer/host';
import { createLogger, type Logger } from '@coffer/http';
import { createSecretBox, type Environment, systemClock } from '@coffer/kernel';
import {
  type BootstrapContent,
  type BootstrapResult,
  bootstrapDemo,
  bootstrapFilePath,
  listApps,
  listCurrencies,
  writeOperatorFile,
} from '@coffer/portal';
import type { OpenChains } from '@coffer/solana';
import { createMasterKeys } from '@coffer/wallets';
import { CommandFailure, EXIT } from './cli/failure.ts';
import { type Config, ConfigurationError, configFrom, needMasterKeys, unknownVariables } from './config.ts';
import { CONTEXTS } from './contexts.ts';
import { type Database, openDatabase } from './database.ts';
import { type EmbeddedTestChain, openChainsOf, startEmbeddedTestChain } from './embeddedChain.ts';
import { installationMasterKeys } from './installationMasterKeys.ts';
import { installationSecrets } from './installationSecrets.ts';
import { giveMemoryBackAtRest } from './memoryAtRest.ts';
import { letHelpersGiveWay } from './niceness.ts';
import { requirePorts } from './portsAtStart.ts';
import { type Service, startService } from './service.ts';
import { startFailure } from './startFailure.ts';
import { stopSignal } from './stopSignal.ts';
import { gatewayUrl } from './storeGateway.ts';
import { type MainService, openThreads, type Threads } from './threads.ts';
import { VERSION } from './version.ts';

/** Returns when the service has stopped. Throws a `CommandFailure` that explains why it could not start. */
export async function run(names: readonly string[]): Promise<void> {
  let failed: string | undefined;
  const failure = (cause?: unknown) =>
    new CommandFailure(EXIT.refused, `${failed}; the log says why.`, { cause });
  try {
    await runUntilStopped(names, (what) => {
      failed ??= what;
    });
  } catch (error) {
    // Whatever waited for what has failed has failed with it.
    throw failed === undefined ? (startFailure(error) ?? error) : failure(error);
  }
  if (failed !== undefined) throw failure();
}

async function runUntilStopped(names: readonly string[], onFailed: (what: string) => void): Promise<void> {
  const config = configFrom(process.env);
  // So that nothing that prints or passes on the environment exposes them.
  delete process.env.COFFER_MASTER_KEYS;
  const roles = rolesFrom(names);
  // Every obstacle that can be detected is reported before anything is created.
  if (config.databaseUrl === undefined) await requireUnownedDataFolder(config.dataFolder);
  await requirePorts(config, roles);
  await mkdir(config.dataFolder, { recursive: true });
  const secrets = await installationSecrets(config);
  const logger = createLogger({ level: config.logLevel, secrets: secrets.texts });
  const { signal: stopping, isGiven: isStopGiven } = stopSignal(logger);
  const endItself = () => process.kill(process.pid, 'SIGTERM');
  for (const problem of unknownVariables(process.env)) logger.warn(problem);

  // A signal to several processes may end what a step needs, or a child that a step has only just forked.
  const unlessStopped = <Result>(step: Promise<Result>): Promise<Result | undefined> =>
    step.catch(async (error: unknown) => {
      if (!(await isStopGiven())) throw error;
      logger.info({ reason: String(error) }, 'the start was given up');
      return undefined;
    });

  const database = await unlessStopped(
    openDatabase(config, logger, async (error) => {
      if (await isStopGiven()) {
        // A supervisor that ends all processes at once ends it while requests are in flight here.
        logger.warn(
          { err: error },
          'the database of the data folder is lost before this service has stopped',
        );
        return;
      }
      logger.fatal({ err: error }, 'the database of the data folder is lost: this service stops');
      onFailed('The database of the data folder was lost');
      endItself();
    }),
  );
  if (!database) return;
  let embeddedChain: EmbeddedTestChain | undefined;
  let chains: OpenChains | undefined;
  let service: Service | undefined;
  let main: MainService | undefined;
  let threads: Threads | undefined;
  try {
    if (stopping.aborted) return;
    // What reads the log must not hold up answers.
    const besideApi = roles.includes('api') ? roles.filter((role) => role !== 'api') : [];
    const opened = openThreads({
      hasBackground: besideApi.length > 0,
      apiThreads: roles.includes('api') ? config.apiThreads : 0,
      main: () => main,
      makeNextMasterKey: (environment) => makeNextKeyForAll(environment),
      logger,
      onFailed(error) {
        onFailed('A thread of the service has failed');
        logger.fatal({ err: error }, 'a thread of the service has failed: this service stops');
        if (!stopping.aborted) endItself();
      },
    });
    threads = opened;
    giveMemoryBackAtRest(opened.loops);
    if (config.chain.embedded) {
      embeddedChain = await unlessStopped(
        startEmbeddedTestChain(config, config.chain.embedded, logger, stopping),
      );
      if (!embeddedChain) return;
    }
    const ownTestChain =
      config.chain.embedded && embeddedChain
        ? { url: embeddedChain.url, slotMs: config.chain.embedded.slotMs }
        : undefined;
    chains = openChainsOf(config.chain, ownTestChain);
    const masterKeys = await unlessStopped(
      withPool(database.url, async (pool) => {
        await requirePostgres(pool, logger);
        await migrateAll(pool, CONTEXTS.definitions);
        // The other roles hold no key.
        return needMasterKeys(roles) ? installationMasterKeys(config, pool) : undefined;
      }),
    );
    if (stopping.aborted) return;
    const { masterKeys: heldKeys = createMasterKeys([]), makeNextMasterKey } = masterKeys ?? {};
    const makeNextKeyForAll = async (environment: Environment) => {
      assert(makeNextMasterKey, 'only an installation that keeps its own keys is asked for the next one');
      const next = await makeNextMasterKey(environment);
      // Before anything is sealed with it.
      await opened.addMasterKey(next);
      return next;
    };
    const ofThreads = () => ({
      config,
      databaseUrl: database.url,
      ...secrets,
      secretTexts: secrets.texts,
      masterKeys: heldKeys.all(),
      ownTestChain,
    });
    const inBackground = opened.startBackground({ ...ofThreads(), roles: besideApi });
    // It is awaited with the start of this thread, which may fail first.
    inBackground.catch(() => undefined);
    const starting = startService({
      config,
      roles: besideApi.length > 0 ? ['api'] : roles,
      databaseUrl: database.url,
      logger,
      ...secrets,
      chains,
      masterKeys: heldKeys,
      makeNextMasterKey: makeNextMasterKey && makeNextKeyForAll,
      metricsOfOthers: opened.metrics,
      threads: opened.ofMain,
      async beforeReady(host) {
        main = host;
        const { url, operatorUrl, systemUrl, storeGatewayPort: port } = host;
        await inBackground;
        if (url !== undefined && !stopping.aborted) {
          const makesMasterKeys = makeNextMasterKey !== undefined;
          await opened.startApi(ofThreads(), { port: Number(new URL(url).port), makesMasterKeys });
        }
        if (stopping.aborted) return;
        if (url === undefined || operatorUrl === undefined) {
          logger.info({ url: systemUrl, roles, version: VERSION }, 'ready');
          return;
        }
        const { storeGatewayPassword: password } = secrets;
        const storeGatewayUrl =
          port === undefined || password === undefined ? undefined : gatewayUrl(config, port, password);
        // Not before: a start is mostly code that they compile.
        await letHelpersGiveWay(logger);
        const addresses = { url, operatorUrl, chainUrl: embeddedChain?.url, storeGatewayUrl };
        await announce(config, addresses, database, secrets, logger);
      },
    });
    service = await unlessStopped(starting);
    if (stopping.aborted) return;
    if (embeddedChain) await ensureMints(database.url, chains, logger, stopping);
    if (!stopping.aborted) await once(stopping, 'abort');
  } finally {
    await Promise.all([service?.stop(), threads?.stopApi()]);
    await threads?.stopBackground();
    await chains?.close();
    await embeddedChain?.stop();
    await database.stop();
    logger.info('stopped');
  }
}

async function requirePostgres(pool: Pool, logger: Logger): Promise<void> {
  const { major, text } = await requireSupportedPostgres(pool);
  if (major <= NEWEST_POSTGRES) return;
  logger.warn({ version: text }, `PostgreSQL newer than ${NEWEST_POSTGRES}, which this release was tried on`);
}

const MINTS_RETRY_MS = 1_000;

/** For currencies that existed before the chain, which may be starting again. Until the service stops. */
async function ensureMints(
  databaseUrl: string,
  chains: OpenChains,
  logger: Logger,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    try {
      return await withPool(databaseUrl, async (pool) => {
        for (const { appId } of await listApps(pool)) {
          for (const currency of await listCurrencies(pool, appId)) await chains.ensureMint(currency);
        }
      });
    } catch (error) {
      logger.warn({ err: error }, 'mints of currencies were not made on the chain, and are tried again');
      await delay(MINTS_RETRY_MS, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
}

function rolesFrom(names: readonly string[]): readonly Role[] {
  if (names.length === 0) return allRoles;
  return names.map((name) => {
    const role = allRoles.find((known) => known === name);
    if (role) return role;
    throw new ConfigurationError(`There is no role "${name}". The roles are: ${allRoles.join(', ')}.`);
  });
}

interface Addresses {
  readonly url: string;
  /** Different if operator routes have an address of their own. */
  readonly operatorUrl: string;
  readonly chainUrl: string | undefined;
  readonly storeGatewayUrl: string | undefined;
}

/** Tells the command line and a first user where the service is; an empty installation gets the app "Demo". */
async function announce(
  config: Config,
  addresses: Addresses,
  database: Database,
  secrets: { readonly operatorToken: string; readonly secretsKey: Uint8Array },
  logger: Logger,
): Promise<void> {
  const baseUrl = `${addresses.url}/v1`;
  const operatorBaseUrl = `${addresses.operatorUrl}/v1`;
  await writeOperatorFile(config.dataFolder, { url: operatorBaseUrl, token: secrets.operatorToken });
  const demo = database.isEmbedded ? await bootstrap(config, addresses, database, secrets) : undefined;
  const { dataFolder } = config;
  const isInside = database.folder === undefined || !relative(dataFolder, database.folder).startsWith('..');
  const databaseFolder = isInside ? undefined : database.folder;
  const elsewhere = operatorBaseUrl === baseUrl ? {} : { operatorUrl: operatorBaseUrl };
  logger.info({ url: baseUrl, ...elsewhere, version: VERSION, dataFolder, databaseFolder }, 'ready');
  if (!demo) return;
  // For the person who started it, on the terminal and not in the log, which never contains a key.
  process.stderr.write(
    welcome({ ...addresses, dataFolder, databaseFolder }, demo.created ? demo.content : undefined),
  );
}

function bootstrap(
  config: Config,
  { url, operatorUrl, chainUrl, storeGatewayUrl }: Addresses,
  database: Database,
  secrets: { readonly operatorToken: string; readonly secretsKey: Uint8Array },
): Promise<BootstrapResult> {
  return withPool(database.url, (pool) =>
    bootstrapDemo({
      pool,
      secretBox: createSecretBox(secrets.secretsKey),
      clock: systemClock,
      path: bootstrapFilePath(config.dataFolder),
      addresses: {
        baseUrl: `${url}/v1`,
        portalUrl: `${operatorUrl}/v1/portal`,
        portalToken: secrets.operatorToken,
        chainUrl,
        storeGatewayUrl,
      },
    }),
  );
}

function welcome(
  {
    url,
    chainUrl,
    dataFolder,
    databaseFolder,
  }: {
    readonly url: string;
    readonly chainUrl: string | undefined;
    readonly dataFolder: string;
    /** If it is not in the data folder. */
    readonly databaseFolder: string | undefined;
  },
  demo: BootstrapContent | undefined,
): string {
  const lines = ['', `  Coffer ${VERSION} is ready at ${url}/v1`, `  API documentation: ${url}/docs`];
  if (chainUrl !== undefined) lines.push(`  Solana chain of test: ${chainUrl}`);
  if (databaseFolder !== undefined) {
    lines.push(`  Database: ${databaseFolder}`, `  (not in ${dataFolder}, which only root may enter)`);
  }
  if (demo) {
    lines.push(
      '',
      `  The app "Demo" (${demo.appId}) was created for you. Its secret keys are shown only now;`,
      `  all its keys are kept in ${join(dataFolder, 'bootstrap.json')}`,
      '',
      `    test  ${demo.keys.test.publishable}`,
      `          ${demo.keys.test.secret}`,
      `    live  ${demo.keys.live.publishable}`,
      `          ${demo.keys.live.secret}`,
    );
  }
  lines.push('', '  Ctrl-C stops it.', '', '');
  return lines.join('\n');
}
