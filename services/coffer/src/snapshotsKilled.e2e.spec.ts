/** A service that is killed hard while it decides on outlines, and snapshots of states are being written. */
import { randomBytes } from 'node:crypto';
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  type Client,
  createClient,
  type Fields,
  requireStatus,
  setUpApp,
} from '@coffer/host/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const KILLS = 3;
/** Together twice what one MiB holds. */
const SESSIONS = 200;
const BETS_BEFORE = 100;
const LOCKED = 1_000_000;
const BETS_OF_A_VISIT = 10;
const CALLERS = 6;
const SNAPSHOTS_BETWEEN_KILLS = 20;

const betsOf = (sessionId: string, visit: string, count: number): readonly Fields[] =>
  Array.from({ length: count }, (_, index) => {
    return { op: 'bet', transactionUuid: `${sessionId}:${visit}:${index}`, amount: '1' };
  });

describe('a service that is killed while it writes snapshots', () => {
  const processes = serviceProcesses();
  /** By session, as acknowledged. */
  const balances = new Map<string, number>();
  let database: TestDatabase;
  let pool: Pool;
  let dataFolder: string;
  let service: ServiceProcess;
  let node: Client;
  let place: AppPlace;
  let isOver = false;
  let outlineHits = 0;
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

  const metrics = async () => (await fetch(`${service.url}/metrics`)).text();

  async function openSessions(): Promise<void> {
    for (let opened = 0; opened < SESSIONS / CALLERS; opened++) {
      const { sessionId } = await place.newSession(`${LOCKED}`);
      requireStatus(await place.batch(sessionId, betsOf(sessionId, 'before', BETS_BEFORE)), 200);
      balances.set(sessionId, LOCKED - BETS_BEFORE);
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
        outlineHits += Number(/^coffer_state_outline_hits_total (\d+)/m.exec(await metrics())?.[1]);
        await service.kill9();
        await startAgain();
      }
    } finally {
      isOver = true;
    }
  }

  async function playUntilOver(_: unknown, caller: number): Promise<void> {
    const own = [...balances.keys()].filter((_session, index) => index % CALLERS === caller);
    for (let round = 0; !isOver; round++) {
      const sessionId = own[round % own.length] ?? expect.fail('no session');
      const visit = Math.floor(round / own.length);
      const bets = betsOf(sessionId, `${visit}`, BETS_OF_A_VISIT);
      // Every other time on a bet of the visit before, which the outline does not tell.
      const on = `${sessionId}:${visit - 1}:0`;
      const win = { op: 'win', transactionUuid: `${on}:won`, betTransactionUuid: on, amount: '3' };
      const operations = visit % 2 === 1 ? [...bets, win] : bets;
      const first = await answered(sessionId, operations);
      if (round % 7 === 0) expect(await answered(sessionId, operations)).to.equal(first);
      balances.set(
        sessionId,
        (balances.get(sessionId) ?? 0) - BETS_OF_A_VISIT + (operations.length > BETS_OF_A_VISIT ? 3 : 0),
      );
    }
  }

  /** Again and again while the service is down. */
  async function answered(sessionId: string, operations: readonly Fields[]): Promise<string> {
    const answer = await eventually('the bets are answered', () =>
      place.batch(sessionId, operations).then(
        (one) => (one.status === 503 ? undefined : one),
        (error: unknown) => {
          if (error instanceof TypeError) return undefined;
          throw error;
        },
      ),
    );
    return requireStatus(answer, 200).text;
  }

  it('has every acknowledged bet and win, once, from whatever its states came back', async () => {
    for (const [sessionId, balance] of balances) {
      const answer = await client.post('/ledger/balance', { sessionId }, { key: place.secretKey });
      expect(answer.json.balance, sessionId).to.equal(`${balance}`);
    }
    expect(outlineHits).to.be.above(SESSIONS);
    const told = await metrics();
    expect(told).to.match(/^coffer_state_return_seconds_count\{source="snapshot"\} [1-9]/m);
    expect(told).to.match(/^coffer_snapshots_forged_total 0$/m);
  });

  it('has left no snapshot that is not what its stream folds to', async () => {
    const last = (await client.lines('/portal/log/verification')).at(-1);
    expect(last?.result).to.include({ faultCount: 0 });
  });
});
