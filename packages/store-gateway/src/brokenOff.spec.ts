/** Appends of which only a part has come when their client goes: none of it is written. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createMemoryEventStore, createMemoryLog } from '@coffer/event-store/memory';
import { newEvents, streamName } from '@coffer/event-store/testing';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials as channel } from '@grpc/grpc-js';
import { expect } from 'chai';
import { openWorld, type World } from './testing/gatewayWorld.ts';
import { streamIdentifier, wireId } from './wire.ts';

const ATTEMPTS = 30;

describe('an append that is broken off', () => {
  const log = createMemoryLog();
  const store = createMemoryEventStore({ log });
  let world: World;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(world.port, '127.0.0.1');
    sockets.add(client);
    const part = (): void => {
      sockets.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', part).on('close', part);
    client.pipe(upstream);
    upstream.pipe(client);
  });
  before(async () => {
    world = await openWorld({ store });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  after(async () => {
    proxy.close();
    await world.close();
    await store.close();
  });

  /** Sends the options and the first of several events, and resolves once the server has had time to take them. */
  async function begin() {
    const { port } = proxy.address() as AddressInfo;
    const client = new streamsService.StreamsClient(`127.0.0.1:${port}`, channel.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
    const call = client.append(() => undefined);
    call.on('error', () => undefined);
    const options = new streams.AppendReq.Options()
      .setStreamIdentifier(streamIdentifier(streamName()))
      .setNoStream(new shared.Empty());
    call.write(new streams.AppendReq().setOptions(options));
    const [event] = newEvents(1);
    const message = new streams.AppendReq.ProposedMessage()
      .setId(wireId(event?.id ?? ''))
      .setData(Buffer.from(event?.data ?? ''));
    message.getMetadataMap().set('type', 'Happened').set('content-type', 'application/json');
    await new Promise((resolve) => call.write(new streams.AppendReq().setProposedMessage(message), resolve));
    // The answer to a later request on the same connection shows that the part of the append has arrived.
    const read = new streams.ReadReq();
    await new Promise((resolve) => client.read(read).on('error', resolve));
    return { client, call };
  }

  it('by its client writes nothing', async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { client, call } = await begin();
      call.cancel();
      await once(call, 'status');
      client.close();
    }
    await world.client.appendToStream('later', []).catch(() => undefined);
    expect(log.events).to.deep.equal([]);
  });

  it('by a connection that is cut writes nothing', async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { client, call } = await begin();
      for (const socket of sockets) socket.resetAndDestroy();
      await once(call, 'status');
      client.close();
    }
    await world.client.appendToStream('later', []).catch(() => undefined);
    expect(log.events).to.deep.equal([]);
  });
});
