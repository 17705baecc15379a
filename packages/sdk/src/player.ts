/** The client of a frontend: it signs players in with the publishable key, and keeps their session fresh. */
import type { Fields } from './answers.ts';
import type { EmailInitiated, Me, Session, SiwsChallenge } from './api.ts';
import { encodeBase64 } from './base64.ts';
import { CofferError, sdkError } from './cofferError.ts';
import type { Fetch } from './platform.ts';
import { createOwnReferralsClient, type OwnReferralsClient } from './referrals.ts';
import { readerOf } from './resources.ts';
import { type CallOptions, type RetryOptions, retryPolicyOf, type Timing } from './retry.ts';
import { memoryTokenStore, type TokenStore, type Tokens } from './tokens.ts';
import { type Call, createTransport, type Request, readBody, withUnknownOutcome } from './transport.ts';
import { createWalletsClient, type WalletsClient } from './wallets.ts';

export interface PlayerClientOptions {
  /** Ends with `/v1`. */
  readonly baseUrl: string;
  /** `pk_test_…` or `pk_live_…`. */
  readonly publishableKey: string;
  /** Default: in memory. */
  readonly tokens?: TokenStore;
  readonly fetch?: Fetch;
  readonly retry?: RetryOptions;
  /** Default: the platform's clock and random numbers. */
  readonly timing?: Timing;
  /** The wall clock that expiries are compared with. Default: `Date.now`. */
  readonly wallClockMs?: () => number;
}

/** Facts about the first touch, which a sign-in may carry. */
export interface FirstTouch {
  readonly referralCode?: string;
  readonly gameKey?: string;
}

export interface SiwsProof extends FirstTouch {
  readonly challenge: SiwsChallenge;
  /** Base58. */
  readonly publicKey: string;
  /** Base64 of the ed25519 signature over the message. */
  readonly signature: string;
}

export interface WalletSignIn extends FirstTouch {
  /** Base58. */
  readonly publicKey: string;
  /**
   * Asks the wallet to sign the bytes; returns the 64 bytes of the signature, bare or in the form that
   * wallets use.
   */
  readonly signMessage: (message: Uint8Array) => Promise<SignedMessage> | SignedMessage;
}

/** The bytes, an object with them (most wallets), or a list with one such object (Wallet Standard). */
export type SignedMessage =
  | Uint8Array
  | { readonly signature: Uint8Array }
  | readonly { readonly signature: Uint8Array }[];

/**
 * Every call rejects with a `CofferError`. Those that sign in store the tokens. A sign-in whose answer was
 * lost is not repeated if its proof is used up (`siws.verify`, `email.verify`): start again.
 */
export interface PlayerClient {
  readonly siws: {
    readonly challenge: (publicKey: string, options?: CallOptions) => Promise<SiwsChallenge>;
    readonly verify: (proof: SiwsProof, options?: CallOptions) => Promise<Session>;
  };
  /** Challenge, the wallet's signature, verify. Shows no interface: the wallet asks the player. */
  readonly signInWithWallet: (wallet: WalletSignIn, options?: CallOptions) => Promise<Session>;
  readonly messenger: {
    /** With the launch data of the mini app, as received from the platform. */
    readonly verify: (
      launch: FirstTouch & { readonly initData: string },
      options?: CallOptions,
    ) => Promise<Session>;
  };
  readonly email: {
    /** Sends a code. The answer is the same for every address. */
    readonly initiate: (email: string, options?: CallOptions) => Promise<EmailInitiated>;
    readonly verify: (
      proof: FirstTouch & { readonly email: string; readonly code: string },
      options?: CallOptions,
    ) => Promise<Session>;
  };
  /**
   * A fresh session. Simultaneous calls share one request. Ends the local session if the service has ended
   * it.
   */
  readonly refresh: () => Promise<Session>;
  /** The access token to hand to the game backend, refreshed if it expires within a minute. */
  readonly accessToken: () => Promise<string>;
  readonly me: (options?: CallOptions) => Promise<Me>;
  readonly wallets: WalletsClient;
  readonly referrals: OwnReferralsClient;
  /** Forgets the tokens, then revokes them. Even if that rejects, the player is signed out here. */
  readonly logout: (options?: CallOptions) => Promise<void>;
}

const ACCESS_TOKEN_LEEWAY_MS = 60_000;

/**
 * Throws a TypeError on a key that is not a publishable key (a secret one must never reach a browser), and on
 * a base address without `/v1`.
 */
