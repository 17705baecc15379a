/**
 * Postgres for specs: one server for each process that runs specs, started when the first asks for a database, and
 * separate servers for suites that crash them. Both keep fsync on, like the service's.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createPool, type Pool } from '@coffer/database';
import pg from 'pg';
import { endEventStores } from './eventStores.ts';
import { isInMemory } from './memoryFolder.ts';
import type { SupervisorCommand, SupervisorReply } from './postgresSupervisor.ts';

export interface TestDatabaseTemplate {
  /** Templates of the same name are the same. */
  readonly name: string;
  /** Called once, to fill the database that the others are copied from. */
  prepare(pool: Pool): Promise<void>;
}

export interface TestDatabase {
  readonly connectionString: string;
  /** Ended by `drop`. */
  readonly pool: Pool;
  /** Drops it, and fails with a list of the connections that the spec has left open. */
  drop(): Promise<void>;
}

export interface PrivateServer {
  /** For the database `postgres`; stays the same over restarts. */
  readonly connectionString: string;
  readonly postmasterPid: number;
  /** Starts the server again, even after `killPostmaster`; stops it first if it runs. */
  restart(): Promise<void>;
  /** SIGKILL: the crash of a server. Resolves when the process is gone. */
  killPostmaster(): Promise<void>;
  stop(): Promise<void>;
}

/** A closed connection takes a moment to end in the server. */
const LEAK_LIMIT_MS = 5_000;

interface SharedServer {
  readonly server: PrivateServer;
  readonly admin: pg.Pool;
  readonly templates: Map<string, Promise<string>>;
}

let shared: Promise<SharedServer> | undefined;
let databasesMade = 0;

/** A new database on the shared server: empty, or a copy of the template. */
export async function createTestDatabase(template?: TestDatabaseTemplate): Promise<TestDatabase> {
  shared ??= startShared();
  const { server, admin, templates } = await shared;
  databasesMade += 1;
  const name = `test_${databasesMade}`;
  if (template) {
    let prepared = templates.get(template.name);
    if (!prepared) {
      prepared = prepareTemplate(server, admin, template, `template_${templates.size + 1}`);
      templates.set(template.name, prepared);
    }
    await admin.query(`create database ${name} template ${await prepared} strategy ${strategy()}`);
  } else {
    await admin.query(`create database ${name}`);
  }
  const connectionString = inDatabase(server.connectionString, name);
  const pool = openPool(connectionString);
  return {
    connectionString,
    pool,
    async drop() {
      await pool.end();
      await endEventStores((owner) => owner === connectionString);
      const leaks = await connectionsLeft(admin, name);
      await admin.query(`drop database if exists ${name} with (force)`);
      if (leaks.length > 0) {
        throw new Error(`The spec left connections to its database open:\n${leaks.join('\n')}`);
      }
    },
  };
}

/**
 * A server for one suite alone, to be stopped, killed and restarted at will; of another PostgreSQL if the folder of its
 * programs is given.
 */
export async function startPrivateServer(programs?: string): Promise<PrivateServer> {
  const args = programs === undefined ? [] : [programs];
  const supervisor = fork(fileURLToPath(import.meta.resolve('./postgresSupervisor.ts')), args, {
    detached: true,
    // Flags of the specs' own process (a debugger's, for one) must not be inherited.
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // A spec run that forgets its server may still end; the supervisor then cleans up.
  supervisor.unref();
  supervisor.channel?.unref();
  let started = await start(supervisor);
  return {
    connectionString: started.connectionString,
    get postmasterPid() {
      return started.postmasterPid;
    },
    async restart() {
      const { connectionString } = started;
      started = await start(supervisor);
      if (started.connectionString !== connectionString) {
        throw new Error('The server could not have its port back; someone else took it meanwhile.');
      }
    },
    async killPostmaster() {
      process.kill(started.postmasterPid, 'SIGKILL');
      await isUnreachable(started.connectionString);
    },
    async stop() {
      const { host } = new URL(started.connectionString);
      await endEventStores((owner) => URL.parse(owner)?.host === host);
      if (supervisor.exitCode !== null || !supervisor.connected) return;
      const exit = once(supervisor, 'exit');
      supervisor.ref();
      supervisor.disconnect();
      await exit;
    },
  };
}

/** For the end: stops the shared server if a spec has started it. */
export async function stopSharedServer(): Promise<void> {
  if (!shared) return;
  const { server, admin } = await shared;
  shared = undefined;
  await admin.end();
  await server.stop();
}

/** Copying files takes a third of the processor time of writing them through the log, but waits for a disk, if there is one. */
const strategy = (): string => (isInMemory(tmpdir()) ? 'file_copy' : 'wal_log');

async function startShared(): Promise<SharedServer> {
  const server = await startPrivateServer();
  const admin = new pg.Pool({ connectionString: server.connectionString, max: 2, allowExitOnIdle: true });
  // The pool replaces an idle connection that broke; a query that fails says so itself.
  admin.on('error', () => {});
  return { server, admin, templates: new Map() };
}

async function prepareTemplate(
  server: PrivateServer,
  admin: pg.Pool,
  template: TestDatabaseTemplate,
  name: string,
): Promise<string> {
  await admin.query(`create database ${name}`);
  const pool = openPool(inDatabase(server.connectionString, name));
  await template.prepare(pool).finally(() => pool.end());
  const leaks = await connectionsLeft(admin, name);
  if (leaks.length === 0) return name;
  throw new Error(`The template ${template.name} left connections open:\n${leaks.join('\n')}`);
}

function openPool(connectionString: string): Pool {
  return createPool({ connectionString, applicationName: 'spec', onIdleError() {} });
}

async function start(supervisor: ChildProcess): Promise<{ connectionString: string; postmasterPid: number }> {
  const reply = await request(supervisor, 'start');
  if ('connectionString' in reply) return reply;
  throw new Error('error' in reply ? reply.error : 'The supervisor stopped its server instead.');
}

async function request(supervisor: ChildProcess, command: SupervisorCommand): Promise<SupervisorReply> {
  supervisor.ref();
  supervisor.channel?.ref();
  try {
    return await new Promise<SupervisorReply>((resolve, reject) => {
      const onExit = (code: number | null) =>
        reject(new Error(`The supervisor of Postgres left with ${code}.`));
      supervisor.once('exit', onExit);
      supervisor.once('message', (reply: SupervisorReply) => {
        supervisor.off('exit', onExit);
        resolve(reply);
      });
      supervisor.send(command);
    });
  } finally {
    supervisor.unref();
    supervisor.channel?.unref();
  }
}

async function connectionsLeft(admin: pg.Pool, database: string): Promise<readonly string[]> {
  const deadline = performance.now() + LEAK_LIMIT_MS;
  for (;;) {
    const { rows } = await admin.query<{ connection: string }>(
      `select format('pid %s, %s, %s, last query: %s', pid, coalesce(nullif(application_name, ''), 'unnamed'),
         state, left(query, 200)) as connection
       from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [database],
    );
    if (rows.length === 0 || performance.now() > deadline) return rows.map((row) => row.connection);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function inDatabase(connectionString: string, database: string): string {
  const url = new URL(connectionString);
  url.pathname = `/${database}`;
  return url.href;
}

/** Resolves once nobody listens any more. */
async function isUnreachable(connectionString: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
