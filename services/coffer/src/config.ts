/**
 * Configuration: the environment, validated as a whole, so that a wrong start prints every problem.
 * Each variable is described in `docs/operating/README.md`.
 */
import { isIP } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { addressFrom } from '@coffer/event-store/eventstoredb/address';
import type { Role } from '@coffer/host';
import { parseTrustProxy } from '@coffer/http';
import { brokersUrl, type KafkaSettings, MECHANISMS, TOPIC_PREFIX } from '@coffer/kafka';
import { failPointName, messageOf } from '@coffer/kernel';
import { isCronExpression } from '@coffer/reconciler';
import { isLoopback } from '@coffer/store-gateway/loopback';
import { MasterKeysFormatError, parseMasterKeys } from '@coffer/wallets';
import { z } from 'zod';
import { nearestName } from './nearestName.ts';

/** Whether they create wallets or sign with them, and so need the master keys. */
export const needMasterKeys = (some: readonly Role[]): boolean =>
  some.some((role) => role === 'api' || role === 'process-manager' || role === 'chain-worker');

const flag = z.enum(['0', '1', 'true', 'false']).transform((text) => text === '1' || text === 'true');
const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum));

const cronExpression = z.string().refine(isCronExpression, 'must be a cron expression, such as 0 4 * * *');

