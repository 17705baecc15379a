import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failureOf } from '@coffer/testing';
import { AccessDeniedError, StreamNotFoundError } from '@eventstore/db-client';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials as channel, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { type Certificate, createStoreGateway, selfSignedCertificate } from './index.ts';
import { eventsOf, happened } from './testing/events.ts';
import { credentials, openWorld, type World } from './testing/gatewayWorld.ts';

const STREAM = 'spec-test.app.1';
const encoded = encodeURIComponent(credentials.password);

describe('access to the store gateway', () => {
  describe('with a certificate', () => {
    let folder: string;
    let tls: Certificate;
    let world: World;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gateway-'));
      tls = await selfSignedCertificate(['localhost', '127.0.0.1'], new Date());
      await writeFile(join(folder, 'gateway.crt'), tls.certificate);
    });
    beforeEach(async () => {
      world = await openWorld({ tls });
    });
    afterEach(() => world.close());
    after(() => rm(folder, { recursive: true }));
    const clientOf = (userInfo: string) =>
      world.another(`tls=true&tlsCAFile=${join(folder, 'gateway.crt')}`, userInfo);

    it('is by user and password, by either method of appending', async () => {
      const client = clientOf(`${credentials.user}:${encoded}@`);
      await client.appendToStream(STREAM, happened('first'));
      await client.appendToStream(STREAM, happened('second'), {
        credentials: { username: credentials.user, password: credentials.password },
      });
      expect(await eventsOf(client.readStream(STREAM))).to.have.length(2);
    });

    for (const [what, userInfo] of [
      ['another password', `${credentials.user}:guess@`],
      ['another user', `admin:${encoded}@`],
      ['the beginning of the password', `${credentials.user}:the@`],
      ['no credentials', ''],
    ] as const) {
      it(`is refused with ${what}, for every method`, async () => {
        const client = clientOf(userInfo);
        const failures = [
          eventsOf(client.readAll({ maxCount: 1 })),
          eventsOf(client.readStream(STREAM)),
          eventsOf(client.subscribeToAll()),
          client.appendToStream(STREAM, happened('this')),
          client.appendToStream(STREAM, happened('this'), { credentials: { username: 'x', password: 'y' } }),
          client.deleteStream(STREAM),
        ].map(failureOf);
        for (const failure of await Promise.all(failures)) {
          expect(failure)
            .to.be.instanceOf(AccessDeniedError)
            .and.match(/user and the password/);
        }
        expect(await world.store.head()).to.equal(undefined);
      });
    }

    it('without credentials is denied, without a request for others', async () => {
      const trusted = channel.createSsl(Buffer.from(tls.certificate));
      const client = new streamsService.StreamsClient(`localhost:${world.port}`, trusted);
      const error = await new Promise<ServiceError>((resolve) => {
        client.read(new streams.ReadReq()).on('error', resolve).resume();
      });
      client.close();
      expect(error.code).to.equal(status.PERMISSION_DENIED);
      expect(error.metadata.get('exception')).to.deep.equal(['access-denied']);
    });

    it('is refused in plain text', async () => {
      const attempt = world.another('tls=false').appendToStream(STREAM, happened('this'));
      expect(await attempt.catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect(await world.store.head()).to.equal(undefined);
    });
  });

  describe('in plain text', () => {
    let world: World;
    beforeEach(async () => {
      world = await openWorld();
    });
    afterEach(() => world.close());

    it('needs no credentials, because clients send none there', async () => {
      const client = world.another('tls=false', `${credentials.user}:guess@`);
      await client.appendToStream(STREAM, happened('this'));
      expect(await eventsOf(client.readStream(STREAM))).to.have.length(1);
    });

    for (const [header, expected] of [
      [`Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`, status.OK],
      [`Basic ${Buffer.from(`${credentials.user}:guess`).toString('base64')}`, status.UNAUTHENTICATED],
      ['Bearer something', status.UNAUTHENTICATED],
    ] as const) {
      it(`answers credentials that are sent anyway, ${header.slice(0, 12)}…, with ${status[expected]}`, async () => {
        const client = new streamsService.StreamsClient(`127.0.0.1:${world.port}`, channel.createInsecure());
        const headers = new Metadata();
        headers.set('authorization', header);
        const all = new streams.ReadReq.Options.AllOptions();
        const options = new streams.ReadReq.Options().setAll(all).setCount('1');
        const call = client.read(new streams.ReadReq().setOptions(options), headers);
        call.resume();
        const code = await new Promise((resolve) => {
          call.on('error', ({ code }: { code?: number }) => resolve(code));
          call.on('end', () => resolve(status.OK));
        });
        client.close();
        expect(code).to.equal(expected);
      });
    }

    it('is for loopback only', async () => {
      const options = { store: world.store, port: 0, credentials, allowWrites: false };
      for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org']) {
        const attempt = createStoreGateway({ ...options, host });
        expect(await attempt.catch((error: unknown) => error)).to.match(/only with a certificate/);
      }
      for (const host of ['localhost', '127.0.0.1']) {
        await (await createStoreGateway({ ...options, host })).stop();
      }
    });
  });

  it('is for reading only unless writing is allowed, and writers are told so', async () => {
    const world = await openWorld({ allowWrites: false });
    try {
      await world.store.append({
        stream: STREAM,
        expectedRevision: 'noStream',
        events: [{ id: crypto.randomUUID(), type: 'Happened', data: '{}', metadata: '{}' }],
      });
      const denied = [
        world.client.appendToStream(STREAM, happened('this')),
        world.client.appendToStream(STREAM, [], { credentials: { username: 'x', password: 'y' } }),
        world.client.setStreamMetadata(STREAM, { maxCount: 1 }),
        world.client.deleteStream(STREAM),
        world.client.tombstoneStream(STREAM),
      ].map(failureOf);
      for (const failure of await Promise.all(denied)) {
        expect(failure)
          .to.be.instanceOf(AccessDeniedError)
          .and.match(/[a-z]+ (here|only|never deleted|gateway)\./);
      }
      expect(await eventsOf(world.client.readStream(STREAM))).to.have.length(1);
    } finally {
      await world.close();
    }
  });

  it('with writing allowed is to streams of events only, which stay', async () => {
    const world = await openWorld();
    try {
      await world.client.appendToStream(STREAM, happened('this'));
      const denied = [
        world.client.appendToStream('$system', happened('this')),
        world.client.setStreamMetadata(STREAM, { maxCount: 1 }),
        world.client.deleteStream(STREAM),
        world.client.tombstoneStream(STREAM),
      ].map(failureOf);
      for (const failure of await Promise.all(denied)) {
        expect(failure).to.be.instanceOf(AccessDeniedError);
      }
      const gone = await eventsOf(world.client.readStream('$system')).catch((error: unknown) => error);
      expect(gone).to.be.instanceOf(StreamNotFoundError);
      expect(await eventsOf(world.client.readAll())).to.have.length(1);
    } finally {
      await world.close();
    }
  });

  it('is found by discovery, with one leader at the address that was reached', async () => {
    const world = await openWorld();
    try {
      const client = world.discovering();
      await client.appendToStream(STREAM, happened('this'));
      expect(await eventsOf(client.readStream(STREAM))).to.have.length(1);
    } finally {
      await world.close();
    }
  });
});
