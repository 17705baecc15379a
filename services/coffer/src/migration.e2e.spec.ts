/**
 * An installation of 10,000 events is moved from Postgres to the EventStoreDB protocol and back, by running the shell
 * blocks of docs/operating/eventstoredb.md exactly as written.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from '@coffer/database';
import { type AppPlace, createClient, errorLines, requireStatus, setUpApp } from '@coffer/host/testing';
import {
  COMPILE_CACHE,
  createTestDatabase,
  endAtFirstFailure,
  eventually,
  type StoreGatewayProcess,
  startStoreGatewayProcess,
  type TestDatabase,
} from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import { delegatingClient } from './testing/delegatingClient.ts';
import { writePlayedLog } from './testing/playedLog.ts';
import { OPERATOR_TOKEN, type ServiceProcess, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DOCUMENT = join(ROOT, 'docs/operating/eventstoredb.md');
const MOVING = /(?<=\n## Moving an installation [^\n]*\n)[\s\S]*?(?=\n## )/;

/** With opening, settlement, credit, hold and its end: 10,000 events, five of the largest pages that anything reads. */
const SESSIONS = 50;
const BETS_EACH = 195;

describe('an installation that is moved between the stores', () => {
  endAtFirstFailure();
  let database: TestDatabase;
  let elsewhere: TestDatabase;
  let gateway: StoreGatewayProcess;
  let pool: Pool;
  const processes = serviceProcesses();
  // After the hook of the processes, which have connections to these databases.
  after(async () => {
    await gateway.stop();
    await database.drop();
    await elsewhere.drop();
    await rm(folder, { recursive: true });
  });
  let service: ServiceProcess | undefined;
  let dataFolder: string;
  let folder: string;
  let blocks: readonly string[];
  let place: AppPlace;
  let player: { readonly userId: string; readonly sessionId: string };
  let noted: Head[];
  /** A time before both moves, and the player's funds at that time. */
  let past: { readonly query: string; readonly funds: string } | undefined;

  interface Head {
    readonly ordinal: number;
    readonly hash: string;
  }

  const client = delegatingClient(() =>
    createClient({ baseUrl: `${service?.url}/v1`, operatorToken: OPERATOR_TOKEN }),
  );
  const postgres = () => ({ DATABASE_URL: database.connectionString });
  const eventStoreDb = () => ({ ...postgres(), EVENTSTORE_URL: gateway.connectionString });
  type Settings = ReturnType<typeof postgres>;

  const start = async (settings: Settings, quiet = false) => {
    service = await processes.start({
      dataFolder,
      // What is written without the service must not look like interrupted flows.
      variables: { ...settings, COFFER_REACTION_GRACE_MS: '60000' },
      ...(quiet && { roles: ['api', 'projector'] }),
      until: 'listening',
    });
    const { url } = service;
    // Reading 10,000 events through another process takes time.
    const isReady = async () => (await fetch(`${url}/readyz`)).ok || undefined;
    await eventually('the read models have caught up', isReady);
  };
  const stop = async () => {
    expect(await service?.terminate()).to.include({ exitCode: 0 });
    expect(errorLines(service?.logs().split('\n') ?? [])).to.deep.equal([]);
    service = undefined;
  };
  const shell = (script: string | undefined, variables: Readonly<Record<string, string>>) =>
    promisify(execFile)('bash', ['-ec', `npx() { "$@"; }\n${script ?? 'exit 1'}`], {
      cwd: folder,
      env: {
        HOME: process.env.HOME,
        PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        COFFER_DATA_DIR: dataFolder,
        COFFER_OPERATOR_TOKEN: OPERATOR_TOKEN,
        ...variables,
      },
    });

  /** The end of the chain, once it has reached the end of the log. */
  const chainedHead = async (events: number): Promise<Head> =>
    eventually('everything is chained', async () => {
      const { status, json } = await client.get('/portal/audit/head');
      if (status !== 200 || Number(json.ordinal) < events) return undefined;
      return { ordinal: Number(json.ordinal), hash: String(json.hash) };
    });
  /** What the export says about the events themselves. */
  const contents = async () =>
    (await client.lines('/portal/log')).map(({ position: _position, recordedAt: _recordedAt, ...event }) =>
      JSON.stringify(event),
    );
  /** Without the position, which every store formats in its own way. */
  const funds = async (query = '') => {
    const { json } = await client.get(
      `/portal/app/${place.appId}/test/users/${player.userId}/accounts?currency=CHIP${query}`,
    );
    const { position: _position, ...figures } = json;
    return JSON.stringify(figures);
  };

  before(async () => {
    const text = await readFile(DOCUMENT, 'utf8');
    blocks = [...(MOVING.exec(text)?.[0] ?? '').matchAll(/```sh\n([\s\S]*?)```/g)].map(
      ([, block = '']) => block,
    );
    folder = await mkdtemp(join(tmpdir(), 'coffer-move-'));
    database = await createTestDatabase(serviceTemplate);
    elsewhere = await createTestDatabase(serviceTemplate);
    gateway = await startStoreGatewayProcess({ databaseUrl: elsewhere.connectionString });
    pool = database.pool;
    dataFolder = await processes.newDataFolder();
    noted = [];

    await start(postgres());
    place = (await setUpApp(client)).test;
    player = await place.newSession('100');
    requireStatus(await place.bet({ sessionId: player.sessionId, amount: '7' }), 200);
    const { events } = await writePlayedLog(database.connectionString, place, {
      sessions: SESSIONS,
      betsEach: BETS_EACH,
    });
    expect(events).to.be.at.least(10_000);
    noted.push(await chainedHead(events));
    const [credit] = await client.lines(`/portal/streams/account-test.${place.appId}.${player.userId}.2`);
    const query = `&at=${credit?.recordedAt}`;
    past = { query, funds: await funds(query) };
    expect(past.funds).to.not.equal(await funds());
    await stop();
  });

  it('has blocks that export, import and prove', () => {
    expect(blocks).to.have.length(3);
  });

  for (const [where, from, to] of [
    ['to EventStoreDB', postgres, eventStoreDb],
    ['back to Postgres', eventStoreDb, postgres],
  ] as const) {
    describe(where, () => {
      let exported: readonly string[];
      let now: string;

      it('is exported while nobody writes', async () => {
        await start(from(), true);
        await shell(blocks[0], from());
        exported = await contents();
        const chained = await client.get('/portal/audit/head');
        expect(chained.json.ordinal).to.equal(exported.length);
        now = await funds();
      });

      it('is not imported beside a service that runs', async () => {
        const end = await processes.command(['streams', 'import', join(folder, 'log.jsonl')], {
          ...to(),
          COFFER_DATA_DIR: dataFolder,
        });
        expect(end).to.include({ exitCode: 1, stdout: '' });
        expect(end.stderr).to.include(`is run by`).and.include(`:${service?.pid}:`);
        await stop();
      });

      it('is imported whole, into an empty log', async () => {
        if (to === postgres) await pool.query('truncate log.events');
        const { stderr } = await shell(blocks[1], to());
        expect(stderr).to.match(/^importing: \d+\n/);
      });

      it('has the same events and the same funds there, now and at a time before the moves', async () => {
        await start(to());
        expect(await contents()).to.deep.equal(exported);
        expect(await funds()).to.equal(now);
        expect(await funds(past?.query)).to.equal(past?.funds);
      });

      it('is proved by every head that was noted, and by read models that are made once more', async () => {
        const [oldest, ...later] = noted;
        await shell(blocks[2], { ...to(), ORDINAL: `${oldest?.ordinal}`, HASH: `${oldest?.hash}` });
        for (const { ordinal, hash } of later) {
          await shell(`npx coffer audit verify --since ${ordinal} --hash ${hash}`, to());
        }
      });

      it('is played on', async () => {
        const { sessionId } = player;
        requireStatus(await place.bet({ sessionId, amount: '3' }), 200);
        const other = await place.newSession('50');
        requireStatus(await place.settle({ sessionId: other.sessionId }), 200);
        await expectBooksToBalance(client);
        noted.push(await chainedHead(exported.length + 1));
        requireStatus(await place.reconcile(), 200);
        await stop();
      });
    });
  }
});
