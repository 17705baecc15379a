/** What is sent is, byte for byte, what the client itself would send. */
import { createRequire } from 'node:module';
import { expect } from 'chai';
import { Partitioners } from 'kafkajs';
import { crc32c } from './crc32c.ts';
import { partitionByKey } from './partitioner.ts';
import { encodeProduceRequest, type ProduceRequest, type RecordMessage } from './produceRequest.ts';

interface OfClient {
  readonly encode: () => Promise<{ readonly buffer: Buffer }>;
}
const ofClient: (given: ProduceRequest) => OfClient = createRequire(import.meta.url)(
  'kafkajs/src/protocol/requests/produce/v7/request.js',
);

const NOW = 1_767_225_600_000;
const TEXTS = ['', 'a', 'é', '€', '😀', 'x'.repeat(63), 'x'.repeat(64), 'é'.repeat(40), 'x'.repeat(9_000)];

const message = (more: Partial<RecordMessage> = {}): RecordMessage => ({
  key: 'playSession-test.app_1.ses_1',
  value: Buffer.from('{"specversion":"1.0"}'),
  headers: { type: 'coffer.playSession.BetPlaced', revision: '3' },
  timestamp: String(NOW),
  ...more,
});

const requestWith = (...partitions: readonly (readonly RecordMessage[])[]): ProduceRequest => ({
  transactionalId: 'coffer.relay',
  acks: -1,
  timeout: 30_000,
  producerId: '9007199254740993',
  producerEpoch: 12,
  topicData: [
    {
      topic: 'coffer.test.playSession',
      partitions: partitions.map((messages, partition) => ({
        partition: String(partition),
        firstSequence: 2_147_483_000 + partition,
        messages,
      })),
    },
    {
      topic: 'coffer.relay-places',
      partitions: [{ partition: 0, firstSequence: 0, messages: [message({ headers: {} })] }],
    },
  ],
});

describe('a produce request', () => {
  const requests: Readonly<Record<string, ProduceRequest>> = {
    'one message': requestWith([message()]),
    'several partitions, and more messages than fit a varint of one byte': requestWith(
      Array.from({ length: 200 }, (_, number) =>
        message({ value: Buffer.alloc(number * 50, 'v'), timestamp: String(NOW + number) }),
      ),
      [message(), message()],
    ),
    'texts of every length and alphabet': requestWith(
      TEXTS.flatMap((text) => [
        message({ key: text }),
        message({ value: Buffer.from(text) }),
        message({ headers: { [text]: text, other: text } }),
      ]),
    ),
    'times in any order, years apart': requestWith(
      [0, 90_000_000_000, 3, 2_147_483_648].map((afterMs) => message({ timestamp: String(NOW + afterMs) })),
    ),
    'a message of a megabyte': requestWith([message({ value: Buffer.alloc(1_048_576, 'v') })]),
  };
  for (const [what, request] of Object.entries(requests)) {
    it(`is the client's: ${what}`, async () => {
      const { buffer } = await ofClient(request).encode();
      expect(encodeProduceRequest(request).equals(buffer)).to.equal(true);
    });
  }

  it('has the checksum that the standard gives as an example', () =>
    expect(crc32c(Buffer.from('123456789'))).to.equal(0xe3069283));
});

describe('the partition of a key', () => {
  it('is that of other clients', () => {
    const theirs = Partitioners.DefaultPartitioner();
    const ours = partitionByKey();
    const keys = [...TEXTS, ...Array.from({ length: 100 }, (_, number) => `stream-${'1'.repeat(number)}`)];
    for (const partitions of [1, 3, 6, 50]) {
      const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
        ...{ partitionId, leader: 1, partitionErrorCode: 0 },
        ...{ replicas: [], isr: [] },
      }));
      for (const key of keys) {
        const given = { topic: 'coffer.test.user', partitionMetadata, message: { key, value: null } };
        expect(ours(given), key).to.equal(theirs(given));
      }
    }
  });
});
