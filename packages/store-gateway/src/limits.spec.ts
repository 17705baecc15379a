/** What one client, or all of them together, can ask of a gateway at a time. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials as channel, Metadata, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import type { FailedLogins } from './access.ts';
import { MAX_READS } from './reads.ts';
import { MAX_CONNECTIONS } from './storeGateway.ts';
import { credentials, openWorld, type World } from './testTools.contract.ts';

type Streams = InstanceType<typeof streamsService.StreamsClient>;

/** Of a connection of its own. */
const clientOf = (world: World): Streams =>
  new streamsService.StreamsClient(`127.0.0.1:${world.port}`, channel.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });

function subscribe(client: Streams, headers = new Metadata()) {
  const options = new streams.ReadReq.Options()
    .setAll(new streams.ReadReq.Options.AllOptions())
    .setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  const call = client.read(new streams.ReadReq().setOptions(options), headers);
  const told = new Promise<{ code: number; details: string }>((resolve) => {
    call.on('data', () => resolve({ code: status.OK, details: '' }));
    call.on('error', ({ code, details }: { code?: number; details?: string }) =>
      resolve({ code: code ?? -1, details: details ?? '' }),
    );
  });
  return { told, cancel: () => call.cancel() };
}

describe('the limits of a store gateway', () => {
  let world: World;
  const failedLogins: FailedLogins & { failed: string[]; seconds: number } = {
    failed: [],
    seconds: 0,
    wait: () => failedLogins.seconds,
    take: (address) => failedLogins.failed.push(address),
  };
  beforeEach(async () => {
    failedLogins.failed = [];
    failedLogins.seconds = 0;
    world = await openWorld({ failedLogins });
  });
  afterEach(() => world.close());

  it('are so many reads of all clients together; one more is told so, until one has ended', async () => {
    const clients = Array.from({ length: MAX_READS / 100 + 1 }, () => clientOf(world));
    const reads = Array.from({ length: MAX_READS }, (_, index) =>
      subscribe(clients[Math.floor(index / 100)] as Streams),
    );
    for (const { told } of reads) expect((await told).code).to.equal(status.OK);
    const last = clients.at(-1) as Streams;
    const { code, details } = await subscribe(last).told;
    expect(code).to.equal(status.RESOURCE_EXHAUSTED);
    expect(details).to.match(/serves 500 reads at a time/);
    reads[0]?.cancel();
    // It is told with the next thing that the gateway does for that client.
    let again = await subscribe(last).told;
    while (again.code !== status.OK) again = await subscribe(last).told;
    for (const client of clients) client.close();
  });

  it('are a hundred calls of one connection, which clients are told when they connect', async () => {
    const session = connectHttp2(`http://127.0.0.1:${world.port}`);
    const [settings] = await once(session, 'remoteSettings');
    expect(settings).to.include({ maxConcurrentStreams: 100 });
    session.destroy();
  });

  it('are so many connections; one more is closed at once', async () => {
    const sockets: Socket[] = [];
    const open = async () => {
      const socket = connect(world.port, '127.0.0.1');
      sockets.push(socket.on('error', () => undefined));
      await once(socket, 'connect');
      return socket;
    };
    for (let count = 0; count < MAX_CONNECTIONS; count++) await open();
    const tooMany = await open();
    tooMany.resume();
    await once(tooMany, 'close');
    // The first of them is greeted still.
    sockets[0]?.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
    await once(sockets[0] as Socket, 'data');
    for (const socket of sockets) socket.destroy();
  });

  it('are failed logins by address, of which the right password of a next one is not told either', async () => {
    const client = clientOf(world);
    const codeWith = (password: string) => {
      const headers = new Metadata();
      headers.set('authorization', `Basic ${btoa(`${credentials.user}:${password}`)}`);
      const { told, cancel } = subscribe(client, headers);
      return told.finally(cancel);
    };
    expect((await codeWith(credentials.password)).code).to.equal(status.OK);
    expect(failedLogins.failed).to.deep.equal([]);
    expect((await codeWith('guess')).code).to.equal(status.UNAUTHENTICATED);
    expect(failedLogins.failed).to.deep.equal(['127.0.0.1']);
    failedLogins.seconds = 7;
    for (const password of [credentials.password, 'guess']) {
      const { code, details } = await codeWith(password);
      expect(code).to.equal(status.RESOURCE_EXHAUSTED);
      expect(details).to.match(/Try again in 7 s/);
    }
    expect(failedLogins.failed).to.have.length(1);
    client.close();
  });
});