const masterKeys = z.string().transform((text, context) => {
  try {
    return parseMasterKeys(text);
  } catch (error) {
    if (!(error instanceof MasterKeysFormatError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
    return z.NEVER;
  }
});

const trustProxy = z.string().transform((text, context) => {
  try {
    return parseTrustProxy(text);
  } catch {
    context.addIssue({
      code: 'custom',
      message: 'must be a number of hops, addresses and networks (10.0.0.0/8, loopback), true or false',
    });
    return z.NEVER;
  }
});

const eventStoreUrl = z.string().superRefine((text, context) => {
  if (!/^esdb(\+discover)?:\/\/./.test(text)) {
    context.addIssue({ code: 'custom', message: 'must be esdb://… or esdb+discover://…' });
    return;
  }
  try {
    addressFrom(text);
  } catch (error) {
    // Quotes nothing: it may contain a password.
    context.addIssue({ code: 'custom', message: messageOf(error) });
  }
});

const HOST_NAME = /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*$/;
const host = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || HOST_NAME.test(text),
    'must be an address or a host name, without a port',
  );

const key32 = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64 (openssl rand -base64 32)')
  .transform((text) => Buffer.from(text, 'base64'))
  .optional();

/** Several nodes back each other up: one that does not answer is left out for a while. */
const rpcUrls = z
  .string()
  .transform((text) => text.split(',').map((url) => url.trim()))
  .pipe(
    z
      .array(z.url({ protocol: /^https?$/, error: 'must be http(s)://…, several separated by commas' }))
      .min(1),
  );

const origin = z
  .url({ protocol: /^https?$/, error: 'must be an origin, such as https://wallets.example' })
  .transform((text) => new URL(text))
  .refine(({ href, origin }) => href === `${origin}/`, 'must be only an origin, without a path or a password')
  .transform((url) => url.origin);

/** Whether the system divides the connections to a port among several that listen on it. */
const canSharePorts = process.platform === 'linux';

const apiThreads = wholeNumber(1, 16).refine(
  (count) => count === 1 || canSharePorts,
  'must be 1: several threads can share a port only on Linux',
);

const plainVariables = z.object({
  COFFER_DATA_DIR: z.string().min(1).default('.data'),
  PORT: wholeNumber(0, 65_535).default(8080),
  COFFER_SYSTEM_PORT: wholeNumber(0, 65_535).optional(),
  HOST: host.default('127.0.0.1'),
  COFFER_OPERATOR_PORT: wholeNumber(0, 65_535).optional(),
  COFFER_OPERATOR_HOST: host.optional(),
  COFFER_PUBLIC_ORIGIN: origin.optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  EVENTSTORE_URL: eventStoreUrl.optional(),
  SOLANA_TEST_RPC_URL: rpcUrls.optional(),
  SOLANA_LIVE_RPC_URL: rpcUrls.optional(),
  COFFER_CHAIN_PORT: wholeNumber(0, 65_534).optional(),
  COFFER_CHAIN_SLOT_MS: wholeNumber(1, 60_000).default(400),
  COFFER_CHAIN_POLL_MS: wholeNumber(10, 60_000).default(500),
  COFFER_PRIORITY_FEE_MAX_LAMPORTS: wholeNumber(0, 1_000_000_000).default(100_000),
  COFFER_FEE_PAYER_LOW_LAMPORTS: wholeNumber(0, 1_000_000_000_000).default(100_000_000),
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be smtp://… or smtps://…' }).optional(),
  COFFER_MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]+@[^\r\n]+$/, 'must be an address, such as Coffer <no-reply@play.example>')
    .default('Coffer <no-reply@localhost>'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  COFFER_TRUST_PROXY: trustProxy.default(false),
  COFFER_METRICS_PUBLIC: flag.default(false),
  COFFER_SECRETS_KEY: key32,
  COFFER_IDENTITY_KEY: key32,
  COFFER_MASTER_KEYS: masterKeys.optional(),
  COFFER_OPERATOR_TOKEN: z.string().min(32, 'must have at least 32 characters').optional(),
  COFFER_REQUEST_TIMEOUT_MS: wholeNumber(100, 120_000).default(10_000),
  COFFER_MAX_CONCURRENT_REQUESTS: wholeNumber(1, 100_000).default(4_000),
  COFFER_CACHE_MIB: wholeNumber(1, 65_536).optional(),
  COFFER_API_THREADS: apiThreads.optional(),
  COFFER_SK_RATE_PER_MINUTE: wholeNumber(1, 100_000_000).optional(),
  COFFER_SIGN_IN_IP_RATE_PER_MINUTE: wholeNumber(1, 100_000_000).optional(),
  COFFER_SIGN_IN_KEY_RATE_PER_MINUTE: wholeNumber(1, 100_000_000).optional(),
  COFFER_REACTION_GRACE_MS: wholeNumber(0, 60_000).default(2_000),
  COFFER_RECONCILE_CRON: cronExpression.default('*/15 * * * *'),
  COFFER_RECONCILE_FULL_CRON: cronExpression.optional(),
  COFFER_SCRUB_PASS_SECONDS: wholeNumber(0, 31_536_000).default(86_400),
  COFFER_STORE_GATEWAY_PORT: wholeNumber(0, 65_535).optional(),
  COFFER_STORE_GATEWAY_HOST: host.default('127.0.0.1'),
  COFFER_STORE_GATEWAY_USER: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be up to 64 letters, digits, dots, hyphens and underscores')
    .default('coffer'),
  COFFER_STORE_GATEWAY_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  COFFER_STORE_GATEWAY_WRITABLE: flag.default(false),
  COFFER_STORE_GATEWAY_TLS: flag.default(true),
  COFFER_WEBHOOKS_ALLOW_INSECURE: flag.default(false),
  COFFER_WEBHOOK_RETENTION_DAYS: wholeNumber(1, 36_500).optional(),
  KAFKA_BROKERS: brokersUrl.optional(),
  COFFER_KAFKA_TLS: flag.optional(),
  COFFER_KAFKA_TLS_CA: z.string().startsWith('-----BEGIN', 'must be certificates in PEM form').optional(),
  COFFER_KAFKA_SASL: z.enum(MECHANISMS).optional(),
  COFFER_KAFKA_USER: z.string().optional(),
  COFFER_KAFKA_PASSWORD: z.string().optional(),
  COFFER_KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(TOPIC_PREFIX, 'must be up to three parts of letters, digits, hyphens and underscores, with dots')
    .default('coffer'),
  COFFER_KAFKA_CREATE_TOPICS: flag.default(true),
  COFFER_KAFKA_PARTITIONS: wholeNumber(1, 1_000).default(6),
  COFFER_KAFKA_REPLICAS: wholeNumber(1, 100).optional(),
  COFFER_FAIL_POINT: failPointName.optional(),
});

export type VariableName = keyof typeof plainVariables.shape;
export const variableNames: readonly string[] = Object.keys(plainVariables.shape);

/** Reported together with the problems of single variables. */
const withTheRest = { when: () => true };

/** A reader of the log need not have access to the admin API, and vice versa. */
export const NOT_THE_OPERATORS = 'must differ from the operator token';

