import streams from '@eventstore/db-client/generated/streams_pb.js';
import { expect } from 'chai';
import { newEvent } from '../testing/events.ts';
import { batchRequest } from './batchWire.ts';

const ID = '00000000-0000-4000-8000-0000000000ff';

describe('an append as bytes', () => {
  for (const expectedRevision of [
    'noStream',
    'streamExists',
    'any',
    0,
    127,
    128,
    Number.MAX_SAFE_INTEGER,
  ] as const) {
    it(`has every field where the protocol has it, expecting ${expectedRevision}`, () => {
      const events = [
        newEvent({ data: '{"name":"Zoë 🎲"}', metadata: '{"schemaVersion":1}' }),
        newEvent({ data: JSON.stringify({ text: 'x'.repeat(20_000) }) }),
      ];
      const append = { stream: 'spec-test.app.é', expectedRevision, events };
      const read = streams.BatchAppendReq.deserializeBinary(batchRequest(ID, append, 61_500));
      expect(read.getCorrelationId()?.getString()).to.equal(ID);
      expect(read.getIsFinal()).to.equal(true);
      const options = read.getOptions();
      const stream = options?.getStreamIdentifier()?.getStreamName_asU8() ?? [];
      expect(Buffer.from(stream).toString()).to.equal(append.stream);
      expect(options?.hasNoStream()).to.equal(expectedRevision === 'noStream');
      expect(options?.hasStreamExists()).to.equal(expectedRevision === 'streamExists');
      expect(options?.hasAny()).to.equal(expectedRevision === 'any');
      expect(options?.hasStreamPosition()).to.equal(typeof expectedRevision === 'number');
      if (typeof expectedRevision === 'number') {
        expect(options?.getStreamPosition()).to.equal(`${expectedRevision}`);
      }
      expect(
        read.getProposedMessagesList().map((message) => ({
          id: message.getId()?.getString(),
          type: message.getMetadataMap().get('type'),
          contentType: message.getMetadataMap().get('content-type'),
          data: Buffer.from(message.getData_asU8()).toString(),
          metadata: Buffer.from(message.getCustomMetadata_asU8()).toString(),
        })),
      ).to.deep.equal(events.map((event) => ({ ...event, contentType: 'application/json' })));
    });
  }
});
