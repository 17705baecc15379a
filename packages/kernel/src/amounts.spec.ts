import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { amount, figure, MAX_AMOUNT, positiveAmount, signedFigure } from './amounts.ts';

const accepts = (schema: z.ZodType, text: unknown) => schema.safeParse(text).success;

/** Forms that some parser somewhere reads as a number. */
const NOT_CANONICAL: readonly unknown[] = [
  '',
  ' ',
  ' 1',
  '1 ',
  '1\n',
  '01',
  '00',
  '+1',
  '-0',
  '-1',
  '1e3',
  '1.0',
  '1.',
  '.5',
  '1_000',
  '1,000',
  '0x10',
  '0b1',
  '١',
  '１',
  'NaN',
  'Infinity',
  1,
  0,
  1n,
  true,
  null,
  undefined,
  [],
  ['1'],
  {},
];

describe('an amount', () => {
  for (const [text, value] of [
    ['0', 0n],
    ['1', 1n],
    ['9007199254740993', 2n ** 53n + 1n],
    ['18446744073709551615', 2n ** 64n - 1n],
  ] as const) {
    it(`reads ${text}`, () => expect(amount.decode(text)).to.equal(value));
  }

  for (const text of NOT_CANONICAL) {
    it(`refuses ${typeof text === 'bigint' ? '1n' : JSON.stringify(text)}`, () =>
      expect(accepts(amount, text)).to.equal(false));
  }

  it('refuses one more than an SPL amount can hold, and anything longer', () => {
    expect(accepts(amount, '18446744073709551616')).to.equal(false);
    expect(accepts(amount, '99999999999999999999')).to.equal(false);
    expect(accepts(amount, '100000000000000000000')).to.equal(false);
  });

  it('refuses a very long text without parsing it as a number', () =>
    expect(accepts(amount, '9'.repeat(1_000_000))).to.equal(false));

  it('survives a round trip, whatever its value', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: MAX_AMOUNT }), (value) => {
        expect(amount.decode(z.encode(amount, value))).to.equal(value);
      }),
    ));

  it('takes exactly the texts that it would write', () =>
    fc.assert(
      fc.property(fc.stringMatching(/^[-+]?[0-9]{0,21}$/), (text) => {
        const canonical =
          /^\d+$/.test(text) && BigInt(text).toString() === text && BigInt(text) <= MAX_AMOUNT;
        expect(accepts(amount, text)).to.equal(canonical);
      }),
    ));

  it('is not encoded when it is negative or too large', () => {
    expect(() => z.encode(amount, -1n)).to.throw();
    expect(() => z.encode(amount, MAX_AMOUNT + 1n)).to.throw();
  });

  it('tells the caller what to send instead', () => {
    const messages = (text: string) => amount.safeParse(text).error?.issues.map(({ message }) => message);
    expect(messages('1e3')).to.deep.equal([
      'must be a base-unit integer as a string, without sign, leading zeros or exponent',
    ]);
    expect(messages('18446744073709551616')).to.deep.equal(['must be at most 18446744073709551615']);
  });
});

describe('a positive amount', () => {
  it('begins at 1', () => {
    expect(accepts(positiveAmount, '0')).to.equal(false);
    expect(positiveAmount.decode('1')).to.equal(1n);
    expect(positiveAmount.decode('18446744073709551615')).to.equal(MAX_AMOUNT);
  });

  for (const text of NOT_CANONICAL) {
    it(`refuses ${typeof text === 'bigint' ? '1n' : JSON.stringify(text)}`, () =>
      expect(accepts(positiveAmount, text)).to.equal(false));
  }
});

describe('a figure', () => {
  it('may exceed one amount, and survives a round trip', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 200n }), (value) => {
        expect(figure.decode(z.encode(figure, value))).to.equal(value);
      }),
    ));

  for (const text of NOT_CANONICAL) {
    it(`refuses ${typeof text === 'bigint' ? '1n' : JSON.stringify(text)}`, () =>
      expect(accepts(figure, text)).to.equal(false));
  }
});

describe('a signed figure', () => {
  it('may be negative, and survives a round trip', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }), (value) => {
        expect(signedFigure.decode(z.encode(signedFigure, value))).to.equal(value);
      }),
    ));

  it('has one spelling of zero, and no leading zeros after a sign', () => {
    for (const text of ['-0', '-01', '--1', '- 1']) expect(accepts(signedFigure, text), text).to.equal(false);
  });
});
