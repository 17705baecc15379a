/** `coffer log check` on each kind of log, leaving nothing behind. */

import { PassThrough } from 'node:stream';
import { createPool } from '@coffer/database';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createStoreGateway, RefusalError } from '@coffer/store-gateway';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { checkLogFrom, type LogRight } from './checkLog.ts';
import { runProgram } from './cli/program.ts';
import { serviceTemplate } from './testing/world.ts';

const given = (rights: readonly LogRight[]) => rights.map(({ right, given }) => [right, given]);

describe('coffer log check', () => {
  async function onServer(may: { readonly readAll: boolean; readonly append: boolean }) {
    const store = createMemoryEventStore();
    const served: typeof store = {
      ...store,
      readAll(options) {
        if (!may.readAll) throw new RefusalError('accessDenied', 'Access Denied');
        return store.readAll(options);
      },
    };
    const gateway = await createStoreGateway({
      store: served,
      host: '127.0.0.1',
      port: 0,
      credentials: { user: 'coffer', password: 'only for specs' },
      allowWrites: may.append,
    });
    const environment = { EVENTSTORE_URL: `esdb://127.0.0.1:${gateway.port}?tls=false` };
    return {
      environment,
      store,
      async stop() {
        await gateway.stop();
        await store.close();
      },
    };
  }

  for (const may of [
    { readAll: true, append: true },
    { readAll: false, append: true },
    { readAll: true, append: false },
  ]) {
    it(`tells of a user of EventStoreDB, ${JSON.stringify(may)}, and writes nothing`, async () => {
      const server = await onServer(may);
      try {
        const rights = await checkLogFrom(server.environment);
        expect(given(rights)).to.deep.equal([
          ['read the log as a whole', may.readAll],
          ['read a stream', true],
          ['append to a stream', may.append],
        ]);
        for (const { given, reason } of rights) expect(reason.includes('$acl'), reason).to.equal(!given);
        expect(await server.store.head()).to.equal(undefined);
      } finally {
        await server.stop();
      }
    });
  }

  it('tells of a user of PostgreSQL, and writes nothing', async () => {
    const database = await createTestDatabase(serviceTemplate);
    const role = `reader_${process.pid}`;
    const pool = createPool({
      connectionString: database.connectionString,
      applicationName: 'spec',
      onIdleError: () => undefined,
    });
    try {
      const whole = await checkLogFrom({ DATABASE_URL: database.connectionString });
      expect(whole.every(({ given }) => given)).to.equal(true);
      await pool.query(`create role ${role} login password 'reader'; grant usage on schema log to ${role}`);
      const url = new URL(database.connectionString);
      [url.username, url.password] = [role, 'reader'];
      const none = await checkLogFrom({ DATABASE_URL: url.href });
      expect(given(none)).to.deep.include(['read the log as a whole', false]);
      expect(given(none)).to.deep.include(['insert into log.events', false]);
      expect(none[0]?.reason).to.include('DATABASE_URL').and.to.include('permission denied');
      await pool.query(`grant select on all tables in schema log to ${role}`);
      expect(given(await checkLogFrom({ DATABASE_URL: url.href }))).to.deep.include.members([
        ['read the log as a whole', true],
        ['insert into log.events', false],
      ]);
      expect((await pool.query('select 1 from log.events')).rowCount).to.equal(0);
    } finally {
      await pool.query(`drop owned by ${role}; drop role ${role}`);
      await pool.end();
      await database.drop();
    }
  });

  /** The command line and its exit code. */
  const ended = () => {
    const [stdout, stderr] = [new PassThrough().resume(), new PassThrough().resume()];
    const surroundings = { variables: process.env, workingFolder: process.cwd(), stdout, stderr };
    return runProgram(['log', 'check'], surroundings, () => expect.fail('It runs nothing.'));
  };

  it('ends with 0 when nothing is missing, and with 1 when something is', async () => {
    const before = process.env.EVENTSTORE_URL;
    try {
      for (const [append, exitCode] of [
        [true, 0],
        [false, 1],
      ] as const) {
        const server = await onServer({ readAll: true, append });
        process.env.EVENTSTORE_URL = server.environment.EVENTSTORE_URL;
        expect(await ended()).to.equal(exitCode);
        await server.stop();
        // The server is gone.
        expect(await ended()).to.equal(1);
      }
    } finally {
      if (before === undefined) delete process.env.EVENTSTORE_URL;
      else process.env.EVENTSTORE_URL = before;
    }
  });
});
