/** Players with funds and open sessions, created over HTTP as an operator and a game would. */
import { inParallel } from './inParallel.ts';
import type { ServiceUnderTest } from './service.ts';

const CURRENCY = 'CHIP';
/** The sessions are spread over players, so that opening them does not wait for one account stream. */
const SESSIONS_PER_PLAYER = 20;
const LOCK_AMOUNT = '1000000000000';
const CREDIT_AMOUNT = '1000000000000000';

export interface PlayersOptions {
  readonly service: ServiceUnderTest;
  readonly signal: AbortSignal;
}

/** Open sessions, each with more funds than a run can bet. */
export async function openSessions(options: PlayersOptions, count: number): Promise<readonly string[]> {
  const players = await inParallel(Math.ceil(count / SESSIONS_PER_PLAYER), () => createPlayer(options));
  return inParallel(count, (index) => openSession(options, players[index % players.length] ?? ''));
}

export async function createPlayer(options: PlayersOptions): Promise<string> {
  const { operator } = options.service;
  const userId = await createUser(options);
  const credit = { currency: CURRENCY, amount: CREDIT_AMOUNT, ref: 'bench' };
  const url = `${usersUrlOf(options.service)}/${userId}/accounts/credit`;
  await postFor(url, operator.token, credit, 'available', options.signal);
  return userId;
}

/** Without funds. */
export async function createUser(
  { service, signal }: PlayersOptions,
  appId = service.boot.appId,
): Promise<string> {
  const { token } = service.operator;
  return (await postFor(usersUrlOf(service, appId), token, {}, 'userId', signal)).userId;
}

const usersUrlOf = ({ operator, boot }: ServiceUnderTest, appId = boot.appId): string =>
  `${operator.url}/portal/app/${appId}/test/users`;

async function openSession({ service, signal }: PlayersOptions, userId: string): Promise<string> {
  const body = { userId, gameCode: 'bench', currency: CURRENCY, lockAmount: LOCK_AMOUNT };
  const secretKey = service.boot.keys.test.secret;
  const opened = await postFor(
    `${service.operator.url}/ledger/sessions`,
    secretKey,
    body,
    'sessionId',
    signal,
  );
  return opened.sessionId;
}

/** The answer's field with that name, which must be text. */
export async function postFor<Field extends string>(
  url: string,
  token: string,
  body: object,
  field: Field,
  signal: AbortSignal,
): Promise<Readonly<Record<Field, string>>> {
  const text = await post(url, token, JSON.stringify(body), signal);
  const answer: Record<string, unknown> = JSON.parse(text);
  const value = answer[field];
  if (typeof value !== 'string')
    throw new Error(`POST ${new URL(url).pathname} answered without ${field}: ${text}`);
  // Callers need only one field.
  return { [field]: value } as Record<Field, string>;
}

/** The body of the answer. Throws on any status but 200 and 201. */
export async function post(url: string, token: string, body: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    signal,
  });
  const text = await response.text();
  if (response.status !== 200 && response.status !== 201) {
    throw new Error(`POST ${new URL(url).pathname} answered ${response.status}: ${text}`);
  }
  return text;
}
