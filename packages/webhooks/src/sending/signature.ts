/**
 * Both signatures of a delivery: ours, and those of Standard Webhooks, which libraries of most languages verify. `t` is
 * that of the attempt, since a receiver accepts only a few minutes. Source: spec, Signature rules; contract, Webhooks.
 */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

export interface SignedContent {
  /** The event's, the same at each attempt. */
  readonly id: string;
  readonly type: string;
  readonly body: Uint8Array;
}

/** One secret for both schemes: the whole text keys ours, the bytes that it encodes those of Standard Webhooks. */
export const newSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** `secrets`: the newest first, because receivers that keep one signature of each scheme keep the last. */
export function signedHeaders(
  { id, type, body }: SignedContent,
  secrets: readonly string[],
  at: Date,
): Record<string, string> {
  const t = String(Math.floor(at.getTime() / 1000));
  const ours = secrets.map((secret) => `v1=${macOf(secret, [t, '.', body]).toString('hex')}`);
  const standard = secrets.map(
    (secret) => `v1,${macOf(bytesOf(secret), [`${id}.${t}.`, body]).toString('base64')}`,
  );
  return {
    'x-service-event': type,
    'x-service-signature': [`t=${t}`, ...ours].join(','),
    'webhook-id': id,
    'webhook-timestamp': t,
    'webhook-signature': standard.join(' '),
  };
}

const bytesOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

function macOf(key: string | Uint8Array, parts: readonly (string | Uint8Array)[]): Buffer {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}
