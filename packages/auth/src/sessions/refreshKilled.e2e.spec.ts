import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@coffer/database';
import { createSecretBox, systemClock } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { authTemplate, PLACE } from '../testing/authRecords.ts';
import { ISSUER, REFRESH_KEY, SECRETS_KEY } from '../testing/sessionsWorld.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createSigningKeys } from './signingKeys.ts';

const PROGRAM = new URL('../testing/refreshingProcess.ts', import.meta.url);

describe('a service that is killed in the middle of a rotation', () => {
  let database: TestDatabase;
  let pool: Pool;
  let sessions: Sessions;
  const children = new Set<ChildProcess>();

  beforeEach(async () => {
    database = await createTestDatabase(authTemplate);
    pool = database.pool;
    const nowMs = () => performance.now();
    const secretBox = createSecretBox(SECRETS_KEY);
    sessions = createSessions(pool, {
      keys: createSigningKeys(pool, { secretBox, clock: systemClock, nowMs }),
      refreshKey: REFRESH_KEY,
      clock: systemClock,
      issuer: ISSUER,
      nowMs,
      onReuse: () => {
        throw new Error('Nobody has used a token twice.');
      },
    });
  });
  afterEach(async () => {
    await Promise.all([...children].map(kill9));
    await database.drop();
  });

  const kill9 = async (child: ChildProcess) => {
    children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async (): Promise<ChildProcess> => {
    const child = fork(PROGRAM, [database.connectionString]);
    children.add(child);
    await once(child, 'message');
    return child;
  };
  const signIn = () => sessions.open(PLACE, 'usr_1', 'siws');
  const generation = async (): Promise<number> =>
    (await pool.query('select generation from records.auth_sessions')).rows[0].generation;
  const waitingForTheRow = async () => {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database()
          and application_name = 'refreshing process' and wait_event_type = 'Lock'`,
    );
    return rows[0]?.pid;
  };
  /** Otherwise the database is still executing what the killed process requested. */
  const forgetTheQuestion = async () => {
    const sql = 'select pg_terminate_backend($1, 10000) as is_gone';
    const { rows } = await pool.query(sql, [await waitingForTheRow()]);
    expect(rows).to.deep.equal([{ is_gone: true }]);
  };
  /** Does the work while the process is in its rotation, blocked by a lock on the row. */
  const inTheMiddle = async (child: ChildProcess, token: string, work: () => Promise<void>) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from records.auth_sessions for update');
      child.send(token);
      await until(async () => (await waitingForTheRow()) !== undefined);
      await work();
    } finally {
      await client.query('commit');
      client.release();
    }
  };
  const expectSignedIn = async (token: string) => {
    const next = await sessions.refresh(token);
    expect(await sessions.check(next.accessToken)).to.deep.include({ userId: 'usr_1' });
    expect((await sessions.refresh(next.refreshToken)).refreshToken).not.to.equal(next.refreshToken);
  };

  it('before the database has done it leaves the player signed in', async () => {
    const { refreshToken } = await signIn();
    const child = await start();
    await inTheMiddle(child, refreshToken, async () => {
      await kill9(child);
      await forgetTheQuestion();
    });
    expect(await generation()).to.equal(0);
    await expectSignedIn(refreshToken);
  });

  it('after the database has done it, and before anyone was told, leaves the player signed in', async () => {
    const { refreshToken } = await signIn();
    const child = await start();
    await inTheMiddle(child, refreshToken, async () => {
      // From here on it receives no answer, while the database executes its request.
      child.kill('SIGSTOP');
    });
    await until(async () => (await generation()) === 1);
    await kill9(child);
    await expectSignedIn(refreshToken);
    expect(await generation()).to.equal(2);
  });

  it('at any moment leaves the player signed in, by the last token that was received', async () => {
    let token = (await signIn()).refreshToken;
    for (let round = 0; round < 6; round++) {
      const child = await start();
      let answers = 0;
      child.on('message', (message) => {
        answers += 1;
        token = String(message);
        child.send(token);
      });
      child.send(token);
      await until(() => answers >= 3);
      // Any moment of a rotation will do.
      await delay(Math.random() * 5);
      await kill9(child);
      token = (await sessions.refresh(token)).refreshToken;
    }
    await expectSignedIn(token);
  });
});
