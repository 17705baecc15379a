/** A service that answers requests in several threads: callers see one. Source: ADR 0044. */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type AppPlace,
  type Client,
  createClient,
  requireStatus,
  setUpApp,
} from '@coffer/host/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import {
  OPERATOR_TOKEN,
  SEVERAL_THREADS,
  type ServiceProcess,
  serviceProcesses,
} from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const AT_ONCE = 60;
const RATE_PER_MINUTE = 300;
/** Where threads cannot share a port, all of this holds for one. */
const THREADS = SEVERAL_THREADS.COFFER_API_THREADS
  ? ['api', 'api-2', 'api-3', 'background']
  : ['api', 'background'];

describe('a service of several threads', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let service: ServiceProcess;
  let client: Client;
  let place: AppPlace;

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    const variables = {
      DATABASE_URL: database.connectionString,
      ...SEVERAL_THREADS,
      COFFER_SK_RATE_PER_MINUTE: String(RATE_PER_MINUTE),
    };
    service = await processes.start({ variables, until: 'ready' });
    client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
    place = (await setUpApp(client)).test;
  });
  after(() => database.drop());

  /** Each over a connection of its own, so that every thread is asked. */
  const together = <Result>(count: number, ask: (number: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(Array.from({ length: count }, (_, number) => ask(number)));
  const bet = (sessionId: string, transactionUuid: string = randomUUID()) =>
    place.post(
      '/ledger/bet',
      { sessionId, transactionUuid, amount: '1' },
      { headers: { connection: 'close' } },
    );

  it('tells of all its threads, whichever is asked', async () => {
    const pages = await together(6, async () => {
      const response = await fetch(`${service.url}/metrics`, { headers: { connection: 'close' } });
      return response.text();
    });
    for (const page of pages) {
      for (const thread of THREADS) {
        expect(page).to.include(`coffer_event_loop_delay_seconds{thread="${thread}",quantile="1"}`);
      }
      expect(page).to.match(/^coffer_metrics_complete 1$/m);
    }
  });

  it('takes each bet of a session once, whichever threads are asked for it and its repeats', async () => {
    const { sessionId } = await place.newSession('1000');
    const uuids = Array.from({ length: AT_ONCE }, () => randomUUID());
    const bets = await together(AT_ONCE * 2, (number) => bet(sessionId, uuids[number % AT_ONCE]));
    for (const answer of bets) requireStatus(answer, 200);
    for (const [number, uuid] of uuids.entries()) {
      const [one, other] = [bets[number], bets[number + AT_ONCE]];
      expect(one?.json.transactionUuid).to.equal(uuid);
      expect(other?.text).to.equal(one?.text);
    }
    const balances = new Set(bets.map(({ json }) => json.balance));
    expect(balances).to.have.property('size', AT_ONCE);
    expect((await place.balance(sessionId)).json.balance).to.equal(String(1_000 - AT_ONCE));
  });

  it('refuses the same, with the same details', async () => {
    const { sessionId } = await place.newSession('10');
    const refusals = await together(6, () =>
      place.post('/ledger/bet', { sessionId, transactionUuid: randomUUID(), amount: '11' }),
    );
    for (const { status, json } of refusals) {
      expect(status).to.equal(409);
      expect(json).to.deep.include({
        code: 'ledger/insufficient_balance',
        details: { balance: '10', amount: '11' },
      });
    }
  });

  it('counts over all of them how often a key may call', async () => {
    const other = (await setUpApp(client)).test;
    const answers = await together(2 * RATE_PER_MINUTE, () =>
      other.post('/ledger/balance', { sessionId: 'none' }, { headers: { connection: 'close' } }),
    );
    const refused = answers.filter(({ status }) => status === 429);
    // All but a minute's worth, and what came free while they were asked. Three threads would not refuse any.
    expect(refused.length).to.be.within(1, RATE_PER_MINUTE);
  });

  it('keeps its books', () => expectBooksToBalance(client));

  it('answers what it has taken when it is told to stop', async () => {
    place = (await setUpApp(client)).test;
    const { sessionId } = await place.newSession('100000');
    const answered: Answer[] = [];
    let isOver = false;
    const playing = together(12, async () => {
      while (!isOver) {
        const answer = await bet(sessionId).catch((error: unknown) => {
          // Nobody listens any more.
          expect(error).to.be.instanceOf(TypeError);
          isOver = true;
        });
        if (answer) answered.push(answer);
      }
    });
    await eventually('a hundred answers', () => answered.length >= 100 || undefined);
    const { exitCode } = await service.terminate();
    isOver = true;
    await playing;
    expect(exitCode).to.equal(0);
    const accepted = answered.filter(({ status }) => status === 200).length;
    const others = answered.filter(({ status }) => ![200, 429].includes(status));
    expect(others.map(({ text }) => text)).to.deep.equal([]);
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int as count from log.events
       where type = 'BetPlaced' and stream = $1`,
      [`playSession-test.${place.appId}.${sessionId}`],
    );
    // A connection that broke off may have been one whose bet was placed.
    expect(rows[0]?.count).to.be.within(accepted, accepted + 12);
  });
});
