import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { figure, signedFigure } from './amounts.ts';
import { encoderOf } from './encoderOf.ts';

const described = z.object({
  id: z.string(),
  amount: figure,
  net: signedFigure.nullable(),
  note: z.string().optional(),
  at: z.object({ slot: z.int() }).nullable(),
  items: z.array(z.object({ balance: figure })).readonly(),
});

const value = fc.record({
  id: fc.string(),
  amount: fc.bigInt({ min: 0n }),
  net: fc.option(fc.bigInt()),
  at: fc.option(fc.record({ slot: fc.integer() })),
  items: fc.array(fc.record({ balance: fc.bigInt({ min: 0n }) })),
});

describe('the body of an answer', () => {
  it('has the bytes that its description encodes', () =>
    fc.assert(
      fc.property(value, (given) => {
        expect(JSON.stringify(encoderOf(described)(given))).to.equal(
          JSON.stringify(z.encode(described, given)),
        );
      }),
    ));

  it('has only what is described, in that order', () => {
    const given = { secret: 'x', balance: 2n, amount: 1n };
    const text = JSON.stringify(encoderOf(z.object({ amount: figure, balance: figure }))(given));
    expect(text).to.equal('{"amount":"1","balance":"2"}');
  });
});
