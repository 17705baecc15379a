/**
 * The read models of 200,000 events, rebuilt by the command line of a real service while games continue. Source:
 * architecture, Projections and reconcile; contract, The command line.
 */
import type { Pool } from '@coffer/database';
import { type AppPlace, type Client, createClient, requireStatus, setUpApp } from '@coffer/host/testing';
import { createTestDatabase, eventually, isLogElsewhere, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { z } from 'zod';
import { delegatingClient } from './testing/delegatingClient.ts';
import { type PlayedLog, writePlayedLog } from './testing/playedLog.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

/** With opening, settlement, credit, hold and its end: 200,000 events, and a tenth of it where each goes over the wire. */
const SESSIONS = isLogElsewhere() ? 100 : 1_000;
const BETS_EACH = 195;
const EVENTS = SESSIONS * (BETS_EACH + 5);
const PLAYERS = 3;

const page = z.object({
  items: z.array(z.object({ sessionId: z.string() })),
  nextCursor: z.string().nullable(),
});
const status = z.object({
  items: z.array(
    z.object({
      name: z.string(),
      schema: z.string(),
      ordinal: z.int(),
      lagEvents: z.int().nullable(),
      state: z.enum(['running', 'unattended']),
    }),
  ),
});

describe('a rebuild of the read models', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let pool: Pool;
  let dataFolder: string;
  let service: ServiceProcess;
  let node: Client;
  const client = delegatingClient(() => node);
  let place: AppPlace;
  let log: PlayedLog;

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    pool = database.pool;
    dataFolder = await processes.newDataFolder();
    await start();
    place = (await setUpApp(client)).test;
    log = await writePlayedLog(database.connectionString, place, { sessions: SESSIONS, betsEach: BETS_EACH });
    expect(log.events).to.be.at.least(EVENTS);
    await caughtUp();
  });
  after(async () => {
    await service.terminate();
    await database.drop();
  });

  async function start(): Promise<void> {
    service = await processes.start({
      // What is written without the service must not look like interrupted flows.
      variables: { DATABASE_URL: database.connectionString, COFFER_REACTION_GRACE_MS: '60000' },
      dataFolder,
      until: 'listening',
    });
    node = createClient({ baseUrl: `${service.url}/v1`, operatorToken: OPERATOR_TOKEN });
  }

  const variables = () => ({ COFFER_URL: service.url, COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN });
  const projections = (line: string) => processes.command(`projections ${line}`.split(' '), variables());
  const startRebuild = () => processes.startCommand(['projections', 'rebuild', '--verify'], variables());
  const consumers = async () =>
    status.parse(requireStatus(await client.get('/portal/projections'), 200).json).items;
  const caughtUp = () =>
    eventually(
      'the consumers have caught up',
      async () => (await consumers()).every(({ lagEvents }) => lagEvents === 0) || undefined,
    );
  const live = async () => {
    const { rows } = await pool.query('select max(version)::text as version from records.read_pointer');
    return `read_v${rows[0]?.version}`;
  };
  const fillings = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query(
      `select nspname as schema from pg_namespace
        where nspname like 'read_v%' and obj_description(oid, 'pg_namespace') = 'filling'`,
    );
    return rows.map(({ schema }) => schema);
  };

  const knownSessions = async () => {
    const ids = new Set<string>();
    let cursor: string | null = '';
    do {
      const query: string = cursor ? `&cursor=${cursor}` : '';
      const answer = requireStatus(await place.get(`/ledger/sessions?limit=200${query}`), 200);
      const { items, nextCursor } = page.parse(answer.json);
      for (const { sessionId } of items) ids.add(sessionId);
      cursor = nextCursor;
    } while (cursor);
    return ids;
  };

  /** Plays games and reads lists while the work is done; throws at the first wrong answer. */
  async function amongGames<Result>(work: () => Promise<Result>) {
    let isOver = false;
    let settled = 0;
    let walks = 0;
    const play = async () => {
      while (!isOver) {
        const { userId, sessionId } = await place.newSession('10');
        for (let bet = 0; bet < 5; bet++) requireStatus(await place.bet({ sessionId, amount: '1' }), 200);
        requireStatus(await place.settle({ sessionId }), 200);
        const { json } = requireStatus(await place.get(`/users/${userId}/accounts`), 200);
        expect(JSON.stringify(json)).to.include('"available":"5"');
        settled += 1;
      }
    };
    const read = async () => {
      let known = new Set(log.sessionIds);
      while (!isOver) {
        const shown = await knownSessions();
        expect(
          [...known].filter((id) => !shown.has(id)),
          'sessions that are missing',
        ).to.deep.equal([]);
        known = shown;
        walks += 1;
      }
    };
    const around = [...Array.from({ length: PLAYERS }, play), read()];
    const watched = Promise.all(around).catch((error: unknown) => {
      isOver = true;
      throw error;
    });
    // Awaited below, when the work is done.
    watched.catch(() => undefined);
    try {
      return { result: await work(), figures: () => ({ settled, walks }) };
    } finally {
      isOver = true;
      await watched;
    }
  }

  it('is equal, and moves, while bets and settlements go on and lists are read', async () => {
    const before = await live();
    const { result, figures } = await amongGames(() => projections('rebuild --verify --json'));
    expect(result.exitCode, result.stderr).to.equal(0);
    const report = JSON.parse(result.stdout);
    expect(report).to.include({ ok: true, equal: true, moved: true, previous: before });
    expect(report.live)
      .to.equal(await live())
      .and.not.to.equal(before);
    expect(report.events).to.be.at.least(EVENTS);
    expect(result.stderr)
      .to.match(/^filling: 0 of \d+ \(0 %\)\n/)
      .and.match(/\ncomparing: /);
    expect(figures().settled).to.be.greaterThan(0);
    expect(figures().walks).to.be.greaterThan(0);
  });

  it('is followed by the consumers, as "projections status" shows', async () => {
    await caughtUp();
    const shown = await projections('status --json');
    const { items } = status.parse(JSON.parse(shown.stdout));
    const readModels = items.find(({ name }) => name === 'readModels');
    expect(readModels).to.include({ schema: await live(), lagEvents: 0, state: 'running' });
    expect(readModels?.ordinal).to.be.at.least(EVENTS);
    expect((await projections('status')).stdout).to.match(/name .*readModels .*holds /s);
  });

  it('names a row that was changed, leaves it, and ends with 1', async () => {
    const schema = await live();
    const [sessionId] = log.sessionIds;
    await pool.query(`update ${schema}.play_sessions set total_win = 7 where session_id = $1`, [sessionId]);
    const { exitCode, stdout, stderr } = await projections('rebuild --verify');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('portal/read_models_differ: ');
    expect(stdout).to.match(new RegExp(`play_sessions .* ${sessionId} .* total_win .* 0 .* 7 `));
    expect(await live()).to.equal(schema);
    expect(await fillings()).to.deep.equal([]);
  });

  it('is given up, with nothing left of it, when its command is interrupted', async () => {
    const schema = await live();
    await amongGames(async () => {
      const rebuild = startRebuild();
      await eventually('a version is being filled', async () => (await fillings()).length > 0 || undefined);
      rebuild.interrupt();
      expect(await rebuild.ended).to.include({ signal: 'SIGINT' });
      await eventually('nothing is left', async () => (await fillings()).length === 0 || undefined);
    });
    expect(await live()).to.equal(schema);
  });

  it('that died with its service is cleared up by the next, which repairs what was changed', async () => {
    const schema = await live();
    const rebuild = startRebuild();
    await eventually('a version is being filled', async () => (await fillings()).length > 0 || undefined);
    await service.kill9();
    const { exitCode, stderr } = await rebuild.ended;
    expect(exitCode, stderr).to.equal(3);
    const orphans = await fillings();
    expect(orphans).to.have.length(1);
    expect(await live()).to.equal(schema);

    await start();
    expect([...(await knownSessions())]).to.include.members([...log.sessionIds]);
    const { result } = await amongGames(() => projections('rebuild --json'));
    expect(result.exitCode, result.stderr).to.equal(0);
    const report = JSON.parse(result.stdout);
    expect(report).to.include({ ok: true, equal: false, moved: true, previous: schema, live: await live() });
    expect(await fillings()).to.deep.equal([]);
    const { rows } = await pool.query(
      `select total_win from ${report.live}.play_sessions where session_id = $1`,
      [log.sessionIds[0]],
    );
    expect(rows).to.deep.equal([{ total_win: '0' }]);
  });
});
