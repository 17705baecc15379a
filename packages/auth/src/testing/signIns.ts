/** For specs: an app that players can sign in to with each method, and what a player brings. */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { type Client, requireStatus } from '@coffer/host/testing';
import { encodeBase58 } from '@coffer/kernel';

export const BOT_TOKEN = '7000000001:AAspec-token-of-a-bot-that-never-was';

/** Enables all sign-in methods for the app's players. */
export async function allowSignIn(client: Client, appId: string): Promise<void> {
  const settings = {
    allowedAuthMethods: ['siws', 'messenger', 'email'],
    allowedOrigins: ['https://game.example'],
    botToken: BOT_TOKEN,
  };
  requireStatus(await client.post(`/portal/app/${appId}/settings`, { settings }), 200);
}

export function newWallet(): {
  readonly publicKey: string;
  readonly signMessage: (message: Uint8Array) => Promise<Uint8Array>;
} {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: encodeBase58(Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')),
    signMessage: async (message) => sign(undefined, message, privateKey),
  };
}

/** Launch data as the messenger signs it for this user, now. Source: contract, Sign-in and sessions. */
export function launchDataOf(
  user: {
    readonly id: number;
    readonly username: string;
    readonly first_name?: string;
    readonly last_name?: string;
    readonly photo_url?: string;
  },
  { botToken = BOT_TOKEN, startParam }: { readonly botToken?: string; readonly startParam?: string } = {},
): string {
  const fields: Readonly<Record<string, string>> = {
    auth_date: String(Math.floor(Date.now() / 1_000)),
    query_id: 'AAE',
    ...(startParam === undefined ? {} : { start_param: startParam }),
    user: JSON.stringify({ first_name: 'Ada', ...user }),
  };
  const checkString = Object.keys(fields)
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join('\n');
  const secret = createHmac('sha256', 'WebAppData').update(botToken).digest();
  const hash = createHmac('sha256', secret).update(checkString).digest('hex');
  return new URLSearchParams({ ...fields, hash }).toString();
}
