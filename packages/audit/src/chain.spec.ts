import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EncodedEvent, type Position } from '@coffer/event-store';
import { expect } from 'chai';
import fc from 'fast-check';
import { entryHash, GENESIS, idBytes, idText } from './chain.ts';

const STREAM = 'account-test.app_01jee1wzwqeh1rx3w2d3k4m5n6.usr_01jee1wzwqeh1rx3w2d3k4m5n6.2';

const events = [
  {
    stream: STREAM,
    revision: 0,
    id: '0193b81f-f2f7-7443-8ec7-82689a3a1655',
    type: 'AccountCredited',
    data: '{"entryId":"adjust:welcome-1","amount":"1000000","reason":"adjustment","available":"1000000","held":"0"}',
    metadata: '{"v":1,"correlationId":"r-1","actor":"operator","occurredAt":"2026-01-31T12:00:00.000Z"}',
  },
  {
    stream: STREAM,
    revision: 1,
    id: 'ffffffff-ffff-4fff-bfff-ffffffffffff',
    type: 'AccountDebited',
    data: '{"note":"Gebühr für 💰"}',
    metadata: '{}',
  },
  {
    stream: 's',
    revision: 2 ** 32,
    id: '00000000-0000-0000-0000-000000000000',
    type: '',
    data: '',
    metadata: '',
  },
];

/** Computed in Python with hashlib and struct, following the description in docs/operating/auditing.md. */
const HASHES = [
  'f8bd9891d970cd05a2240ab1fb6a6cae6a6c04640508f462b71b213e84c7eb00',
  '638b500407257c8ba72004f5071d2733b2a412e41a45af46739fc1e8dac74b0a',
  '8becb99a787950a3bdef5cf660edbda0ce5cb6bcb9300a3febac43c6d8dab8bf',
];
const FAR_ON = '681a6a4d0522c7ee686cacbfa847728991508f0bdf2512846308116b475e2103';

