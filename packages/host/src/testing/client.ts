/** The service as its callers see it, for specs: over HTTP only, with the exact bytes of each answer. */
import { randomUUID } from 'node:crypto';
import type { Environment } from '@coffer/kernel';
import { eventually } from '@coffer/testing';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The exact body, which a replay must repeat byte for byte. */
  readonly text: string;
  /** The body if it is a JSON object, otherwise empty. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Whether the service marks the answer as a replay. */
  readonly replayed: boolean;
}

export interface CallOptions {
  /** The credential; defaults to the operator's token. Null sends none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Client {
  /** `http://host:port/v1`; paths are below it. */
  readonly baseUrl: string;
  readonly get: (path: string, options?: CallOptions) => Promise<Answer>;
  /** A text body is sent as is, anything else as JSON. */
  readonly post: (path: string, body: unknown, options?: CallOptions) => Promise<Answer>;
  readonly send: (method: string, path: string, body: unknown, options?: CallOptions) => Promise<Answer>;
  /** The lines of an endpoint that answers JSON lines. Throws unless the status is 200. */
  readonly lines: (path: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export function createClient(service: { readonly baseUrl: string; readonly operatorToken: string }): Client {
  const { baseUrl, operatorToken } = service;

  const send: Client['send'] = async (method, path, body, { key = operatorToken, headers = {} } = {}) => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : {},
      replayed: response.headers.get('idempotency-replayed') === 'true',
    };
  };

  return {
    baseUrl,
    send,
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, body, options),
    lines: async (path) => {
      const { text } = requireStatus(await send('GET', path, undefined), 200);
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    },
  };
}

/** Fails with the actual answer. */
export function requireStatus(answer: Answer, status: number): Answer {
  if (answer.status === status) return answer;
  throw new Error(`Answered ${answer.status} where ${status} was expected: ${answer.text}`);
}

/** "200", or "409 ledger/session_settled". */
export function verdict({ status, json }: Answer): string {
  return typeof json.code === 'string' ? `${status} ${json.code}` : String(status);
}

/** A text field of an answer. Fails with the answer if the field is missing. */
export function textOf(answer: Answer, field: string): string {
  const value = answer.json[field];
  if (typeof value === 'string') return value;
  throw new Error(`Answered ${answer.status} without a text "${field}": ${answer.text}`);
}

/** Request fields; the identifying ones are made up if not given. */
export type Fields = Readonly<Record<string, unknown>>;

/** An app in one environment, and the API as its secret key sees it. */
export interface AppPlace {
  readonly appId: string;
  readonly environment: Environment;
  readonly secretKey: string;
  readonly publishableKey: string;
  /** With the secret key, unless given otherwise. */
  readonly get: Client['get'];
  readonly post: Client['post'];

  // As the operator. These throw if refused.
  readonly newUser: () => Promise<string>;
  readonly credit: (userId: string, amount: string, ref?: string, currency?: string) => Promise<Answer>;
  readonly funds: (userId: string, currency?: string) => Promise<{ available: string; held: string }>;
  /** A user with this much CHIP. */
  readonly newPlayer: (amount: string) => Promise<string>;
  /** An open session in CHIP for a new player, who has no other funds. */
  readonly newSession: (lockAmount: string) => Promise<{ userId: string; sessionId: string }>;

  // As the game server. These return whatever the service answers.
  readonly openSession: (fields: Fields) => Promise<Answer>;
  readonly bet: (fields: Fields) => Promise<Answer>;
  readonly win: (fields: Fields) => Promise<Answer>;
  readonly rollback: (fields: Fields) => Promise<Answer>;
  readonly settle: (fields: Fields) => Promise<Answer>;
  readonly balance: (sessionId: string) => Promise<Answer>;
  readonly batch: (sessionId: string, operations: readonly Fields[]) => Promise<Answer>;
  /** Asks again for as long as the run goes on, as the service says. */
  readonly reconcile: () => Promise<Answer>;
}

