import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import * as grpc from '@grpc/grpc-js';
import { credentials as channel, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import duration from 'google-protobuf/google/protobuf/duration_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import { numbers } from './testing/events.ts';
import { openWorld } from './testing/gatewayWorld.ts';
import { streamIdentifier, wireId } from './wire.ts';

const STREAM = 'spec-test.app.1';

describe('a batch stream', () => {
  /** Sends what the real client never would, and resolves with the code that the call ends with. */
  async function codeAfter(
    send: (write: (request: InstanceType<typeof streams.BatchAppendReq>) => void) => void,
  ) {
    const world = await openWorld();
    const client = new streamsService.StreamsClient(`127.0.0.1:${world.port}`, channel.createInsecure());
    try {
      const call = client.batchAppend();
      const replies: InstanceType<typeof streams.BatchAppendResp>[] = [];
      call.on('data', (reply) => replies.push(reply));
      const ended = new Promise<number>((resolve) => {
        call.on('error', () => undefined);
        call.on('status', ({ code }) => resolve(code));
      });
      send((request) => call.write(request));
      call.end();
      return { code: await ended, replies };
    } finally {
      client.close();
      await world.close();
    }
  }
  const part = () => new streams.BatchAppendReq().setCorrelationId(wireId(randomUUID()));
  const options = () =>
    new streams.BatchAppendReq.Options().setStreamIdentifier(streamIdentifier(STREAM)).setStreamPosition('7');

  it('is ended if too many appends are begun without being finished', async () => {
    const { code } = await codeAfter((write) => {
      for (const _ of numbers(1_001)) write(part().setOptions(options()));
    });
    expect(code).to.equal(status.RESOURCE_EXHAUSTED);
  });

  it('answers an append without options, without an expectation, or without events', async () => {
    const nameOnly = new streams.BatchAppendReq.Options().setStreamIdentifier(streamIdentifier(STREAM));
    const { code, replies } = await codeAfter((write) => {
      write(part().setIsFinal(true));
      write(part().setOptions(nameOnly).setIsFinal(true));
      write(part().setOptions(options()).setIsFinal(true));
    });
    expect(code).to.equal(status.OK);
    expect(replies.map((reply) => reply.getError()?.getCode())).to.deep.equal([
      status.INVALID_ARGUMENT,
      status.INVALID_ARGUMENT,
      status.ALREADY_EXISTS,
    ]);
  });

  it('keeps nothing of an append that is already too large, and answers it when it is complete', async () => {
    const id = wireId(randomUUID());
    const next = () => new streams.BatchAppendReq().setCorrelationId(id);
    const message = new streams.BatchAppendReq.ProposedMessage().setId(wireId(randomUUID()));
    message.getMetadataMap().set('type', 'Happened');
    message.setData(Buffer.from(JSON.stringify({ text: 'x'.repeat(1_000_000) })));
    const { code, replies } = await codeAfter((write) => {
      write(next().setOptions(options()));
      for (const _ of numbers(20)) write(next().setProposedMessagesList([message]));
      write(next().setIsFinal(true));
    });
    expect(code).to.equal(status.OK);
    expect(replies.map((reply) => reply.getError()?.getDetails()?.getTypeName())).to.deep.equal([
      'event_store.client.MaximumAppendSizeExceeded',
    ]);
  });

  const event = () => {
    const message = new streams.BatchAppendReq.ProposedMessage().setId(wireId(randomUUID()));
    message.getMetadataMap().set('type', 'Happened').set('content-type', 'application/json');
    return message.setData(Buffer.from('{}'));
  };
  const anywhere = () => {
    const asked = options().setAny(new empty.Empty());
    asked.clearStreamPosition();
    return asked;
  };

  it('says what is wrong with an append, in words and in the detail that clients know', async () => {
    const untyped = event();
    untyped.getMetadataMap().clear();
    const { replies } = await codeAfter((write) => {
      write(part().setIsFinal(true));
      write(part().setOptions(anywhere()).setProposedMessagesList([untyped]).setIsFinal(true));
      write(
        part()
          .setOptions(anywhere())
          .setProposedMessagesList([event().setData('')])
          .setIsFinal(true),
      );
    });
    expect(replies).to.have.length(3);
    for (const reply of replies) {
      const error = reply.getError();
      expect(error?.getCode()).to.equal(status.INVALID_ARGUMENT);
      const detail = error
        ?.getDetails()
        ?.unpack(shared.BadRequest.deserializeBinary, 'event_store.client.BadRequest');
      expect(detail?.getMessage()).to.be.a('string').and.not.equal('');
      expect(error?.getMessage()).to.equal(detail?.getMessage());
    }
  });

  for (const [seconds, code] of [
    [0, status.DEADLINE_EXCEEDED],
    [-1, status.DEADLINE_EXCEEDED],
    [60, undefined],
    [2 ** 40, undefined],
  ] as const) {
    it(`also takes the deadline of an append as a duration: ${seconds} s`, async () => {
      const world = await openWorld();
      const client = new grpc.Client(`127.0.0.1:${world.port}`, channel.createInsecure());
      try {
        const asked = Buffer.from(anywhere().serializeBinary());
        const lasting = new duration.Duration().setSeconds(seconds).serializeBinary();
        const { path } = streamsService.StreamsService.batchAppend;
        const call = client.makeBidiStreamRequest(
          path,
          (message: Uint8Array) => Buffer.from(message),
          streams.BatchAppendResp.deserializeBinary,
        );
        const request = part().setProposedMessagesList([event()]).setIsFinal(true).serializeBinary();
        // Field 7 of the options, which are field 2 of the request: each a message, so `number << 3 | 2`.
        const timed = Buffer.concat([asked, Buffer.from([0x3a, lasting.length]), lasting]);
        call.write(Buffer.concat([request, Buffer.from([0x12, timed.length]), timed]));
        const [reply] = await once(call, 'data');
        expect(reply.getError()?.getCode()).to.equal(code);
        call.end();
        await once(call, 'end');
      } finally {
        client.close();
        await world.close();
      }
    });
  }

  it('that is closed with appends in flight answers them first', async () => {
    const message = new streams.BatchAppendReq.ProposedMessage().setId(wireId(randomUUID()));
    message.getMetadataMap().set('type', 'Happened');
    message.setData(Buffer.from('{}'));
    const { code, replies } = await codeAfter((write) => {
      const begun = options().setNoStream();
      begun.clearStreamPosition();
      write(part().setOptions(begun).setProposedMessagesList([message]).setIsFinal(true));
    });
    expect(code).to.equal(status.OK);
    expect(replies).to.have.length(1);
  });
});