describe('the hash of an event in the chain', () => {
  it('is for ever what it was: heads that auditors have noted rest on it', () => {
    let previous: Buffer = GENESIS;
    for (const [index, event] of events.entries()) {
      previous = entryHash(previous, index + 1, event);
      expect(previous.toString('hex')).to.equal(HASHES[index]);
    }
    const [, , last] = events;
    if (!last) throw new Error('There are three.');
    const farOn = entryHash(Buffer.alloc(32, 0xff), Number.MAX_SAFE_INTEGER, last);
    expect(farOn.toString('hex')).to.equal(FAR_ON);
  });

  it('covers every field and where one ends and the next begins', () => {
    const [event] = events;
    if (!event) throw new Error('There are three.');
    const others = [
      entryHash(GENESIS, 1, event),
      entryHash(Buffer.alloc(32, 1), 1, event),
      entryHash(GENESIS, 2, event),
      entryHash(GENESIS, 1, { ...event, revision: 1 }),
      entryHash(GENESIS, 1, { ...event, id: '0193b81f-f2f7-7443-8ec7-82689a3a1656' }),
      entryHash(GENESIS, 1, { ...event, stream: `${event.stream}0` }),
      entryHash(GENESIS, 1, { ...event, data: `${event.data} ` }),
      entryHash(GENESIS, 1, { ...event, metadata: `${event.metadata} ` }),
      entryHash(GENESIS, 1, { ...event, stream: `${event.stream}A`, type: event.type.slice(1) }),
      entryHash(GENESIS, 1, { ...event, data: event.metadata, metadata: event.data }),
    ];
    expect(new Set(others.map((hash) => hash.toString('hex'))).size).to.equal(others.length);
  });

  it('is over the bytes of any texts, whatever their characters', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(
        fc.tuple(texts, texts, texts, texts),
        fc.maxSafeNat(),
        ([stream, type, data, metadata], n) => {
          const event = {
            stream,
            revision: n,
            id: '0193b81f-f2f7-7443-8ec7-82689a3a1655',
            type,
            data,
            metadata,
          };
          const numbers = Buffer.alloc(16);
          numbers.writeBigUInt64BE(BigInt(n), 0);
          numbers.writeBigUInt64BE(BigInt(n), 8);
          const sized = [stream, type, data, metadata].flatMap((text) => {
            const bytes = Buffer.from(text);
            const length = Buffer.alloc(4);
            length.writeUInt32BE(bytes.length);
            return [length, bytes];
          });
          const encoded = Buffer.concat([GENESIS, numbers, idBytes([event.id]), ...sized]);
          expect(entryHash(GENESIS, n, event).toString('hex')).to.equal(hash('sha256', encoded));
        },
      ),
    );
  });

  it('is over the bytes of an event as its store has read it', () => {
    const [first] = events;
    if (!first) throw new Error('There are three.');
    const recorded = { ...first, position: '1' as Position, recordedAt: new Date(0) };
    const texts = [first.stream, first.type, first.data, first.metadata].map((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return Buffer.concat([length, Buffer.from(text)]);
    });
    const bytes = Buffer.concat([idBytes([first.id]), ...texts]);
    const eventOf = (stored: Buffer) =>
      new EncodedEvent(
        recorded,
        { held: Buffer.concat([Buffer.alloc(7), stored, Buffer.alloc(3)]) },
        7,
        7 + stored.length,
      );
    expect(entryHash(GENESIS, 1, eventOf(bytes)).toString('hex')).to.equal(HASHES[0]);
    const altered = Buffer.from(bytes);
    altered[altered.length - 1] = 0x20;
    expect(entryHash(GENESIS, 1, eventOf(altered)).toString('hex')).not.to.equal(HASHES[0]);
    const large = Buffer.concat([bytes, Buffer.alloc(100_000, 'x')]);
    const input = Buffer.concat([GENESIS, Buffer.from('00000000000000010000000000000000', 'hex'), large]);
    expect(entryHash(GENESIS, 1, eventOf(large)).toString('hex')).to.equal(hash('sha256', input));
  });

  it('takes a previous hash of another length for one cut off, or filled with zeros', () => {
    const [first] = events;
    if (!first) throw new Error('There are three.');
    const previous = Buffer.alloc(32, 7);
    const expected = entryHash(previous, 1, first);
    expect(entryHash(Buffer.alloc(90, 7), 1, first).equals(expected)).to.equal(true);
    expect(entryHash(previous.subarray(1), 1, first).equals(expected)).to.equal(false);
  });

  it('knows an id by its bytes', () => {
    expect(idText(idBytes(['0193B81F-f2f7-7443-8ec7-82689a3a1655']))).to.equal(
      '0193b81f-f2f7-7443-8ec7-82689a3a1655',
    );
    expect(() => idBytes(['evt_1'])).to.throw('no UUID');
    const event = { stream: 's', revision: 0, id: 'evt_1', type: '', data: '', metadata: '' };
    expect(() => entryHash(GENESIS, 1, event)).to.throw('no UUID');
  });
});

/**
 * Some stores parse the JSON of an event and write it out again. The chain hashes the stored text, so the
 * round trip must give the same text: no number in another spelling, no key that looks like an integer.
 */
describe('the content of every event ever written', () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  for (const path of globSync('packages/*/src/domain/fixtures/*.json', { cwd: root }).sort()) {
    it(`is the same text when it is parsed and written out again: ${path}`, () => {
      const text = withoutLayout(readFileSync(join(root, path), 'utf8'));
      expect(JSON.stringify(JSON.parse(text))).to.equal(text);
    });
  }

  it('is looked at without the layout of its file alone', () => {
    expect(withoutLayout('{ "a b": [1.0, "\\" :"] }')).to.equal('{"a b":[1.0,"\\" :"]}');
    expect(JSON.stringify(JSON.parse('{"b":1,"7":2}'))).not.to.equal('{"b":1,"7":2}');
  });
});

/** The exact text, without the white space outside strings. */
function withoutLayout(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, (_match, quoted: string | undefined) => quoted ?? '');
}