export interface TestApp {
  readonly appId: string;
  readonly scopeId: string;
  readonly test: AppPlace;
  readonly live: AppPlace;
}

const SOL = { id: 1, code: 'SOL', decimals: 9, mint: { test: 'native', live: 'native' } };
const CHIP = {
  id: 2,
  code: 'CHIP',
  decimals: 6,
  mint: { test: 'Chip111111111111111111111111111111111111111', live: null },
};

/** Through the admin API: an app with SOL and CHIP, and keys for both environments. */
export async function setUpApp(
  client: Client,
  {
    chipMint = CHIP.mint.test,
    ...app
  }: {
    readonly name?: string;
    readonly scope?: string;
    /** Null if the service has a chain, which does not know the mint. */
    readonly chipMint?: string | null;
  } = {},
): Promise<TestApp> {
  const made = requireStatus(await client.post('/portal/apps', { name: 'Arcade', ...app }), 200);
  const appId = textOf(made, 'appId');
  const chip = { ...CHIP, mint: { ...CHIP.mint, test: chipMint } };
  for (const currency of [SOL, chip]) {
    requireStatus(await client.post(`/portal/app/${appId}/currencies`, currency), 200);
  }
  return {
    appId,
    scopeId: textOf(made, 'scopeId'),
    test: await placeOf(client, appId, 'test'),
    live: await placeOf(client, appId, 'live'),
  };
}

export async function placeOf(client: Client, appId: string, environment: Environment): Promise<AppPlace> {
  const admin = `/portal/app/${appId}/${environment}`;
  const newKey = async (kind: 'secret' | 'publishable') =>
    textOf(await client.post(`${admin}/keys`, { kind }), 'key');
  const secretKey = await newKey('secret');
  const publishableKey = await newKey('publishable');

  const post: Client['post'] = (path, body, options) =>
    client.post(path, body, { key: secretKey, ...options });
  const openSession = (fields: Fields) =>
    post('/ledger/sessions', {
      gameCode: 'dice',
      currency: 'CHIP',
      transactionUuid: randomUUID(),
      ...fields,
    });
  const write = (path: string) => (fields: Fields) =>
    post(path, { transactionUuid: randomUUID(), ...fields });

  const get: Client['get'] = (path, options) => client.get(path, { key: secretKey, ...options });
  const newUser = async () => textOf(await client.post(`${admin}/users`, {}), 'userId');
  const credit = async (userId: string, amount: string, ref: string = randomUUID(), currency = 'CHIP') =>
    requireStatus(
      await client.post(`${admin}/users/${userId}/accounts/credit`, { currency, amount, ref }),
      200,
    );
  const newPlayer = async (amount: string) => {
    const userId = await newUser();
    await credit(userId, amount);
    return userId;
  };

  return {
    appId,
    environment,
    secretKey,
    publishableKey,
    get,
    post,
    newUser,
    credit,
    funds: async (userId, currency = 'CHIP') => {
      const answer = await client.get(`${admin}/users/${userId}/accounts?currency=${currency}`);
      return { available: textOf(answer, 'available'), held: textOf(answer, 'held') };
    },
    newPlayer,
    newSession: async (lockAmount) => {
      const userId = lockAmount === '0' ? await newUser() : await newPlayer(lockAmount);
      const opened = requireStatus(await openSession({ userId, lockAmount }), 201);
      return { userId, sessionId: textOf(opened, 'sessionId') };
    },
    openSession,
    bet: write('/ledger/bet'),
    win: write('/ledger/win'),
    rollback: write('/ledger/rollback'),
    settle: (fields) => post('/ledger/settle', fields),
    balance: (sessionId) => post('/ledger/balance', { sessionId }),
    batch: (sessionId, operations) => post('/ledger/batch', { sessionId, operations }),
    reconcile: () =>
      eventually('the reconciliation has ended', async () => {
        const answer = await get('/ledger/reconcile');
        return Object(answer.json.details).reason === 'still_running' ? undefined : answer;
      }),
  };
}
