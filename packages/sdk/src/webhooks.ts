/**
 * Verifies webhooks: the signature of the service or that of Standard Webhooks, on the raw bytes. Source: specification,
 * Signature rules.
 */
import { fieldsOf } from './answers.ts';
import { decodeBase64 } from './base64.ts';
import { sdkError } from './cofferError.ts';
import { orderOf } from './eventOrder.ts';
import { isTest, readWebhookEvent, type WebhookEvent } from './webhookEvents.ts';

/** Names in any case, as Node, Express and `Headers` hand them over. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the time of the signature may be from now. Default 300. */
  readonly toleranceSeconds?: number;
  /** Default: this machine's time, in milliseconds. */
  readonly now?: () => number;
}

/** What an adapter of Express needs of a request whose body is raw: `express.raw({ type: 'application/json' })`. */
export interface RawRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

/** What it needs of a `Request`. */
export interface FetchRequest {
  readonly headers: { get(name: string): string | null };
  arrayBuffer(): Promise<ArrayBuffer>;
}

const DEFAULT_TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

export const webhooks = {
  /** Whether it is a test event, which tells of nothing. */
  isTest,

  /** Whether an event is in order, comes after a gap, is from before receiving began, or is a duplicate. */
  orderOf,

  /**
   * The event, if one of the secrets has signed these bytes just now. Pass both secrets while you rotate. Throws
   * `sdk/webhook_not_verified`.
   */
  async verify(
    rawBody: string | Uint8Array,
    headers: WebhookHeaders,
    secret: string | readonly string[],
    { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now }: VerifyOptions = {},
  ): Promise<WebhookEvent> {
    const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody;
    const secrets = typeof secret === 'string' ? [secret] : secret;
    const signed = oursOf(headers) ?? standardOf(headers);
    if (!signed) throw notVerified('It carries no signature.');
    if (!(Math.abs(now() / 1000 - signed.at) <= toleranceSeconds)) {
      throw notVerified('Its signature is too old, or from the future.');
    }
    const content = joined(new TextEncoder().encode(signed.prefix), body);
    for (const one of secrets) {
      const key = await keyOf(signed.scheme, one);
      for (const signature of signed.signatures) {
        // The platform compares in constant time.
        if (key && (await crypto.subtle.verify('HMAC', key, signature, content))) return parsed(body);
      }
    }
    throw notVerified('None of its signatures is by one of the secrets.');
  },

  /** For a request whose body is still raw. Throws `sdk/webhook_not_verified`. */
  verifyExpress(
    { headers, body }: RawRequest,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<WebhookEvent> {
    if (!(body instanceof Uint8Array) && typeof body !== 'string') {
      return Promise.reject(
        notVerified("Its body is already parsed: use express.raw({ type: 'application/json' })."),
      );
    }
    return webhooks.verify(body, headers, secret, options);
  },

  /** Consumes the body. Throws `sdk/webhook_not_verified`. */
  async verifyRequest(
    request: FetchRequest,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<WebhookEvent> {
    return webhooks.verify(new Uint8Array(await request.arrayBuffer()), request.headers, secret, options);
  },
};

interface Signed {
  readonly scheme: 'ours' | 'standard';
  /** In seconds; NaN for what is no time. */
  readonly at: number;
  /** What is signed before the body. */
  readonly prefix: string;
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
}

function oursOf(headers: WebhookHeaders): Signed | undefined {
  const text = headerOf(headers, 'X-Service-Signature');
  if (text === undefined) return undefined;
  const parts = text.split(',').map((part) => part.trim());
  const t = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  const signatures = parts.flatMap((part) =>
    /^v1=[0-9a-f]{64}$/.test(part) ? [fromHex(part.slice(3))] : [],
  );
  return { scheme: 'ours', at: secondsOf(t), prefix: `${t}.`, signatures };
}

function standardOf(headers: WebhookHeaders): Signed | undefined {
  const id = headerOf(headers, 'webhook-id');
  const t = headerOf(headers, 'webhook-timestamp');
  const text = headerOf(headers, 'webhook-signature');
  if (id === undefined || t === undefined || text === undefined) return undefined;
  const signatures = text.split(' ').flatMap((part) => {
    const bytes = part.startsWith('v1,') ? decodeBase64(part.slice(3)) : undefined;
    return bytes ? [Uint8Array.from(bytes)] : [];
  });
  return { scheme: 'standard', at: secondsOf(t), prefix: `${id}.${t}.`, signatures };
}

/** Ours is keyed by the whole text, the standard's by the bytes that it encodes. */
async function keyOf(scheme: Signed['scheme'], secret: string) {
  const bytes =
    scheme === 'ours'
      ? new TextEncoder().encode(secret)
      : decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (!bytes || bytes.length === 0) return undefined;
  return crypto.subtle.importKey('raw', Uint8Array.from(bytes), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
}

/** The service has signed it, and signs nothing but events. */
const parsed = (body: Uint8Array): WebhookEvent =>
  readWebhookEvent(fieldsOf(JSON.parse(new TextDecoder().decode(body))));

const secondsOf = (text: string): number => (/^\d{1,12}$/.test(text) ? Number(text) : Number.NaN);

const fromHex = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (isGetter(headers)) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return typeof found === 'string' ? found : found?.join(',');
}

const isGetter = (headers: WebhookHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === 'function';

const notVerified = (message: string) => sdkError('sdk/webhook_not_verified', { message });