const environmentVariables = plainVariables
  .refine(
    ({ COFFER_OPERATOR_HOST: host, COFFER_OPERATOR_PORT: port }) => host === undefined || port !== undefined,
    {
      path: ['COFFER_OPERATOR_HOST'],
      message: 'needs COFFER_OPERATOR_PORT, without which operator routes share the port of the API',
      ...withTheRest,
    },
  )
  .refine(
    ({ COFFER_STORE_GATEWAY_TLS: hasTls, COFFER_STORE_GATEWAY_HOST: host }) => hasTls || isLoopback(host),
    {
      path: ['COFFER_STORE_GATEWAY_HOST'],
      message: 'must be a loopback address without TLS',
      ...withTheRest,
    },
  )
  .refine(
    ({ COFFER_STORE_GATEWAY_TLS: hasTls, COFFER_STORE_GATEWAY_WRITABLE: isWritable }) =>
      hasTls || !isWritable,
    {
      path: ['COFFER_STORE_GATEWAY_WRITABLE'],
      message:
        'needs TLS: in plain text no password is required, so anybody could write (COFFER_STORE_GATEWAY_TLS)',
      ...withTheRest,
    },
  )
  .refine(
    ({ COFFER_STORE_GATEWAY_PASSWORD: password, COFFER_OPERATOR_TOKEN: token }) =>
      password === undefined || password !== token,
    { path: ['COFFER_STORE_GATEWAY_PASSWORD'], message: NOT_THE_OPERATORS, ...withTheRest },
  )
  .refine(
    ({
      KAFKA_BROKERS: url,
      COFFER_KAFKA_USER: user = url?.username,
      COFFER_KAFKA_PASSWORD: password = url?.password,
    }) => (user === undefined) === (password === undefined),
    { path: ['COFFER_KAFKA_USER'], message: 'needs COFFER_KAFKA_PASSWORD, and vice versa', ...withTheRest },
  )
  .refine(
    ({ EVENTSTORE_URL: url, COFFER_STORE_GATEWAY_PORT: port }) => url === undefined || port === undefined,
    {
      path: ['COFFER_STORE_GATEWAY_PORT'],
      message: 'cannot be set with EVENTSTORE_URL: clients connect to that server',
      ...withTheRest,
    },
  );

export type Config = ReturnType<typeof configFrom>;

