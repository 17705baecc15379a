/**
 * What proves that launch data was made for the app's own bot. With the bot's token: the hash that the platform
 * computes with it, https://core.telegram.org/bots/webapps#validating-data-received-via-the-mini-app. With the bot's
 * id alone: the platform's own signature, so that we hold no credential of the bot,
 * https://core.telegram.org/bots/webapps#validating-data-for-third-party-use.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Environment } from '@coffer/kernel';
import type { MethodSettings } from '../settings.ts';
import { isSignedBy } from '../signature.ts';

export type LaunchProof =
  | { readonly kind: 'botToken'; readonly botToken: string }
  | {
      readonly kind: 'botId';
      readonly botId: string;
      /** Ed25519 keys, 32 bytes each; a signature by any of them is accepted. */
      readonly platformKeys: readonly Uint8Array[];
    };

/** As published by the platform: for its production and its test installation. */
const PLATFORM_KEY = Buffer.from('e7bf03a2fa4602af4580703d88dda5bb59f32ed8b02a56c187fe7d34caed242d', 'hex');
const PLATFORM_TEST_KEY = Buffer.from(
  '40055058a4ee38156a06562e52eece92a771bcd8346a8c4615cb7376eddf72ec',
  'hex',
);

/** In test, players may also come from the platform's test installation, where anybody can pose as anyone. */
export const platformKeysOf = (environment: Environment): readonly Uint8Array[] =>
  environment === 'live' ? [PLATFORM_KEY] : [PLATFORM_KEY, PLATFORM_TEST_KEY];

/** If both are set, the token is used. Undefined: the messenger is not configured. */
export function launchProofOf(
  { botToken, botId }: Pick<MethodSettings, 'botToken' | 'botId'>,
  environment: Environment,
): LaunchProof | undefined {
  if (botToken !== undefined) return { kind: 'botToken', botToken };
  if (botId !== undefined) return { kind: 'botId', botId, platformKeys: platformKeysOf(environment) };
  return undefined;
}

/** No field may contain a line break, or one field could pass for two. */
export function isProved(fields: ReadonlyMap<string, string>, proof: LaunchProof): boolean {
  switch (proof.kind) {
    case 'botToken':
      return isHashed(fields, proof.botToken);
    case 'botId':
      return isSigned(fields, proof.botId, proof.platformKeys);
  }
}

/** The platform's newer `signature` field is part of what this hash covers. */
function isHashed(fields: ReadonlyMap<string, string>, botToken: string): boolean {
  const hash = fields.get('hash');
  if (hash === undefined || !/^[0-9a-f]{64}$/.test(hash)) return false;
  const secret = createHmac('sha256', 'WebAppData').update(botToken).digest();
  const expected = createHmac('sha256', secret)
    .update(linesOf(fields, ['hash']))
    .digest();
  return timingSafeEqual(expected, Buffer.from(hash, 'hex'));
}

/** 64 bytes, in their only spelling without padding. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;

function isSigned(
  fields: ReadonlyMap<string, string>,
  botId: string,
  platformKeys: readonly Uint8Array[],
): boolean {
  const signature = fields.get('signature');
  if (signature === undefined || !SIGNATURE.test(signature)) return false;
  const message = Buffer.from(`${botId}:WebAppData\n${linesOf(fields, ['hash', 'signature'])}`);
  return platformKeys.some((key) => isSignedBy(key, Buffer.from(signature, 'base64url'), [message]));
}

function linesOf(fields: ReadonlyMap<string, string>, leftOut: readonly string[]): string {
  return [...fields]
    .filter(([key]) => !leftOut.includes(key))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');
}
