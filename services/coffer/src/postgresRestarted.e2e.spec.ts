/** A database server killed and restarted under a service under load, with all roles in one process. */

import { type Client, consumerMetric, createClient, setUpApp } from '@coffer/host/testing';
import { type PrivateServer, startPrivateServer } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import { CONSUMERS } from './testing/consumers.ts';
import { type Players, startPlayers } from './testing/players.ts';
import { caughtUpRows, freshRows, holdsCaughtUp } from './testing/readModels.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';

const RESTARTS = 2;
const ANSWERS_BETWEEN = 100;

describe('a service whose Postgres is killed and restarted under load', () => {
  const processes = serviceProcesses();
  let server: PrivateServer;
  let service: ServiceProcess;
  let client: Client;
  let hasEnded = false;

  before(async () => {
    server = await startPrivateServer();
    service = await processes.start({ variables: { DATABASE_URL: server.connectionString } });
    void service.ended.then(() => {
      hasEnded = true;
    });
    client = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
    const players: Players = await startPlayers((await setUpApp(client)).test, 4);
    for (let restart = 0; restart < RESTARTS; restart++) {
      await players.answersMoreThan(players.answers() + ANSWERS_BETWEEN);
      await server.killPostmaster();
      await server.restart();
    }
    await players.answersMoreThan(players.answers() + ANSWERS_BETWEEN);
    await players.stop();
  });
  after(async () => {
    await service.terminate();
    await server.stop();
  });

  it('has lived through it, with every consumer running', async () => {
    expect(hasEnded).to.equal(false);
    expect(service.logs()).not.to.match(/unhandled|uncaught/i);
    expect(await consumerMetric(service.url, 'coffer_consumer_stopped')).to.deep.equal(
      Object.fromEntries(CONSUMERS.map((name) => [name, 0])),
    );
  });

  it('has read models of exactly the events of the log, each applied once', async () => {
    const rows = await caughtUpRows(server.connectionString);
    expect(rows).to.deep.equal(await freshRows(server.connectionString));
  });

  it('has nothing pending, and its books balance', async () => {
    await holdsCaughtUp(server.connectionString);
    await expectBooksToBalance(client);
  });
});
