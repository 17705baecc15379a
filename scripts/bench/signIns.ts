/** Players who have signed in with their own wallets, and what their clients send. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { encodeBase58 } from '@coffer/kernel';
import { inParallel } from './inParallel.ts';
import { type PlayersOptions, post } from './players.ts';

export interface SignedInPlayers {
  /** Bodies of POST /sessions/verify, each with the session of a different player. */
  readonly verifications: readonly string[];
  /** Bodies of POST /auth/siws/challenge, one per player. */
  readonly challengeRequests: readonly string[];
  /** Bodies of POST /auth/siws/verify: each challenge, signed by the player whose key it names. */
  readonly answersTo: (challenges: readonly string[]) => readonly string[];
  readonly users: readonly SignedInUser[];
}

export interface SignedInUser {
  readonly userId: string;
  /** The address of the wallet that the service keeps for them, in the environment `test`. */
  readonly address: string;
}

export interface Wallet {
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export async function signInPlayers(
  { service, signal }: PlayersOptions,
  count: number,
): Promise<SignedInPlayers> {
  const wallets = new Map(
    Array.from({ length: count }, () => newWallet()).map((wallet) => [wallet.publicKey, wallet]),
  );
  const bodies = [...wallets.keys()].map((publicKey) => JSON.stringify({ publicKey }));
  const answerTo = (challenge: string): string => {
    // The second line of the text to sign is the key.
    const issued: { readonly message: string } = JSON.parse(challenge);
    const wallet = wallets.get(issued.message.split('\n')[1] ?? '');
    if (!wallet) throw new Error(`The challenge is for nobody: ${challenge}`);
    const signature = sign(undefined, Buffer.from(issued.message), wallet.privateKey).toString('base64');
    return JSON.stringify({ challenge: issued, publicKey: wallet.publicKey, signature });
  };

  const call = (path: string, body: string): Promise<string> =>
    post(`${service.operator.url}${path}`, service.boot.keys.test.publishable, body, signal);
  const signedIn = await inParallel(count, async (index): Promise<SignInAnswer> => {
    const challenge = await call('/auth/siws/challenge', bodies[index] ?? '');
    return JSON.parse(await call('/auth/siws/verify', answerTo(challenge)));
  });
  return {
    verifications: signedIn.map(({ accessToken }) => JSON.stringify({ sessionToken: accessToken })),
    users: signedIn.map(({ user }) => userOf(user)),
    challengeRequests: bodies,
    answersTo: (challenges) => {
      if (challenges.length !== count) {
        throw new Error(`There are ${challenges.length} challenges for ${count} players.`);
      }
      return challenges.map(answerTo);
    },
  };
}

interface SignInAnswer {
  readonly accessToken: string;
  readonly user: {
    readonly id: string;
    readonly wallets: readonly { readonly environment: string; readonly address: string }[];
  };
}

function userOf({ id, wallets }: SignInAnswer['user']): SignedInUser {
  const wallet = wallets.find(({ environment }) => environment === 'test');
  if (!wallet) throw new Error(`${id} has no wallet.`);
  return { userId: id, address: wallet.address };
}

export function newWallet(): Wallet {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { publicKey: encodeBase58(Buffer.from(x, 'base64url')), privateKey };
}
