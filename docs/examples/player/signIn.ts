/** Signs a player in with a Solana keypair, as a browser does with a wallet extension. See the README beside it. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createPlayerClient } from '@coffer/sdk';

export interface Keypair {
  /** Base58. */
  readonly publicKey: string;
  readonly signMessage: (message: Uint8Array) => Promise<Uint8Array>;
}

/**
 * The keypair in a file of the Solana command line: 64 numbers, seed and public key. Created if there is
 * none.
 */
export async function openKeypair(path: string): Promise<Keypair & { readonly isNew: boolean }> {
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (kept !== undefined) return { ...keypairOf(Uint8Array.from(JSON.parse(kept))), isNew: false };

  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const bytes = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]);
  await writeFile(path, JSON.stringify([...bytes]), { mode: 0o600, flag: 'wx' });
  return { ...keypairOf(bytes), isNew: true };
}

function keypairOf(bytes: Uint8Array): Keypair {
  const [seed, publicKey] = [bytes.subarray(0, 32), bytes.subarray(32)];
  const encode = (half: Uint8Array) => Buffer.from(half).toString('base64url');
  const jwk = { kty: 'OKP', crv: 'Ed25519', d: encode(seed), x: encode(publicKey) };
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  return {
    publicKey: base58(publicKey),
    signMessage: async (message) => sign(null, message, key),
  };
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes: Uint8Array): string {
  let text = '';
  for (let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); value > 0n; value /= 58n) {
    text = ALPHABET.charAt(Number(value % 58n)) + text;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros) + text;
}

if (import.meta.main) {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const [baseUrl, publishableKey, path] = process.argv.slice(2);
  if (!baseUrl || !publishableKey || !path) {
    say('Usage: signIn.ts BASE_URL PUBLISHABLE_KEY KEYPAIR_FILE');
    process.exit(2);
  }
  process.once('uncaughtException', ({ message }) => {
    say(message);
    process.exit(1);
  });

  const { isNew, ...keypair } = await openKeypair(path);
  say(`The keypair of ${path}${isNew ? ', made just now' : ''}: ${keypair.publicKey}`);

  const coffer = createPlayerClient({ baseUrl, publishableKey });
  const { user, accessToken } = await coffer.signInWithWallet({
    publicKey: keypair.publicKey,
    signMessage: async (message) => {
      say(`signs: ${new TextDecoder().decode(message).split('\n', 1)}`);
      return keypair.signMessage(message);
    },
  });
  const wallet = await coffer.wallets.me();
  say(`Signed in as ${user.id}, with the wallet ${wallet.address}`);

  // For programs; the rest was for people.
  const answer = { userId: user.id, walletId: wallet.id, address: wallet.address, accessToken };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
