import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { amount, figure, signedFigure } from './amounts.ts';
import { decoderOf } from './decoderOf.ts';

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

const given = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      id: fc.oneof(fc.string(), fc.constant('no'), fc.integer()),
      count: fc.oneof(fc.integer(), fc.double(), fc.constant('1')),
      paid: fc.oneof(fc.nat().map(String), fc.constantFrom('-1', '01', '', ' 1', '1e3', '0x1', 7, null)),
      net: fc.oneof(fc.integer().map(String), fc.constantFrom('-0', '+1', '--1', 7, null)),
      note: fc.oneof(fc.string(), fc.constant(null)),
      late: fc.oneof(fc.bigInt({ min: 0n }).map(String), fc.constant(undefined)),
      amount: fc.oneof(fc.nat().map(String), fc.constant('18446744073709551616')),
      at: fc.constantFrom('2026-01-31T12:00:00Z', 'today'),
      tries: fc.integer(),
      code: fc.string(),
      owner: fc.record({ paid: fc.nat().map(String) }),
      list: fc.array(fc.nat().map(String)),
      more: fc.string(),
    },
    { requiredKeys: [] },
  ),
);

describe('a decoder derived from a schema', () => {
  for (const [what, schema] of Object.entries<z.ZodType>(SCHEMAS)) {
    it(`gives and refuses what zod does: ${what}`, () => {
      const decode = decoderOf(schema);
      fc.assert(
        fc.property(given, (value) => {
          const expected = z.safeDecode(schema, value);
          if (!expected.success) {
            expect(() => decode(value)).to.throw(expected.error.message);
            return;
          }
          const decoded = decode(value);
          expect(decoded).to.deep.equal(expected.data);
          expect(Object.keys(Object(decoded))).to.deep.equal(Object.keys(Object(expected.data)));
        }),
        { numRuns: 300 },
      );
    });
  }

  it('leaves plain objects to itself: zod is not asked', () => {
    let asked = 0;
    const counted = z.object({ id: z.string(), paid: figure });
    const { run } = counted._zod;
    counted._zod.run = (...args) => {
      asked += 1;
      return run(...args);
    };
    const decode = decoderOf(counted);
    expect(decode({ id: 'a', paid: '12', more: 1 })).to.deep.equal({ id: 'a', paid: 12n });
    expect(asked).to.equal(0);
    expect(() => decode({ id: 'a', paid: '012' })).to.throw('non-negative');
    expect(asked).to.equal(1);
  });
});
