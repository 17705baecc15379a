/** Calls from a client that speaks HTTP/2 by hand: refused early, with much still to come. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import { type HoldLimits, holdAnswers } from './heldAnswers.ts';
import { openWorld, type World } from './testing/gatewayWorld.ts';
import { streamIdentifier, wireId } from './wire.ts';

const ID = '01234567-89ab-4cde-8f01-23456789abcd';
/** Far more than the client may send before the other side has taken some of it. */
const MUCH = 400;

function frame(message: Uint8Array, { flag = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

const options = (stream: string): Buffer => {
  const asked = new streams.AppendReq.Options().setStreamIdentifier(streamIdentifier(stream));
  asked.setAny(new empty.Empty());
  return frame(new streams.AppendReq().setOptions(asked).serializeBinary());
};

const event = (data = JSON.stringify({ text: 'x'.repeat(4_000) })): Buffer => {
  const message = new streams.AppendReq.ProposedMessage().setId(wireId(ID)).setData(Buffer.from(data));
  message.getMetadataMap().set('type', 'Happened').set('content-type', 'application/json');
  return frame(new streams.AppendReq().setProposedMessage(message).serializeBinary());
};

/** A call that can be watched: `answer` has the headers once they have arrived. */
function openCall(session: ClientHttp2Session, method: string, headers: Record<string, string> = {}) {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/event_store.client.streams.Streams/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const call: { stream: ClientHttp2Stream; answer?: Record<string, unknown> } = { stream };
  stream.on('response', (answer) => {
    call.answer = answer;
  });
  stream.on('error', () => undefined);
  stream.resume();
  return call;
}

const written = (stream: ClientHttp2Stream, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve())));

/** Whatever the server sent before has arrived by then. */
const roundTrip = (session: ClientHttp2Session) =>
  new Promise<void>((resolve) => session.ping(() => resolve()));

const authorization = `Basic ${Buffer.from('coffer:guess').toString('base64')}`;

describe('a plain append that is refused early', () => {
  let world: World;
  let reading: World;
  before(async () => {
    world = await openWorld();
    reading = await openWorld({ allowWrites: false });
  });
  after(() => Promise.all([world.close(), reading.close()]));

  for (const [what, first, code, { isWritable = true, headers = {} } = {}] of [
    ['for reading only', [options('spec')], status.PERMISSION_DENIED, { isWritable: false }],
    ['another password', [options('spec')], status.UNAUTHENTICATED, { headers: { authorization } }],
    ['a system stream', [options('$spec')], status.PERMISSION_DENIED],
    ['an invalid stream name', [options('')], status.INVALID_ARGUMENT],
    ['no options', [event()], status.INVALID_ARGUMENT],
    ['no JSON', [options('spec'), event('[')], status.INVALID_ARGUMENT],
    ['too much in total', [options('spec'), ...Array(300).fill(event())], status.INVALID_ARGUMENT],
    [
      'a message that is far too large',
      [frame(Buffer.alloc(9), { length: 2 ** 30 })],
      status.RESOURCE_EXHAUSTED,
    ],
    ['an invalid message', [frame(Buffer.alloc(9, 255))], status.INTERNAL],
    [
      'a compressed message',
      [frame(Buffer.alloc(9), { flag: 1 })],
      status.INTERNAL,
      { headers: { 'grpc-encoding': 'gzip' } },
    ],
  ] as const satisfies readonly (readonly [
    string,
    readonly Buffer[],
    status,
    { isWritable?: boolean; headers?: Record<string, string> }?,
  ])[]) {
    it(`is answered once its client has sent everything, which it can: ${what}`, async () => {
      const session = connect(`http://127.0.0.1:${(isWritable ? world : reading).port}`);
      try {
        const call = openCall(session, 'Append', headers);
        const { stream } = call;
        for (const bytes of first) await written(stream, bytes);
        for (let count = 0; count < MUCH; count++) await written(stream, event());
        await roundTrip(session);
        expect(call.answer).to.equal(undefined);
        const answered = once(stream, 'response');
        stream.end();
        const [answer] = await answered;
        expect(answer['grpc-status']).to.equal(`${code}`);
        expect(answer['grpc-message']).to.be.a('string').and.not.equal('');
      } finally {
        session.destroy();
      }
    });
  }
});

it('a call to a method that does not exist is answered at once, without waiting for the rest', async () => {
  const world = await openWorld();
  const session = connect(`http://127.0.0.1:${world.port}`);
  try {
    const call = openCall(session, 'Nothing');
    const closed = new Promise((resolve) => call.stream.once('close', resolve));
    for (let count = 0; count < MUCH; count++) call.stream.write(event());
    await closed;
    expect(call.answer?.['grpc-status']).to.equal(`${status.UNIMPLEMENTED}`);
    expect(call.stream.rstCode).to.equal(0);
  } finally {
    session.destroy();
    await world.close();
  }
});

describe('an answer that is held', () => {
  const forever = { maxBytes: Infinity, maxMs: 60_000, quietMs: 60_000 };
  /** A server that refuses everything, and a session with it. */
  async function withLimits(
    limits: Partial<HoldLimits>,
    use: (session: ClientHttp2Session) => Promise<void>,
  ): Promise<void> {
    const server = new Server({ interceptors: [holdAnswers({ ...forever, ...limits })] });
    const refusal = { code: status.PERMISSION_DENIED, details: 'Not here.' };
    server.addService(streamsService.StreamsService, {
      append: (_call: unknown, reply: (error: object) => void) => reply(refusal),
      batchAppend: (call: { emit(event: 'error', error: object): void }) => call.emit('error', refusal),
    });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    const session = connect(`http://127.0.0.1:${port}`);
    try {
      await use(session);
    } finally {
      session.destroy();
      server.forceShutdown();
    }
  }

  for (const [what, limits] of [
    ['more than enough has come', { maxBytes: 300_000 }],
    ['it has taken too long', { maxMs: 50 }],
  ] as const) {
    it(`is finally sent when ${what}, and the stream is reset`, () =>
      withLimits(limits, async (session) => {
        const call = openCall(session, 'Append');
        const closed = once(call.stream, 'close');
        const sent = event();
        const more = (): void => {
          if (!call.stream.destroyed)
            call.stream.write(sent, (error) => (error ? undefined : setImmediate(more)));
        };
        more();
        await closed;
        expect(call.answer?.['grpc-status']).to.equal(`${status.PERMISSION_DENIED}`);
        expect(call.stream.rstCode).to.equal(0);
      }));
  }

  it('is sent to a client whose calls stay open once it has nothing more to send', () =>
    withLimits({ quietMs: 20 }, async (session) => {
      const { stream } = openCall(session, 'BatchAppend');
      const [answer] = await once(stream, 'response');
      expect(answer['grpc-message']).to.equal('Not%20here.');
      stream.close();
    }));

  it('is dropped if the client goes', () =>
    withLimits({ maxMs: 1_000_000, quietMs: 1_000_000 }, async (session) => {
      const { stream } = openCall(session, 'BatchAppend');
      await written(stream, event());
      await roundTrip(session);
      stream.close();
      await once(stream, 'close');
      await roundTrip(session);
    }));
});
