/** What one client, or all of them together, can ask of a gateway at a time. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials as channel, connectivityState, Metadata, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import type { FailedLogins } from './access.ts';
import { selfSignedCertificate } from './certificate.ts';
import { MAX_READS } from './reads.ts';
import { MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS } from './storeGateway.ts';
import { credentials, openWorld, type World } from './testing/gatewayWorld.ts';

type Streams = InstanceType<typeof streamsService.StreamsClient>;

/** On its own connection. */
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

/** Connections without a client of the protocol, with TLS if there is a certificate to trust. */
function connectionsTo(port: number, certificate?: string) {
  const sockets: Socket[] = [];
  return {
    sockets,
    async open(localAddress = '127.0.0.1'): Promise<Socket> {
      const to = { host: '127.0.0.1', port, localAddress };
      const socket = certificate
        ? connectTls({ ...to, ca: certificate, servername: 'localhost', ALPNProtocols: ['h2'] })
        : connect(to);
      // It may be closed at once.
      sockets.push(socket.on('error', () => undefined));
      await once(socket, 'connect');
      return socket;
    },
    end(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** True once the gateway has answered. */
const greeted = (socket: Socket | undefined) =>
  new Promise<boolean>((resolve) => {
    socket?.once('data', () => resolve(true));
    socket?.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  });

/** False once it is. */
const closed = (socket: Socket | undefined) =>
  new Promise<boolean>((resolve) => {
    if (!socket || socket.closed) resolve(false);
    else socket.once('close', () => resolve(false)).resume();
  });

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

  it('limit the reads of all clients together; one more is refused until one has ended', async () => {
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
    // The client learns it with the next thing that the gateway does for it.
    let again = await subscribe(last).told;
    while (again.code !== status.OK) again = await subscribe(last).told;
    for (const client of clients) client.close();
  });

  it('are a hundred calls per connection, which clients are told when they connect', async () => {
    const session = connectHttp2(`http://127.0.0.1:${world.port}`);
    const [settings] = await once(session, 'remoteSettings');
    expect(settings).to.include({ maxConcurrentStreams: 100 });
    session.destroy();
  });

  it('limit the connections; one more is closed at once', async () => {
    const { sockets, open, end } = connectionsTo(world.port);
    for (let count = 0; count < MAX_CONNECTIONS; count++) await open(`127.0.0.${2 + (count % 100)}`);
    await closed(await open());
    // The first of them is still served.
    await greeted(sockets[0]);
    end();
  });

  for (const isPlain of [true, false]) {
    it(`limit the connections of one address, ${isPlain ? 'plain' : 'with TLS'}, until one has ended`, async () => {
      const tls = isPlain ? undefined : await selfSignedCertificate(['localhost'], new Date());
      const keyOfAddress = (address: string) => address.split('.').slice(0, 3).join('.');
      const gateway = await openWorld({ tls, keyOfAddress });
      const { sockets, open, end } = connectionsTo(gateway.port, tls?.certificate);
      for (let count = 0; count < MAX_CONNECTIONS_PER_ADDRESS; count++) {
        await greeted(await open(`127.0.0.${1 + count}`));
      }
      await closed(await open('127.0.0.1'));
      await greeted(await open('127.0.1.1'));
      sockets[0]?.destroy();
      // The client learns it with the next thing that the gateway does.
      while (!(await Promise.race([greeted(await open('127.0.0.1')), closed(sockets.at(-1))])));
      end();
      await gateway.close();
    });
  }

  it('limit the time without a call; then a connection is ended, even one that has sent nothing', async () => {
    const gateway = await openWorld({ idleMs: 50 });
    const { open } = connectionsTo(gateway.port);
    const client = clientOf(gateway);
    const reading = subscribe(client);
    expect((await reading.told).code).to.equal(status.OK);
    const greetedOne = await open();
    await greeted(greetedOne);
    await closed(greetedOne);
    await closed(await open());
    expect(client.getChannel().getConnectivityState(false)).to.equal(connectivityState.READY);
    reading.cancel();
    client.close();
    await gateway.close();
  });

  it('limit failed logins by address, after which even the right password is refused', async () => {
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
