import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { amount, MAX_AMOUNT } from './amounts.ts';
import { fold } from './decider.ts';
import {
  decodeMetadata,
  type EventIn,
  encodeMetadata,
  eventCodec,
  type StoredEvent,
  UnknownEventError,
} from './eventCodec.ts';

const metadata = {
  correlationId: 'request-1',
  actor: 'key:key_1',
  occurredAt: '2026-01-31T12:00:00.000Z',
};

const stored = (type: string, data: unknown, version = 1): StoredEvent => ({
  type,
  data: JSON.stringify(data),
  metadata: encodeMetadata(metadata, version),
});

const chips = eventCodec({
  ChipsBought: { data: z.object({ amount, note: z.string().optional() }) },
  ChipsSold: {
    version: 3,
    data: z.object({ amount, to: z.string() }),
    formerData: { 1: z.object({ amount }), 2: z.object({ amount, buyer: z.string() }) },
    upcasts: {
      // Version 1 had no buyer; version 2 called it `buyer`.
      1: (data) => ({ ...z.object({ amount: z.string() }).parse(data), buyer: 'house' }),
      2: (data) => {
        const { buyer, ...rest } = z.object({ amount: z.string(), buyer: z.string() }).parse(data);
        return { ...rest, to: buyer };
      },
    },
  },
});
type ChipsEvent = EventIn<typeof chips>;

describe('an event codec', () => {
  it('lists its types', () => expect(chips.types).to.deep.equal(['ChipsBought', 'ChipsSold']));

  it('has a schema of each version of each type', () => {
    const fields = chips.dataSchemas.map(({ type, version, data }) => [
      type,
      version,
      Object.keys(z.toJSONSchema(data, { io: 'input' }).properties ?? {}),
    ]);
    expect(fields).to.deep.equal([
      ['ChipsBought', 1, ['amount', 'note']],
      ['ChipsSold', 1, ['amount']],
      ['ChipsSold', 2, ['amount', 'buyer']],
      ['ChipsSold', 3, ['amount', 'to']],
    ]);
  });

  it('writes money as text, and the schema version into the metadata', () => {
    const bought: ChipsEvent = { type: 'ChipsBought', data: { amount: MAX_AMOUNT } };
    expect(chips.encode(bought)).to.deep.equal({
      type: 'ChipsBought',
      data: '{"amount":"18446744073709551615"}',
      schemaVersion: 1,
    });
    expect(chips.encode({ type: 'ChipsSold', data: { amount: 1n, to: 'p' } }).schemaVersion).to.equal(3);
  });

  it('reads back what it wrote', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX_AMOUNT }), fc.string(), (value, to) => {
        const sold: ChipsEvent = { type: 'ChipsSold', data: { amount: value, to } };
        const { type, data, schemaVersion } = chips.encode(sold);
        const read = chips.decode({ type, data, metadata: encodeMetadata(metadata, schemaVersion) });
        expect(read).to.deep.equal(sold);
      }),
    ));

  it('reads an event older than an optional field', () =>
    expect(chips.decode(stored('ChipsBought', { amount: '5' }))).to.deep.equal({
      type: 'ChipsBought',
      data: { amount: 5n },
    }));

  for (const [version, data] of [
    [1, { amount: '5' }],
    [2, { amount: '5', buyer: 'house' }],
    [3, { amount: '5', to: 'house' }],
  ] as const) {
    it(`reads version ${version} as today's event`, () =>
      expect(chips.decode(stored('ChipsSold', data, version))).to.deep.equal({
        type: 'ChipsSold',
        data: { amount: 5n, to: 'house' },
      }));
  }

  it('refuses a version from a later release', () =>
    expect(() => chips.decode(stored('ChipsSold', { amount: '5', to: 'p' }, 4))).to.throw(
      UnknownEventError,
      'This release reads ChipsSold up to version 3, not 4.',
    ));

  it('refuses a later version of an event that has only its first here', () =>
    expect(() => chips.decode(stored('ChipsBought', { amount: '5' }, 2))).to.throw(UnknownEventError));

  it('refuses a type from a later release', () => {
    expect(() => chips.decode(stored('ChipsBurnt', {}))).to.throw(UnknownEventError, 'ChipsBurnt');
    for (const inherited of ['constructor', '__proto__', 'toString']) {
      expect(() => chips.decode(stored(inherited, {})), inherited).to.throw(UnknownEventError);
    }
  });

  it('refuses data that does not match the schema', () => {
    expect(() => chips.decode(stored('ChipsBought', { amount: 5 }))).to.throw();
    expect(() => chips.decode(stored('ChipsBought', {}))).to.throw();
    expect(() => chips.decode({ ...stored('ChipsBought', {}), data: 'no JSON' })).to.throw();
  });

  it('does not write what it could not read', () =>
    expect(() => chips.encode({ type: 'ChipsBought', data: { amount: -1n } })).to.throw());
});

describe('event metadata', () => {
  it('is flat JSON with the schema version first', () =>
    expect(encodeMetadata({ ...metadata, causationId: 'e-1' }, 2)).to.equal(
      '{"v":2,"correlationId":"request-1","actor":"key:key_1","occurredAt":"2026-01-31T12:00:00.000Z","causationId":"e-1"}',
    ));

  it('is read back, with and without a cause', () => {
    expect(decodeMetadata(encodeMetadata(metadata, 1))).to.deep.equal({ v: 1, ...metadata });
    const caused = { ...metadata, causationId: 'e-1' };
    expect(decodeMetadata(encodeMetadata(caused, 7))).to.deep.equal({ v: 7, ...caused });
  });

  it('is shared by readers, none of whom can change it', () => {
    const text = encodeMetadata(metadata, 1);
    const read = decodeMetadata(text);
    expect(Object.isFrozen(read)).to.equal(true);
    decodeMetadata(encodeMetadata(metadata, 2));
    expect(decodeMetadata(text)).to.deep.equal(read);
  });

  it('is refused without its version', () =>
    expect(() => decodeMetadata(JSON.stringify(metadata))).to.throw());
});

describe('a fold', () => {
  it('decodes each event and evolves from the state given', () => {
    const total = { codec: chips, evolve: (state: bigint, event: ChipsEvent) => state + event.data.amount };
    const history = [stored('ChipsBought', { amount: '5' }), stored('ChipsSold', { amount: '2' }, 1)];
    expect(fold(total, 10n, history)).to.equal(17n);
    expect(fold(total, 10n, [])).to.equal(10n);
  });
});
