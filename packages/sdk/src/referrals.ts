/** The referrals group, for backends and for players. Source: specification, Referrals; docs/referrals.md. */
import type { Fields } from './answers.ts';
import type * as api from './api.ts';
import type { Page, PageQuery, Replayable } from './ledgerTypes.ts';
import { bodyOf, pageOf, readerOf } from './resources.ts';
import type { CallOptions } from './retry.ts';
import { type Call, queryOf, readBody, segment } from './transport.ts';

export interface HistoryQuery extends PageQuery {
  /** The id of one of the app's currencies. */
  readonly currency?: number;
}

/**
 * Every call rejects with a `CofferError`. `idemKey` is the key of payouts, distributions and withdrawals together, so a
 * call is sent until it is answered or the deadline passes, and acts once. Take a key of your own records, such as the id
 * of the round that earned the commission: a generated one does not survive your process.
 */
export interface ReferralsClient {
  /** The user's code, made if there is none. */
  readonly code: (request: api.CodeRequest, options?: CallOptions) => Promise<api.ReferralCode>;
  /** The first referrer is final; a code that cannot count is answered with a reason. */
  readonly attribute: (
    request: api.AttributeRequest,
    options?: CallOptions,
  ) => Promise<api.Attribution & Replayable>;
  /** From the direct referrer up. */
  readonly chain: (request: api.ChainRequest, options?: CallOptions) => Promise<api.Chain>;
  /** Books a commission for one user. */
  readonly payout: (
    request: api.CommissionRequest,
    options?: CallOptions,
  ) => Promise<api.BookedEarnings & Replayable>;
  /** Splits an amount over the user's chain, as it is at the first request. */
  readonly distribute: (
    request: api.DistributionRequest,
    options?: CallOptions,
  ) => Promise<api.Distribution & Replayable>;
  readonly balance: (request: api.EarningsRequest, options?: CallOptions) => Promise<api.Earnings>;
  /** To the player's available funds: all there is if no amount is given. */
  readonly withdraw: (
    request: api.EarningsWithdrawalRequest,
    options?: CallOptions,
  ) => Promise<api.BookedEarnings & Replayable>;
  /** With those whom the user brought, the last one first. */
  readonly user: (userId: string, query?: PageQuery, options?: CallOptions) => Promise<api.UserReferrals>;
  /** Accruals and withdrawals, newest first. */
  readonly history: (request: api.HistoryRequest, options?: CallOptions) => Promise<Page<api.EarningsEntry>>;
}

const readCode = readerOf('ReferralCode');
const readAttribution = readerOf('Attribution');
const readChain = readerOf('Chain');
const readBooked = readerOf('BookedEarnings');
const readDistribution = readerOf('Distribution');
const readEarnings = readerOf('Earnings');
const readUser = readerOf('UserReferrals');
const readEntry = readerOf('EarningsEntry');
const readOwn = readerOf('OwnReferrals');
const readOwnAttribution = readerOf('OwnAttribution');
const readShareLinks = readerOf('ShareLinks');

const newKey = () => crypto.randomUUID();

type Body = Readonly<Record<string, unknown>>;

export function createReferralsClient(call: Call): ReferralsClient {
  const post = async (path: string, body: Body, options: CallOptions | undefined) =>
    call({ method: 'POST', path: `/referrals/${path}`, body }, options);
  const ask = async <Answer>(
    path: string,
    body: Body,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> => readBody(await post(path, body, options), readAnswer);
  const write = async <Answer>(
    path: string,
    body: Body,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer & Replayable> => {
    const reply = await post(path, body, options);
    return { ...readBody(reply, readAnswer), replayed: reply.replayed };
  };

  return {
    code: async (request, options) => ask('code', bodyOf('CodeRequest', request), readCode, options),
    attribute: async (request, options) =>
      write('attribute', bodyOf('AttributeRequest', request), readAttribution, options),
    chain: async (request, options) => ask('chain', bodyOf('ChainRequest', request), readChain, options),
    payout: async ({ idemKey = newKey(), ...request }, options) =>
      write('payout', bodyOf('CommissionRequest', { ...request, idemKey }), readBooked, options),
    distribute: async ({ idemKey = newKey(), ...request }, options) =>
      write('distribute', bodyOf('DistributionRequest', { ...request, idemKey }), readDistribution, options),
    balance: async (request, options) =>
      ask('balance', bodyOf('EarningsRequest', request), readEarnings, options),
    withdraw: async ({ idemKey = newKey(), ...request }, options) =>
      write('withdraw', bodyOf('EarningsWithdrawalRequest', { ...request, idemKey }), readBooked, options),
    user: async (userId, query = {}, options) => {
      const path = `/referrals/users/${segment(userId)}${queryOf({ ...query })}`;
      return readBody(await call({ method: 'GET', path }, options), readUser);
    },
    history: async (request, options) =>
      ask('history', bodyOf('HistoryRequest', request), pageOf(readEntry), options),
  };
}

/** Of the signed-in player. Every call rejects with a `CofferError`. */
export interface OwnReferralsClient {
  /** The player's code, referrer and earnings; makes a code if there is none. */
  readonly me: (options?: CallOptions) => Promise<api.OwnReferrals>;
  /** With a code that the player came with; the first referrer is final. */
  readonly attributeSelf: (code: string, options?: CallOptions) => Promise<api.OwnAttribution & Replayable>;
  /** By platform, with the player's code in them. */
  readonly shareLinks: (options?: CallOptions) => Promise<api.ShareLinks>;
  /** Accruals and withdrawals, newest first. */
  readonly history: (query?: HistoryQuery, options?: CallOptions) => Promise<Page<api.EarningsEntry>>;
}

export function createOwnReferralsClient(call: Call): OwnReferralsClient {
  const get = async <Answer>(
    path: string,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> =>
    readBody(await call({ method: 'GET', path: `/referrals/${path}` }, options), readAnswer);

  return {
    me: async (options) => get('me', readOwn, options),
    attributeSelf: async (code, options) => {
      const request = { method: 'POST', path: '/referrals/attribute-self', body: { code } } as const;
      const reply = await call(request, options);
      return { ...readBody(reply, readOwnAttribution), replayed: reply.replayed };
    },
    shareLinks: async (options) => get('share-links', readShareLinks, options),
    history: async (query = {}, options) =>
      get(`me/history${queryOf({ ...query })}`, pageOf(readEntry), options),
  };
}
