/** A service that is killed hard while states leave its cache and their snapshots are being written. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { type AppPlace, type Client, createClient, requireStatus, setUpApp } from '@coffer/host/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const KILLS = 3;
/** Together twice what one MiB holds. */
const SESSIONS = 200;
const BETS_BEFORE = 100;
const CALLERS = 6;
const SNAPSHOTS_BETWEEN_KILLS = 20;

describe('a service that is killed while it writes snapshots', () => {
  const processes = serviceProcesses();
  /** Acknowledged bets of each session. */
  const bets = new Map<string, number>();
  let database: TestDatabase;
  let pool: Pool;
  let dataFolder: string;
  let service: ServiceProcess;
  let node: Client;
  let place: AppPlace;
  let isOver = false;
  const client = delegatingClient(() => node);
  const secretsKey = randomBytes(32).toString('base64');

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    dataFolder = await processes.newDataFolder();
    await startAgain();
    place = (await setUpApp(client)).test;
    await Promise.all(Array.from({ length: CALLERS }, openSessions));
    const playing = Promise.all(Array.from({ length: CALLERS }, playUntilOver));
    await Promise.all([playing, killAgainAndAgain()]);
  });
  after(() => database.drop());

  async function startAgain(): Promise<void> {
    const variables = {
      DATABASE_URL: database.connectionString,
      COFFER_SECRETS_KEY: secretsKey,
      COFFER_CACHE_MIB: '1',
    };
    service = await processes.start({ variables, dataFolder, until: 'listening' });
    node = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
  }

  async function openSessions(): Promise<void> {
    for (let opened = 0; opened < SESSIONS / CALLERS; opened++) {
      const { sessionId } = await place.newSession('1000000');
      const operations = Array.from({ length: BETS_BEFORE }, () => {
        return { op: 'bet', transactionUuid: randomUUID(), amount: '1' };
      });
      requireStatus(await place.batch(sessionId, operations), 200);
      bets.set(sessionId, BETS_BEFORE);
    }
  }

  async function killAgainAndAgain(): Promise<void> {
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const since = new Date();
        await eventually('snapshots are being written', async () => {
          const { rows } = await pool.query(
            'select count(*)::int as count from cache.snapshots where taken_at > $1',
            [since],
          );
          return rows[0].count > SNAPSHOTS_BETWEEN_KILLS || undefined;
        });
        await service.kill9();
        await startAgain();
      }
    } finally {
      isOver = true;
    }
  }

  async function playUntilOver(_: unknown, caller: number): Promise<void> {
    const own = [...bets.keys()].filter((_session, index) => index % CALLERS === caller);
    for (let round = 0; !isOver; round++) {
      const sessionId = own[round % own.length] ?? expect.fail('no session');
      const body = { sessionId, transactionUuid: randomUUID(), amount: '1' };
      // Undefined while the service is down.
      const answer = await eventually('the bet is answered', () =>
        client.post('/ledger/bet', body, { key: place.secretKey }).then(
          (one) => (one.status === 503 ? undefined : one),
          (error: unknown) => {
            if (error instanceof TypeError) return undefined;
            throw error;
          },
        ),
      );
      requireStatus(answer, 200);
      bets.set(sessionId, (bets.get(sessionId) ?? 0) + 1);
    }
  }

  it('has every acknowledged bet, once, from whatever its states came back', async () => {
    for (const [sessionId, count] of bets) {
      const answer = await client.post('/ledger/balance', { sessionId }, { key: place.secretKey });
      expect(answer.json.balance, sessionId).to.equal(`${1_000_000 - count}`);
    }
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).to.match(/^coffer_state_return_seconds_count\{source="snapshot"\} [1-9]/m);
    expect(metrics).to.match(/^coffer_snapshots_forged_total 0$/m);
  });

  it('has left no snapshot that is not what its stream folds to', async () => {
    const last = (await client.lines('/portal/log/verification')).at(-1);
    expect(last?.result).to.include({ faultCount: 0 });
  });
});
