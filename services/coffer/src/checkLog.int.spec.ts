/** `coffer log check` on each kind of log. What a user may do is shown in `@coffer/event-store`. */
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createStoreGateway } from '@coffer/store-gateway';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { checkLogFrom } from './checkLog.ts';
import { runInProcess } from './testing/commandLine.ts';
import { serviceTemplate } from './testing/world.ts';

describe('coffer log check', () => {
  it('asks a database for all rights there are', async () => {
    const { connectionString, drop } = await createTestDatabase(serviceTemplate);
    const rights = await checkLogFrom({ DATABASE_URL: connectionString });
    expect(rights.map(({ right, given }) => [right, given])).to.deep.equal([
      ['read the log as a whole', true],
      ['read a stream', true],
      ['append to a stream', true],
      ['insert into log.events', true],
    ]);
    await drop();
  });

  async function onServer(allowWrites: boolean) {
    const store = createMemoryEventStore();
    const gateway = await createStoreGateway({
      store,
      host: '127.0.0.1',
      port: 0,
      credentials: { user: 'coffer', password: 'only for specs' },
      allowWrites,
    });
    const stop = async () => {
      await gateway.stop();
      await store.close();
    };
    return { url: `esdb://127.0.0.1:${gateway.port}?tls=false`, stop };
  }

  const exitCode = async () => (await runInProcess('log check', { variables: process.env })).exitCode;

  it('ends with 0 when nothing is missing, and with 1 when something is', async () => {
    const before = process.env.EVENTSTORE_URL;
    try {
      for (const [allowWrites, code] of [
        [true, 0],
        [false, 1],
      ] as const) {
        const server = await onServer(allowWrites);
        process.env.EVENTSTORE_URL = server.url;
        expect(await exitCode()).to.equal(code);
        await server.stop();
        // The server is gone.
        expect(await exitCode()).to.equal(1);
      }
    } finally {
      if (before === undefined) delete process.env.EVENTSTORE_URL;
      else process.env.EVENTSTORE_URL = before;
    }
  });
});
