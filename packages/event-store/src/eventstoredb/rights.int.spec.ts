/** A server's refusal is reported with the missing right and how to grant it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusalError, selfSignedCertificate } from '@coffer/store-gateway';
import { failureOf } from '@coffer/testing';
import { expect } from 'chai';
import { StoreRefusedError, StoreUnreachableError } from '../errors.ts';
import { logRights } from '../logRights.ts';
import type { AppendRequest, EventStore } from '../port.ts';
import { CREDENTIALS, openWorld, type World, type WorldOptions } from '../testing/eventStoreDbWorld.ts';
import { allOf, newEvents, streamName } from '../testing/events.ts';
import { startUserServer } from '../testing/userServer.ts';
import { grantReading } from './index.ts';

/** The server's answer to a user without groups. */
const refusingTheLog = (store: EventStore): EventStore => ({
  ...store,
  readAll() {
    throw new RefusalError('accessDenied', 'Access Denied');
  },
});

const request = (): AppendRequest => ({
  stream: streamName(),
  expectedRevision: 'noStream',
  events: newEvents(1),
});

describe('the user of an EventStoreDB', () => {
  let world: World | undefined;
  const makeWorld = async (options: WorldOptions): Promise<World> => {
    world = await openWorld(options);
    return world;
  };
  afterEach(() => world?.close());

  it('who may not read the log as a whole learns it at once, and can read and write streams', async () => {
    const store = (await makeWorld({ wrap: refusingTheLog })).open();
    const error = await failureOf(store.head());
    expect(error).to.be.instanceOf(StoreRefusedError);
    expect(String(error)).to.include('$all').and.to.include('$acl').and.to.include('coffer log grant');
    const append = request();
    await store.append(append);
    expect(await allOf(store.readStream(append.stream))).to.have.length(1);
  });

  it('who may not write learns which stream, and where that is set', async () => {
    const store = (await makeWorld({ allowWrites: false })).open();
    const append = request();
    const error = await failureOf(store.append(append));
    expect(error).to.be.instanceOf(StoreRefusedError);
    expect(String(error)).to.include(append.stream).and.to.include('$w');
  });

  for (const may of [
    { readAll: true, append: true },
    { readAll: false, append: true },
    { readAll: true, append: false },
  ]) {
    it(`has rights that can be asked for, ${JSON.stringify(may)}, which writes nothing`, async () => {
      const wrap = may.readAll ? {} : { wrap: refusingTheLog };
      const { open, served } = await makeWorld({ allowWrites: may.append, ...wrap });
      const rights = await logRights(open());
      expect(rights.map(({ right, given }) => [right, given])).to.deep.equal([
        ['read the log as a whole', may.readAll],
        ['read a stream', true],
        ['append to a stream', may.append],
      ]);
      for (const { given, reason } of rights) expect(reason.includes('$acl'), reason).to.equal(!given);
      expect(await served.head()).to.equal(undefined);
    });
  }

  it('who does not exist, or whose server has an untrusted certificate, learns what to set', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-spec-'));
    try {
      const tls = await selfSignedCertificate(['localhost'], new Date());
      const { proxy, open } = await makeWorld({ tls });
      const file = join(folder, 'ca.pem');
      await writeFile(file, tls.certificate);
      const at = (password: string, settings: string) =>
        `esdb://${CREDENTIALS.user}:${password}@localhost:${proxy.port}${settings}`;
      const ca = `?tlsCAFile=${encodeURIComponent(file)}`;
      const unknown = await failureOf(open({ connectionString: at('wrong', ca) }).head());
      expect(unknown).to.be.instanceOf(StoreRefusedError);
      expect(String(unknown)).to.include('no user has this name and password');
      const untrusted = await failureOf(open({ connectionString: at('wrong', '') }).head());
      expect(untrusted).to.be.instanceOf(StoreUnreachableError);
      expect(String(untrusted)).to.include('tlsCAFile');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is created by an administrator and added to the readers of the log, however often that is repeated', async () => {
    const server = await startUserServer();
    try {
      const addressOf = (user: string) => `esdb://${user}@127.0.0.1:${server.port}?tls=false`;
      const asked = {
        connectionString: addressOf('coffer:secret'),
        administrator: addressOf('admin:changeit'),
      };
      const readers = ['$admins', 'coffer'];
      expect(await grantReading(asked)).to.deep.equal({ user: 'coffer', created: true, readers });
      expect(server.users).to.deep.equal([{ name: 'coffer', password: 'secret', groups: [] }]);
      expect(server.metadata).to.deep.equal([{ $acl: { $r: readers } }]);
      expect(await grantReading(asked)).to.deep.equal({ user: 'coffer', created: false, readers });
      expect(server.metadata).to.have.length(1);
    } finally {
      server.stop();
    }
  });
});
