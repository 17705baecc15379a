/** The gateway to the event store, if enabled, and its certificate. */
import { randomBytes, X509Certificate } from 'node:crypto';
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { EventStore } from '@coffer/event-store';
import { createRateLimiter, type Logger, rateKeyOfAddress } from '@coffer/http';
import type { Certificate, StoreGateway } from '@coffer/store-gateway';
import { isLoopback } from '@coffer/store-gateway/loopback';
import type { Config } from './config.ts';

/** A certificate that expires sooner is replaced. */
const MIN_DAYS_LEFT = 30;
const MS_PER_DAY = 86_400_000;

/** The requested gateway is unavailable; the message is for the person starting the service. */
export class StoreGatewayStartError extends Error {
  override readonly name = 'StoreGatewayStartError';
}

/** What clients need in order to trust the gateway. */
export const gatewayCertificatePath = (dataFolder: string) => join(dataFolder, 'store-gateway.crt');

/** What a client on this machine connects with, if the gateway listens on `port`. */
export function gatewayUrl(config: Config, port: number, password: string): string | undefined {
  if (!config.storeGateway) return undefined;
  const { host, user, hasTls } = config.storeGateway;
  const name = EVERY_HOST.has(host) || isLoopback(host) ? 'localhost' : host;
  const address = `${name.includes(':') ? `[${name}]` : name}:${port}`;
  if (!hasTls) return `esdb://${address}?tls=false`;
  const trusted = encodeURIComponent(gatewayCertificatePath(config.dataFolder));
  return `esdb://${user}:${encodeURIComponent(password)}@${address}?tls=true&tlsCAFile=${trusted}`;
}

/** Undefined if the configuration does not enable it. */
export async function startStoreGateway(options: {
  readonly config: Config;
  readonly store: EventStore;
  /** Whether the service is busy with players, who take precedence over the gateway's reads. */
  readonly isBusy: () => boolean;
  readonly storeGatewayPassword: string | undefined;
  readonly logger: Logger;
}): Promise<StoreGateway | undefined> {
  const { config, store, isBusy, storeGatewayPassword: password, logger } = options;
  if (!config.storeGateway || password === undefined) return undefined;
  // Loaded only if needed.
  const { createStoreGateway } = await import('@coffer/store-gateway');
  const { host, port, user, isWritable, hasTls } = config.storeGateway;
  const tls = hasTls ? await installationCertificate(config.dataFolder, host) : undefined;
  const gateway = await createStoreGateway({
    store,
    host,
    port,
    credentials: { user, password },
    allowWrites: isWritable,
    tls,
    failedLogins: failedLoginsByAddress(),
    keyOfAddress: rateKeyOfAddress,
    isBusy,
    logger,
  }).catch((cause: unknown) => {
    throw new StoreGatewayStartError(
      `The store gateway cannot listen on ${host}, port ${port}. Set COFFER_STORE_GATEWAY_PORT to a free one.`,
      { cause },
    );
  });
  logger.info({ host, port: gateway.port, tls: hasTls, writable: isWritable }, 'the store gateway listens');
  return gateway;
}

/** A mistyped password causes no delay, but passwords cannot be guessed. */
function failedLoginsByAddress() {
  const limiter = createRateLimiter({ perMinute: 10, burst: 10 }, () => performance.now());
  return {
    wait: (address: string) => limiter.wait(rateKeyOfAddress(address)),
    take: (address: string) => limiter.take(rateKeyOfAddress(address)),
  };
}

/** Created once and kept in the data folder, with its key; replaced before it expires. */
async function installationCertificate(dataFolder: string, host: string): Promise<Certificate> {
  const path = join(dataFolder, 'store-gateway.pem');
  const pair = (await keptCertificate(path)) ?? (await makeCertificate(path, host));
  // Without the key, for those who connect.
  await writeWhole(gatewayCertificatePath(dataFolder), pair.certificate, 0o644);
  return pair;
}

/** Undefined if there is none, or it expires soon. */
async function keptCertificate(path: string): Promise<Certificate | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (text === undefined) return undefined;
  const [privateKey, certificate] = [block(text, 'PRIVATE KEY'), block(text, 'CERTIFICATE')];
  if (!privateKey || !certificate) throw new Error(`${path} does not hold a private key and a certificate.`);
  const leftMs = new X509Certificate(certificate).validToDate.getTime() - Date.now();
  return leftMs > MIN_DAYS_LEFT * MS_PER_DAY ? { privateKey, certificate } : undefined;
}

/** All blocks of this kind, since a certificate chain has several; empty if there are none. */
function block(pem: string, kind: 'PRIVATE KEY' | 'CERTIFICATE'): string {
  const pattern = new RegExp(`-----BEGIN [A-Z ]*${kind}-----[^-]+-----END [A-Z ]*${kind}-----\\n?`, 'g');
  return (pem.match(pattern) ?? []).join('');
}

async function makeCertificate(path: string, host: string): Promise<Certificate> {
  const { selfSignedCertificate } = await import('@coffer/store-gateway');
  const names = new Set([
    'localhost',
    '127.0.0.1',
    '::1',
    hostname(),
    ...(EVERY_HOST.has(host) ? [] : [host]),
  ]);
  const pair = await selfSignedCertificate([...names], new Date());
  await writeWhole(path, pair.privateKey + pair.certificate, 0o600);
  return pair;
}
const EVERY_HOST: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Under another name first: a concurrent reader finds either the complete old file or the complete new one. */
async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, text, { mode, flush: true });
  await chmod(draft, mode);
  await rename(draft, path);
}
