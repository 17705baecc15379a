/**
 * The log of a spec's services if it is behind the protocol of EventStoreDB instead of in their database.
 *
 * COFFER_SPEC_EVENT_STORE=eventstoredb turns it on: a store gateway in a separate process serves the log of the
 * database. With EVENTSTORE_TEST_SERVER as well it is a real server for each database: the command is called with a
 * port and an empty folder, serves there without TLS and without a password, and ends at SIGTERM.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { freePortPair } from './ports.ts';
import { startStoreGatewayProcess } from './storeGateways.ts';
import { patiently } from './waiting.ts';

export interface EventStoreElsewhere {
  /** For the client of EventStoreDB. */
  readonly connectionString: string;
  stop(): Promise<void>;
}

const LOOK_INTERVAL_MS = 100;

export const isLogElsewhere = (): boolean => process.env.COFFER_SPEC_EVENT_STORE === 'eventstoredb';
const serverCommand = () => (isLogElsewhere() ? process.env.EVENTSTORE_TEST_SERVER : undefined);

/** Keyed by the log's owner: the connection string of a database, or a data folder. */
const stores = new Map<string, Promise<EventStoreElsewhere>>();

/**
 * Where the services of the owner find their log, for EVENTSTORE_URL; undefined if it is in their database. An owner is
 * the connection string of a database, or the data folder of a service that brings its own.
 */
export async function eventStoreUrlOf(owner: string): Promise<string | undefined> {
  const command = serverCommand();
  const isDatabase = owner.startsWith('postgres');
  // The gateway would have to know an embedded database before its service has made it.
  if (!isLogElsewhere() || (command === undefined && !isDatabase)) return undefined;
  let store = stores.get(owner);
  if (!store) {
    store =
      command === undefined
        ? startStoreGatewayProcess({ databaseUrl: owner })
        : startEventStoreServer(command);
    stores.set(owner, store);
  }
  return (await store).connectionString;
}

/** Ends the stores of these owners, after the services that use them and before their databases. */
export async function endEventStores(isOwner: (owner: string) => boolean = () => true): Promise<void> {
  const ending = [...stores].filter(([owner]) => isOwner(owner));
  for (const [owner] of ending) stores.delete(owner);
  await Promise.all(ending.map(async ([, store]) => (await store).stop()));
}

/** What a run has left out, with the reason, for the end of the run. */
export const leftOut: string[] = [];

/** A suite that applies only to a log in a table of the database; `why` is shown if a real server leaves it out. */
export function describeLogTable(why: string, title: string, define: (this: Mocha.Suite) => void): void {
  if (serverCommand() === undefined) describe(title, define);
  else leaveOutTable(title, why);
}

/** Like `describeLogTable`, for one test. */
export function itLogTable(why: string, title: string, test: Mocha.AsyncFunc): void {
  if (serverCommand() === undefined) it(title, test);
  else leaveOutTable(title, why);
}

const leaveOutTable = (title: string, why: string) => leaveOut(title, `the log is not a table: ${why}`);

export function leaveOut(title: string, why: string): void {
  it(`${title}: left out, as ${why}`);
  leftOut.push(`${title}, as ${why}`);
}

/** Throws if the server ends or does not answer in time. */
export async function startEventStoreServer(command: string): Promise<EventStoreElsewhere> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-event-store-'));
  const port = await freePortPair();
  // The shell becomes the command, so that the signal reaches it.
  const server = spawn('/bin/sh', ['-c', `exec ${command} "$0" "$1"`, `${port}`, folder], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(server, 'exit');
  const stop = async () => {
    server.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const connectionString = `esdb://127.0.0.1:${port}?tls=false`;
  try {
    await untilItServes(connectionString, server);
  } catch (cause) {
    await stop();
    throw new Error(`The server of EVENTSTORE_TEST_SERVER does not serve: ${command} ${port} ${folder}`, {
      cause,
    });
  }
  return { connectionString, stop };
}

async function untilItServes(connectionString: string, server: ChildProcess): Promise<void> {
  const deadline = patiently();
  const store = createEventStoreDbEventStore({ connectionString });
  try {
    for (;;) {
      if (server.exitCode !== null || server.signalCode !== null) throw new Error('It has ended.');
      try {
        await store.head();
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await delay(LOOK_INTERVAL_MS);
    }
  } finally {
    await store.close();
  }
}
