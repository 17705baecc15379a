import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { amount, figure, signedFigure } from './amounts.ts';
import { schemaCodec } from './schemaCodec.ts';

const plain = z.object({
  id: z.string(),
  count: z.int(),
  paid: figure,
  net: signedFigure,
  note: z.string().optional(),
  late: figure.optional(),
});
const checked = z.object({
  amount,
  at: z.iso.datetime(),
  tries: z.int().positive(),
  code: z.string().max(3),
});
const SCHEMAS = {
  'plain fields': plain,
  'fields with checks': checked,
  'no unknown fields': z.strictObject({ id: z.string() }),
  'unknown fields kept': z.looseObject({ id: z.string() }),
  'a check of the whole': z.object({ id: z.string() }).refine(({ id }) => id !== 'no'),
  'objects in it': z.object({ id: z.string(), owner: z.object({ paid: figure }), list: z.array(figure) }),
  'an optional field with a check': z.object({ note: z.string().min(2).optional() }),
};

type Direction = 'decode' | 'encode';
type Figures = Readonly<Record<'paid' | 'net' | 'late' | 'amount' | 'owner' | 'list', fc.Arbitrary<unknown>>>;

/** Texts are to be decoded, whole numbers to be encoded, and some of what is neither. */
const figuresAs: Readonly<Record<Direction, Figures>> = {
  decode: {
    paid: fc.oneof(fc.nat().map(String), fc.constantFrom('-1', '01', '', ' 1', '1e3', '0x1', 7, null)),
    net: fc.oneof(fc.integer().map(String), fc.constantFrom('-0', '+1', '--1', 7, null)),
    late: fc.oneof(fc.bigInt({ min: 0n }).map(String), fc.constant(undefined)),
    amount: fc.oneof(fc.nat().map(String), fc.constant('18446744073709551616')),
    owner: fc.record({ paid: fc.nat().map(String) }),
    list: fc.array(fc.nat().map(String)),
  },
  encode: {
    paid: fc.oneof(fc.bigInt({ min: 0n }), fc.constantFrom(0n, -1n, '1', 7, null)),
    net: fc.oneof(fc.bigInt(), fc.constantFrom(0n, '1', 7, null)),
    late: fc.oneof(fc.bigInt({ min: 0n }), fc.constant(undefined)),
    amount: fc.oneof(fc.nat().map(BigInt), fc.constant(2n ** 64n)),
    owner: fc.record({ paid: fc.nat().map(BigInt) }),
    list: fc.array(fc.nat().map(BigInt)),
  },
};

const given = (direction: Direction) => {
  const fields = {
    ...figuresAs[direction],
    id: fc.oneof(fc.string(), fc.constant('no'), fc.integer()),
    count: fc.oneof(fc.integer(), fc.double(), fc.constant('1')),
    note: fc.oneof(fc.string(), fc.constant(null)),
    at: fc.constantFrom('2026-01-31T12:00:00Z', 'today'),
    tries: fc.integer(),
    code: fc.string(),
    more: fc.string(),
  };
  return fc.oneof(
    fc.jsonValue(),
    fc.record(fields, { requiredKeys: [] }),
    fc.record(
      { ...fields, id: fc.string(), count: fc.integer() },
      { requiredKeys: ['id', 'count', 'paid', 'net'] },
    ),
  );
};

describe('a codec derived from a schema', () => {
  for (const [what, schema] of Object.entries<z.ZodType>(SCHEMAS)) {
    for (const direction of ['decode', 'encode'] as const) {
      it(`gives and refuses what zod does to ${direction}: ${what}`, () => {
        const own = schemaCodec(schema)[direction];
        const zods = { decode: z.safeDecode, encode: z.safeEncode }[direction];
        fc.assert(
          fc.property(given(direction), (value) => {
            const expected = zods(schema, value);
            if (!expected.success) {
              expect(() => own(value)).to.throw(expected.error.message);
              return;
            }
            const result = own(value);
            expect(result).to.deep.equal(expected.data);
            expect(Object.keys(Object(result))).to.deep.equal(Object.keys(Object(expected.data)));
          }),
          { numRuns: 300 },
        );
      });
    }
  }

  it('leaves plain objects to itself: zod is not asked', () => {
    let asked = 0;
    const counted = z.object({ id: z.string(), paid: figure });
    const { run } = counted._zod;
    counted._zod.run = (...args) => {
      asked += 1;
      return run(...args);
    };
    const { decode, encode } = schemaCodec(counted);
    expect(decode({ id: 'a', paid: '12', more: 1 })).to.deep.equal({ id: 'a', paid: 12n });
    expect(encode({ id: 'a', paid: 12n })).to.deep.equal({ id: 'a', paid: '12' });
    expect(asked).to.equal(0);
    expect(() => decode({ id: 'a', paid: '012' })).to.throw('non-negative');
    expect(asked).to.equal(1);
    expect(() => encode({ id: 'a', paid: -1n })).to.throw('non-negative');
    expect(asked).to.equal(2);
  });
});