export function createPlayerClient(client: PlayerClientOptions): PlayerClient {
  const { baseUrl, publishableKey, tokens = memoryTokenStore(), wallClockMs = () => Date.now() } = client;
  if (!/^pk_(test|live)_/.test(publishableKey)) {
    throw new TypeError('The player client takes a publishable key (pk_…).');
  }
  const policy = retryPolicyOf(client.retry, client.timing);
  const send = createTransport({ baseUrl, fetch: client.fetch, policy });

  const ask = async <Answer>(
    readAnswer: (fields: Fields) => Answer,
    path: string,
    body: Readonly<Record<string, unknown>>,
    repeat: Request['repeat'],
    options: CallOptions | undefined,
  ) => {
    const reply = await send({ method: 'POST', path, body, repeat, bearer: publishableKey }, options);
    return readBody(reply, readAnswer);
  };
  const signIn = async (
    path: string,
    proof: Readonly<Record<string, unknown>>,
    repeat: Request['repeat'],
    options: CallOptions | undefined,
  ): Promise<Session> => {
    const session = await ask(readSession, path, proof, repeat, options);
    await tokens.save(tokensOf(session));
    return session;
  };

  const challenge: PlayerClient['siws']['challenge'] = async (publicKey, options) =>
    ask(readChallenge, '/auth/siws/challenge', { publicKey }, 'safe', options);
  const verifySiws: PlayerClient['siws']['verify'] = async (
    { challenge, publicKey, signature, ...firstTouch },
    options,
  ) => {
    const body = { challenge, publicKey, signature, ...touchOf(firstTouch) };
    return signIn('/auth/siws/verify', body, 'once', options);
  };

  const refreshNow = async (): Promise<Session> => {
    const used = await tokens.load();
    if (!used) throw sdkError('sdk/not_signed_in');
    const { refreshToken } = used;
    let session: Session;
    try {
      const body = { refreshToken };
      // The service answers a repeated refresh with the same next token, so a lost answer costs nothing.
      const reply = await send({ method: 'POST', path: '/auth/refresh', body, repeat: 'safe' });
      session = readBody(reply, readSession);
    } catch (error) {
      if (hasEnded(error) && (await tokens.load())?.refreshToken === refreshToken)
        await tokens.save(undefined);
      throw error;
    }
    // Another tab may have refreshed at the same time and got the same token. But after a logout or another sign-in in
    // the meantime, the old session must not come back.
    const kept = (await tokens.load())?.refreshToken;
    if (kept !== refreshToken && kept !== session.refreshToken) throw sdkError('sdk/not_signed_in');
    await tokens.save(tokensOf(session));
    return session;
  };

  let refreshing: Promise<Session> | undefined;
  const refresh = (): Promise<Session> => {
    refreshing ??= refreshNow().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };

  const accessToken = async (): Promise<string> => {
    const kept = await tokens.load();
    if (!kept) throw sdkError('sdk/not_signed_in');
    const lives = Date.parse(kept.expiresAt) - wallClockMs() > ACCESS_TOKEN_LEEWAY_MS;
    return lives ? kept.accessToken : (await refresh()).accessToken;
  };

  const asPlayer: Call = async (request, options) => {
    const sendWith = (bearer: string) => send({ ...request, repeat: 'safe', bearer }, options);
    const kept = await accessToken();
    try {
      return await sendWith(kept);
    } catch (first) {
      // The clock here may be wrong, or the token's signing key was withdrawn: a fresh token decides.
      if (!(first instanceof CofferError && first.code === 'auth/invalid_session')) throw first;
      const isOpen = first.outcome === 'unknown';
      const fresh = await refresh().catch((error: unknown) => {
        throw isOpen ? first : error;
      });
      return sendWith(fresh.accessToken).catch((second: unknown) => {
        throw isOpen && second instanceof CofferError ? withUnknownOutcome(second) : second;
      });
    }
  };

  return {
    siws: { challenge, verify: verifySiws },
    signInWithWallet: async ({ publicKey, signMessage, ...firstTouch }, options) => {
      const issued = await challenge(publicKey, options);
      const signed = await signMessage(new TextEncoder().encode(issued.message));
      const signature = encodeBase64(signatureOf(signed));
      return verifySiws({ challenge: issued, publicKey, signature, ...firstTouch }, options);
    },
    messenger: {
      verify: async ({ initData, ...firstTouch }, options) =>
        signIn('/auth/messenger/verify', { initData, ...touchOf(firstTouch) }, 'safe', options),
    },
    email: {
      initiate: async (email, options) => {
        // A second arrival would send a second mail, or be refused for coming within a minute.
        return ask(readInitiated, '/auth/email/initiate', { email }, 'once', options);
      },
      verify: async ({ email, code, ...firstTouch }, options) =>
        signIn('/auth/email/verify', { email, code, ...touchOf(firstTouch) }, 'once', options),
    },
    refresh,
    accessToken,
    me: async (options) => readBody(await asPlayer({ method: 'GET', path: '/me' }, options), readMe),
    wallets: createWalletsClient(asPlayer),
    referrals: createOwnReferralsClient(asPlayer),
    logout: async (options) => {
      const kept = await tokens.load();
      if (!kept) return;
      await tokens.save(undefined);
      const body = { refreshToken: kept.refreshToken };
      await send({ method: 'POST', path: '/auth/logout', body, repeat: 'safe' }, options);
    },
  };
}

/** Throws a TypeError on anything that is not a signature: the service would only say that it is invalid. */
function signatureOf(signed: SignedMessage): Uint8Array {
  // Not by its class: a wallet may run in its own frame, which has its own classes.
  const bytes = ArrayBuffer.isView(signed) ? signed : [signed].flat()[0]?.signature;
  if (ArrayBuffer.isView(bytes) && bytes.byteLength === 64) return bytes;
  throw new TypeError('signMessage must answer the 64 bytes of a signature, or { signature } with them.');
}

const tokensOf = ({ accessToken, refreshToken, expiresAt }: Tokens): Tokens => ({
  accessToken,
  refreshToken,
  expiresAt,
});

/** Only the first-touch fields that are present: the service refuses unknown ones. */
const touchOf = ({ referralCode, gameKey }: FirstTouch) => ({
  ...(referralCode !== undefined && { referralCode }),
  ...(gameKey !== undefined && { gameKey }),
});

/** Whether a refresh was refused permanently, so that keeping the tokens is pointless. */
function hasEnded(error: unknown): boolean {
  return (
    error instanceof CofferError &&
    (error.code === 'auth/invalid_refresh_token' || error.code === 'auth/user_suspended')
  );
}

const readSession = readerOf('Session');
const readIssued = readerOf('SiwsChallenge');
const readInitiated = readerOf('EmailInitiated');
const readMe = readerOf('Me');

/** Includes fields that a newer service may have added: the challenge is sent back unchanged. */
const readChallenge = (fields: Fields): SiwsChallenge => ({ ...fields.raw, ...readIssued(fields) });
