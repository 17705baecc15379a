/**
 * Projectors that are killed and frozen while another process writes. In the end the read models equal those of an
 * undisturbed projector.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { readCheckpoint } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { createClient, errorLines, setUpApp } from '@coffer/host/testing';
import { liveReadSchema, READ_MODELS_CONSUMER } from '@coffer/read-models';
import { expireLeases } from '@coffer/read-models/testing';
import { createTestDatabase, eventually, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { type Players, startPlayers } from './testing/players.ts';
import { caughtUpRows, freshRows } from './testing/readModels.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const KILLS = 8;
const MOST_EVENTS_BETWEEN_KILLS = 80;
const MOST_MS_AFTER_A_PAGE = 120;
/** Events come all the time, and projectors start as fast as if they were alone. */
const THINK_MS = 20;

describe('a projector under load', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let dataFolder: string;
  let pool: Pool;
  let schema: string;
  let players: Players;

  const startOne = (role: 'api' | 'projector') =>
    processes.start({
      roles: [role],
      variables: { DATABASE_URL: database.connectionString, COFFER_SYSTEM_PORT: '0' },
      dataFolder,
      until: 'listening',
    });
  const ordinal = async () =>
    (await readCheckpoint(pool, { schema, name: READ_MODELS_CONSUMER }))?.ordinal ?? 0;
  const ordinalMoreThan = (wanted: number) =>
    eventually(
      `the read models have taken ${wanted} events`,
      async () => (await ordinal()) > wanted || undefined,
    );
  const expectRowsOfLog = async () => {
    await players.stop();
    const rows = await caughtUpRows(database.connectionString);
    expect(rows).to.deep.equal(await freshRows(database.connectionString));
  };

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    dataFolder = await processes.newDataFolder();
    pool = database.pool;
    schema = await liveReadSchema(pool);
  });
  after(() => database.drop());
  beforeEach(async () => {
    const writer = await startOne('api');
    const client = createClient({ baseUrl: `${writer.url}/v1`, operatorToken: OPERATOR_TOKEN });
    players = await startPlayers((await setUpApp(client)).test, 4, THINK_MS);
  });

  it('that is killed at any moment, again and again, leaves neither a gap nor a row twice', async () => {
    let projector: ServiceProcess | undefined;
    for (let kill = 0; kill <= KILLS; kill++) {
      const from = await ordinal();
      projector = await startOne('projector');
      await ordinalMoreThan(from + Math.random() * MOST_EVENTS_BETWEEN_KILLS);
      if (kill === KILLS) break;
      await delay(Math.random() * MOST_MS_AFTER_A_PAGE);
      await projector.kill9();
      // The next one need not wait for the rest of the killed one's lease.
      await expireLeases(pool, schema);
    }
    await expectRowsOfLog();
    expect(errorLines(projector?.logs().split('\n') ?? [])).to.deep.equal([]);
    await projector?.terminate();
  });

  it('that is frozen in a page cannot write it when it wakes up: another has taken over', async () => {
    const frozen = await startOne('projector');
    await ordinalMoreThan(await ordinal());
    await freezeInPage(frozen);
    const left = await ordinal();
    await expireLeases(pool, schema);

    // The server ends the transaction that the frozen one holds open, when its lease would have expired.
    const successor = await startOne('projector');
    await ordinalMoreThan(left + 50);
    process.kill(frozen.pid, 'SIGCONT');
    await eventually(
      'it has noticed that it was passed over',
      // It notices by the lease or by its broken connection, whichever comes first.
      () => /readModels is in trouble/.test(frozen.logs()) || undefined,
    );
    await ordinalMoreThan((await ordinal()) + 50);
    await expectRowsOfLog();
    for (const one of [frozen, successor]) expect(errorLines(one.logs().split('\n'))).to.deep.equal([]);
  });

  /** Stopped with some rows of a page written, but neither the last of them nor the checkpoint. */
  async function freezeInPage(projector: ServiceProcess): Promise<void> {
    const blocker = await pool.connect();
    try {
      await blocker.query('begin');
      await blocker.query(`lock table ${schema}.play_sessions in exclusive mode`);
      await eventually('the projector waits in the middle of a page', async () => {
        // On another connection: within a transaction the view does not change.
        const { rows } = await pool.query(
          `select pid from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%play_sessions%'`,
        );
        return rows.length > 0 || undefined;
      });
      process.kill(projector.pid, 'SIGSTOP');
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
  }
});