/** A start that cannot work, with everything that is wrong with it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** Throws a `ConfigurationError` that lists every problem. */
export function configFrom(environment: NodeJS.ProcessEnv) {
  const parsed = environmentVariables.safeParse(withoutEmpty(environment));
  if (!parsed.success) {
    const problems = [
      ...parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
      ...unknownVariables(environment),
    ];
    throw new ConfigurationError(
      `The configuration is wrong:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    );
  }
  const variables = parsed.data;
  return {
    dataFolder: resolve(variables.COFFER_DATA_DIR),
    port: variables.PORT,
    systemPort: variables.COFFER_SYSTEM_PORT,
    host: variables.HOST,
    operatorAddress: operatorAddressFrom(variables),
    publicOrigin: variables.COFFER_PUBLIC_ORIGIN,
    databaseUrl: variables.DATABASE_URL,
    eventStoreUrl: variables.EVENTSTORE_URL,
    chain: chainFrom(variables),
    smtpUrl: variables.SMTP_URL,
    mailFrom: variables.COFFER_MAIL_FROM,
    logLevel: variables.LOG_LEVEL,
    trustProxy: variables.COFFER_TRUST_PROXY,
    metricsPublic: variables.COFFER_METRICS_PUBLIC,
    secretsKey: variables.COFFER_SECRETS_KEY,
    identityKey: variables.COFFER_IDENTITY_KEY,
    masterKeys: variables.COFFER_MASTER_KEYS,
    operatorToken: variables.COFFER_OPERATOR_TOKEN,
    requestTimeoutMs: variables.COFFER_REQUEST_TIMEOUT_MS,
    maxConcurrentRequests: variables.COFFER_MAX_CONCURRENT_REQUESTS,
    cacheBytes: (variables.COFFER_CACHE_MIB ?? cacheMiBOf(memoryBytes())) * MIB,
    apiThreads: variables.COFFER_API_THREADS ?? apiThreadsOf(availableParallelism()),
    secretKeyRatePerMinute: variables.COFFER_SK_RATE_PER_MINUTE,
    signInIpRatePerMinute: variables.COFFER_SIGN_IN_IP_RATE_PER_MINUTE,
    signInKeyRatePerMinute: variables.COFFER_SIGN_IN_KEY_RATE_PER_MINUTE,
    reactionGraceMs: variables.COFFER_REACTION_GRACE_MS,
    reconcileSchedule: variables.COFFER_RECONCILE_CRON,
    fullReconcileSchedule: variables.COFFER_RECONCILE_FULL_CRON,
    /** 0: no scrub. */
    scrubPassMs: variables.COFFER_SCRUB_PASS_SECONDS * 1000,
    storeGateway: storeGatewayFrom(variables),
    kafka: kafkaFrom(variables),
    webhooksAllowInsecure: variables.COFFER_WEBHOOKS_ALLOW_INSECURE,
    webhookRetentionDays: variables.COFFER_WEBHOOK_RETENTION_DAYS,
    failPoint: variables.COFFER_FAIL_POINT,
  };
}

/** A quarter of the cores: as many again serve the database, and one log takes no more than four threads write. */
export const apiThreadsOf = (cores: number): number =>
  canSharePorts ? Math.min(4, Math.max(1, Math.floor(cores / 4))) : 1;

const MIB = 1024 * 1024;

/** A sixteenth of the memory, enough for the states of some millions of bets: from 128 MiB to 2 GiB. */
export const cacheMiBOf = (ofMachineBytes: number): number =>
  Math.min(2_048, Math.max(128, Math.floor(ofMachineBytes / 16 / MIB)));

/** The machine's, or the container's if that has a limit. */
const memoryBytes = (): number =>
  Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);

const PREFIX = 'COFFER_';
/** Used by the command line. */
const OTHER_NAMES = ['COFFER_URL'];

/** A line per variable that looks like ours but is not. Not an error: it may belong to another program. */
export function unknownVariables(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = [...variableNames, ...OTHER_NAMES].filter((name) => name.startsWith(PREFIX));
  return Object.keys(withoutEmpty(environment))
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => {
      // All of them begin with the prefix: what comes behind it must be close.
      const nearest = nearestName(
        name.slice(PREFIX.length),
        known.map((one) => one.slice(PREFIX.length)),
      );
      return `${name}: there is no such setting${nearest === undefined ? '' : `; did you mean ${PREFIX}${nearest}?`}`;
    });
}

const EMBEDDED_CHAIN_PORT = 8_899;

/** The embedded chain replaces the test cluster if the database is embedded too, or on request. */
function chainFrom(variables: z.infer<typeof environmentVariables>) {
  const { SOLANA_TEST_RPC_URL: test, SOLANA_LIVE_RPC_URL: live, COFFER_CHAIN_PORT: port } = variables;
  const isEmbedded = test === undefined && (variables.DATABASE_URL === undefined || port !== undefined);
  return {
    rpcUrls: { test, live },
    embedded: isEmbedded
      ? {
          // An operator who lets the system choose the one port does not want to name the other.
          port: port ?? (variables.PORT === 0 ? 0 : EMBEDDED_CHAIN_PORT),
          slotMs: variables.COFFER_CHAIN_SLOT_MS,
        }
      : undefined,
    feePayerLowLamports: BigInt(variables.COFFER_FEE_PAYER_LOW_LAMPORTS),
    policy: {
      priorityFeeCapLamports: BigInt(variables.COFFER_PRIORITY_FEE_MAX_LAMPORTS),
      pollIntervalMs: variables.COFFER_CHAIN_POLL_MS,
      resendIntervalMs: variables.COFFER_CHAIN_POLL_MS * 2,
      lossCheckIntervalMs: variables.COFFER_CHAIN_POLL_MS * 10,
      firstRetryMs: variables.COFFER_CHAIN_POLL_MS,
    },
  };
}

/** Undefined if operator routes are served with the others. */
function operatorAddressFrom(variables: z.infer<typeof environmentVariables>) {
  const port = variables.COFFER_OPERATOR_PORT;
  return port === undefined ? undefined : { host: variables.COFFER_OPERATOR_HOST ?? '127.0.0.1', port };
}

/** Undefined if the gateway is not enabled. */
function storeGatewayFrom(variables: z.infer<typeof environmentVariables>) {
  const port = variables.COFFER_STORE_GATEWAY_PORT;
  if (port === undefined) return undefined;
  return {
    port,
    host: variables.COFFER_STORE_GATEWAY_HOST,
    user: variables.COFFER_STORE_GATEWAY_USER,
    password: variables.COFFER_STORE_GATEWAY_PASSWORD,
    isWritable: variables.COFFER_STORE_GATEWAY_WRITABLE,
    hasTls: variables.COFFER_STORE_GATEWAY_TLS,
  };
}

/** Undefined if nothing is published. */
function kafkaFrom(variables: z.infer<typeof environmentVariables>): KafkaSettings | undefined {
  const url = variables.KAFKA_BROKERS;
  if (!url) return undefined;
  const { COFFER_KAFKA_USER: username = url.username, COFFER_KAFKA_PASSWORD: password = url.password } =
    variables;
  const mechanism = variables.COFFER_KAFKA_SASL ?? url.mechanism ?? 'plain';
  return {
    brokers: url.brokers,
    tls:
      (variables.COFFER_KAFKA_TLS ?? url.isTls) ? { authorities: variables.COFFER_KAFKA_TLS_CA } : undefined,
    sasl: username === undefined || password === undefined ? undefined : { mechanism, username, password },
    topicPrefix: variables.COFFER_KAFKA_TOPIC_PREFIX,
    create: variables.COFFER_KAFKA_CREATE_TOPICS
      ? { partitions: variables.COFFER_KAFKA_PARTITIONS, replicas: variables.COFFER_KAFKA_REPLICAS }
      : undefined,
  };
}

/** `PORT=` in a shell script means "not set". */
function withoutEmpty(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
