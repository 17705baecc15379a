/** The client of a game backend: it holds the secret key and moves money. Never ship it to a browser. */
import type { Account, VerifiedSession } from './api.ts';
import { type CustodyClient, createCustodyClient } from './custody.ts';
import { createFeedClient, type FeedClient } from './feed.ts';
import { createLedgerClient, type LedgerClient } from './ledger.ts';
import type { Fetch } from './platform.ts';
import { createReferralsClient, type ReferralsClient } from './referrals.ts';
import { readerOf } from './resources.ts';
import { type CallOptions, type RetryOptions, retryPolicyOf, type Timing } from './retry.ts';
import { type Call, createTransport, readBody, segment } from './transport.ts';
import { createTreasuryClient, type TreasuryClient } from './treasury.ts';
import { createServerWalletsClient, type ServerWalletsClient } from './wallets.ts';

export interface BackendClientOptions {
  /** Ends with `/v1`. */
  readonly baseUrl: string;
  /** `sk_test_…` or `sk_live_…`: it decides the app and the environment. */
  readonly secretKey: string;
  /** Default: the platform's. */
  readonly fetch?: Fetch;
  readonly retry?: RetryOptions;
  /** Default: the platform's clock and random numbers. */
  readonly timing?: Timing;
}

export interface BackendClient {
  readonly sessions: {
    /**
     * Identifies the bearer of this access token. Rejects with `auth/invalid_session` if it is not valid, for
     * whatever reason.
     */
    readonly verify: (accessToken: string, options?: CallOptions) => Promise<VerifiedSession>;
  };
  readonly ledger: LedgerClient;
  readonly treasury: TreasuryClient;
  readonly custody: CustodyClient;
  readonly referrals: ReferralsClient;
  readonly wallets: ServerWalletsClient;
  readonly webhooks: FeedClient;
  readonly users: {
    readonly accounts: (userId: string, options?: CallOptions) => Promise<readonly Account[]>;
  };
}

const readVerifiedSession = readerOf('VerifiedSession');
const readAccount = readerOf('Account');

/** Throws a TypeError on a key that is not a secret key, and on a base address without `/v1`. */
export function createBackendClient(client: BackendClientOptions): BackendClient {
  const { baseUrl, secretKey, fetch, retry, timing } = client;
  if (!/^sk_(test|live)_/.test(secretKey))
    throw new TypeError('The backend client takes a secret key (sk_…).');
  const policy = retryPolicyOf(retry, timing);
  const send = createTransport({ baseUrl, fetch, policy });

  const call: Call = (request, options) =>
    send({ ...request, repeat: 'safe', bearer: secretKey, requestId: crypto.randomUUID() }, options);

  return {
    sessions: {
      verify: async (accessToken, options) => {
        const body = { sessionToken: accessToken };
        const reply = await call({ method: 'POST', path: '/sessions/verify', body }, options);
        return readBody(reply, readVerifiedSession);
      },
    },
    ledger: createLedgerClient(call),
    treasury: createTreasuryClient(call, policy.timing),
    custody: createCustodyClient(call, policy.timing),
    referrals: createReferralsClient(call),
    wallets: createServerWalletsClient(call),
    webhooks: createFeedClient(call, policy),
    users: {
      accounts: async (userId, options) => {
        const reply = await call({ method: 'GET', path: `/users/${segment(userId)}/accounts` }, options);
        return readBody(reply, (answer) => answer.list('items', readAccount));
      },
    },
  };
}
