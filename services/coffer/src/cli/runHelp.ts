/**
 * What `coffer run --help` says about roles and variables. The compiler checks both lists against the
 * configuration.
 */

import type { Role } from '@coffer/host';
import type { Command } from 'commander';
import type { VariableName } from '../config.ts';

const ROLES = {
  api: 'answers HTTP: checks, decides, appends',
  projector: 'fills the read models, and extends the hash chain',
  'process-manager': 'finishes flows that touch two streams',
  'chain-worker': 'signs and sends transfers on the chain until they are final',
  'webhook-emitter': 'numbers what apps are told by webhooks',
  'webhook-sender': 'delivers webhooks',
  'kafka-relay': 'publishes the log to Kafka, if KAFKA_BROKERS is set',
  reconciler: 'compares books, rows and chain on a schedule',
} satisfies Record<Role, string>;

const VARIABLES = {
  COFFER_DATA_DIR: 'the data folder',
  PORT: 'the port of the API; 0 picks a free one',
  COFFER_SYSTEM_PORT: 'where a process without the role api answers /readyz and /metrics',
  HOST: 'the address that the API listens on',
  COFFER_OPERATOR_PORT: 'a separate port for operator routes; 0 picks a free one',
  COFFER_OPERATOR_HOST: 'the address of that port',
  COFFER_PUBLIC_ORIGIN: 'where others reach the API: https://wallets.example',
  DATABASE_URL: 'a PostgreSQL of your own instead of the embedded one',
  EVENTSTORE_URL: 'an EventStoreDB or KurrentDB of your own for the log',
  SOLANA_TEST_RPC_URL: "the nodes of test's chain, separated by commas",
  SOLANA_LIVE_RPC_URL: "the nodes of live's chain, separated by commas",
  COFFER_CHAIN_PORT: 'the port of the embedded chain; 0 picks a free one',
  COFFER_CHAIN_SLOT_MS: 'how long a slot of the embedded chain lasts',
  COFFER_CHAIN_POLL_MS: 'how often the chain worker checks what it sent',
  COFFER_PRIORITY_FEE_MAX_LAMPORTS: 'the highest priority fee that a transaction pays',
  COFFER_FEE_PAYER_LOW_LAMPORTS: 'a fee payer that holds less is reported',
  SMTP_URL: 'the mail server that sends one-time codes',
  COFFER_MAIL_FROM: 'the sender of that mail',
  LOG_LEVEL: 'trace, debug, info, warn, error, fatal or silent',
  COFFER_TRUST_PROXY: 'whose forwarded client address is trusted',
  COFFER_METRICS_PUBLIC: '1: /metrics also answers callers beyond loopback',
  COFFER_SECRETS_KEY: '32 bytes in base64 that seal stored secrets',
  COFFER_MASTER_KEYS: "the keys under which wallets' keys are sealed",
  COFFER_IDENTITY_KEY: '32 bytes in base64 with which identities are hashed; it never changes',
  COFFER_OPERATOR_TOKEN: 'the credential of the admin API',
  COFFER_REQUEST_TIMEOUT_MS: 'the time after which a request is answered',
  COFFER_MAX_CONCURRENT_REQUESTS: 'requests served at a time',
  COFFER_CACHE_MIB: 'memory for cached stream states',
  COFFER_API_THREADS: 'threads that serve the API',
  COFFER_SK_RATE_PER_MINUTE: 'a rate limit per secret key',
  COFFER_SIGN_IN_IP_RATE_PER_MINUTE: 'a rate limit of sign-ins per client address',
  COFFER_SIGN_IN_KEY_RATE_PER_MINUTE: 'a rate limit of sign-ins per publishable key',
  COFFER_REACTION_GRACE_MS: 'how long a flow is left to the request that started it',
  COFFER_RECONCILE_CRON: 'when books are reconciled: a cron expression, in UTC',
  COFFER_RECONCILE_FULL_CRON: 'when they are derived again, from the first event on',
  COFFER_SCRUB_PASS_SECONDS: 'the time in which the scrub verifies the whole log; 0: never',
  COFFER_STORE_GATEWAY_PORT: 'serves the event store to EventStoreDB clients',
  COFFER_STORE_GATEWAY_HOST: 'the address of this gateway',
  COFFER_STORE_GATEWAY_USER: "the name of the gateway's user",
  COFFER_STORE_GATEWAY_PASSWORD: "the password of the gateway's user",
  COFFER_STORE_GATEWAY_WRITABLE: "1: the gateway's clients may append",
  COFFER_STORE_GATEWAY_TLS: '0: the gateway speaks plain text, on loopback and for reading only',
  COFFER_WEBHOOKS_ALLOW_INSECURE: '1: webhooks may use http, and reach this machine',
  COFFER_WEBHOOK_RETENTION_DAYS: 'how long events of webhooks are kept; by default for ever',
  KAFKA_BROKERS: 'where the log is published: host:port,host:port, or kafka(s)://user:password@host:port',
  COFFER_KAFKA_TLS: '1: the brokers are reached with TLS',
  COFFER_KAFKA_TLS_CA: 'the certificates that are trusted, in PEM form',
  COFFER_KAFKA_SASL: 'plain, scram-sha-256 or scram-sha-512',
  COFFER_KAFKA_USER: 'the user for the brokers',
  COFFER_KAFKA_PASSWORD: "this user's password",
  COFFER_KAFKA_TOPIC_PREFIX: 'the first part of the names of all topics',
  COFFER_KAFKA_CREATE_TOPICS: '0: topics must exist',
  COFFER_KAFKA_PARTITIONS: 'partitions of each topic that is created',
  COFFER_KAFKA_REPLICAS: 'its replicas, if not as many as the brokers say',
  COFFER_FAIL_POINT: 'for tests only: where the process dies',
} satisfies Record<VariableName, string>;

/** Laid out like commander's own help. */
export function runHelp(command: Command): string {
  const help = command.createHelp();
  const list = (title: string, items: Readonly<Record<string, string>>): string => {
    const width = Math.max(...Object.keys(items).map((name) => name.length));
    const rows = Object.entries(items).map(([name, text]) => help.formatItem(name, width, text, help));
    return ['', title, ...rows].join('\n');
  };
  return [
    list('Roles:', ROLES),
    list('Environment variables:', VARIABLES),
    '',
    'Values and defaults: docs/operating/README.md',
  ].join('\n');
}
