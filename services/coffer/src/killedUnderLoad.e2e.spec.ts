/**
 * A service that is killed hard again and again while callers play, each repeating unanswered requests under its own
 * uuid. Source: contract, Common rules (replays, unknown outcome).
 */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type AppPlace,
  type Client,
  createClient,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const KILLS = 3;
const ANSWERS_BETWEEN_KILLS = 120;
const CALLERS = 6;
const BETS_A_SESSION = 6;

interface Acknowledged {
  readonly path: string;
  readonly body: { readonly transactionUuid: string };
  readonly answer: Answer;
  /** Rolled back later, so that a repeat must not be accepted again. */
  takenBack: boolean;
}

describe('a service that is killed again and again under load', () => {
  const processes = serviceProcesses();
  const acknowledged: Acknowledged[] = [];
  let database: TestDatabase;
  let dataFolder: string;
  let service: ServiceProcess;
  let node: Client;
  let place: AppPlace;
  /** Requests that got no answer the first time. */
  let interrupted = 0;
  let isOver = false;
  const client = delegatingClient(() => node);

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    dataFolder = await processes.newDataFolder();
    await startAgain();
    place = (await setUpApp(client)).test;

    const players = await Promise.all(Array.from({ length: CALLERS }, () => place.newPlayer('1000')));
    // The last two play on one account.
    players[CALLERS - 1] = players[CALLERS - 2] ?? '';
    const playing = Promise.all(players.map(playUntilOver));
    const killing = killAgainAndAgain();
    await Promise.all([playing, killing]);
  });
  after(() => database.drop());

  async function startAgain(): Promise<void> {
    const variables = { DATABASE_URL: database.connectionString };
    service = await processes.start({ variables, dataFolder, until: 'listening' });
    node = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
  }

  async function killAgainAndAgain(): Promise<void> {
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        await answersMoreThan(acknowledged.length + ANSWERS_BETWEEN_KILLS);
        await service.kill9();
        await startAgain();
      }
      await answersMoreThan(acknowledged.length + ANSWERS_BETWEEN_KILLS);
    } finally {
      isOver = true;
    }
  }

  const answersMoreThan = (count: number) =>
    eventually(`${count} answers`, () => acknowledged.length > count || undefined);

  async function playUntilOver(userId: string): Promise<void> {
    while (!isOver) await playSession(userId);
  }

  async function playSession(userId: string): Promise<void> {
    const opened = await ask('/ledger/sessions', {
      userId,
      gameCode: 'dice',
      currency: 'CHIP',
      lockAmount: '100',
    });
    const sessionId = textOf(opened.answer, 'sessionId');
    for (let round = 0; round < BETS_A_SESSION; round++) {
      const bet = await ask('/ledger/bet', { sessionId, amount: '7' });
      const betTransactionUuid = bet.body.transactionUuid;
      if (round % 3 === 0) await ask('/ledger/win', { sessionId, betTransactionUuid, amount: '9' });
      if (round % 3 === 1) await takeBack(bet, sessionId);
    }
    const lost = await ask('/ledger/bet', { sessionId, amount: '1' });
    await ask('/ledger/settle', { sessionId });
    await takeBack(lost, sessionId);
  }

  async function takeBack(bet: Acknowledged, sessionId: string): Promise<void> {
    await ask('/ledger/rollback', { sessionId, betTransactionUuid: bet.body.transactionUuid });
    bet.takenBack = true;
  }

  /** Repeats the request until it is answered, as any caller must. */
  async function ask(path: string, fields: object): Promise<Acknowledged> {
    const body = { ...fields, transactionUuid: randomUUID() };
    let answer = await send(path, body);
    if (!answer) {
      interrupted += 1;
      answer = await eventually(`an answer to ${path}`, () => send(path, body));
    }
    expect(answer.status, answer.text).to.be.oneOf([200, 201]);
    const entry = { path, body, answer, takenBack: false };
    acknowledged.push(entry);
    return entry;
  }

  /** Undefined if the service died, or itself reports an unknown outcome. */
  async function send(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await client.post(path, body, { key: place.secretKey });
      return answer.status === 503 ? undefined : answer;
    } catch (error) {
      // Thrown by fetch when the connection breaks.
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }

  it('was met by callers in the middle of their requests', () => {
    expect(interrupted).to.be.at.least(KILLS);
    expect(acknowledged.length).to.be.greaterThan((KILLS + 1) * ANSWERS_BETWEEN_KILLS);
  });

  it('has given every uuid exactly one effect', async () => {
    const effects = new Map<unknown, number>();
    for (const { type, data } of await client.lines('/portal/log')) {
      if (typeof data !== 'object' || !data || !('transactionUuid' in data)) continue;
      const key = `${type === 'SessionOpened' ? 'open' : 'write'} ${data.transactionUuid}`;
      effects.set(key, (effects.get(key) ?? 0) + 1);
    }
    for (const { path, body } of acknowledged) {
      const key = `${path === '/ledger/sessions' ? 'open' : 'write'} ${body.transactionUuid}`;
      expect(effects.get(key), key).to.equal(1);
    }
    expect(effects.size).to.equal(acknowledged.length);
  });

  it('repeats every acknowledged answer byte for byte, but no bet that was taken back', async () => {
    for (const { path, body, answer, takenBack } of acknowledged) {
      const repeat = await client.post(path, body, { key: place.secretKey });
      if (takenBack) expect(repeat.json).to.include({ code: 'ledger/bet_rolled_back' });
      else expect(repeat).to.include({ status: answer.status, text: answer.text, replayed: true });
    }
  });

  it('has chained every event once, whichever process was killed in the middle of it', async () => {
    await eventually('the log is chained', async () => {
      const { json } = await client.get('/portal/audit/head');
      return json.lagEvents === 0 || undefined;
    });
    const last = (await client.lines('/portal/log/verification')).at(-1);
    expect(last?.result).to.include({ ok: true, unchained: 0, faultCount: 0 });
  });

  it('has kept its books', () => expectBooksToBalance(client));
});
