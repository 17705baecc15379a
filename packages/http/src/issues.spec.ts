import { expect } from 'chai';
import { z } from 'zod';
import { issuesOf, pathText } from './issues.ts';

const issues = (schema: z.ZodType, input: unknown) => {
  const result = schema.safeParse(input);
  return result.success ? [] : issuesOf(result.error, input);
};

describe('the issues of a request', () => {
  it('tell a missing field from a wrong one', () => {
    const schema = z.strictObject({ a: z.string(), b: z.array(z.strictObject({ c: z.int() })) });
    expect(issues(schema, { a: 1, b: [{ c: 1 }, {}] })).to.deep.equal([
      { path: 'a', message: 'expected string, received number' },
      { path: 'b[1].c', message: 'is required' },
    ]);
  });

  it('name each unknown field separately', () => {
    expect(issues(z.strictObject({}), { a: 1, b: 2 })).to.deep.equal([
      { path: 'a', message: 'unrecognized field' },
      { path: 'b', message: 'unrecognized field' },
    ]);
  });

  it('of a union are those of the alternative that was probably meant', () => {
    const bet = z.strictObject({ type: z.literal('bet'), amount: z.string() });
    const win = z.strictObject({ type: z.literal('win'), amount: z.string() });
    expect(issues(z.discriminatedUnion('type', [bet, win]), { type: 'win', amount: 1 })).to.deep.equal([
      { path: 'amount', message: 'expected string, received number' },
    ]);
    expect(issues(z.strictObject({ op: z.union([bet, win]) }), { op: { type: 'win' } })).to.deep.equal([
      { path: 'op.amount', message: 'is required' },
    ]);
  });

  it('of a union are limited to the first ones', () => {
    let told = 0;
    const issue: z.core.$ZodIssue = {
      code: 'custom',
      path: [],
      get message() {
        told++;
        return 'is wrong';
      },
    };
    const errors = [Array.from({ length: 10_000 }, () => issue)];
    const failed = new z.ZodError([{ code: 'invalid_union', path: [], errors, message: '' }]);
    expect(issuesOf(failed, {})).to.have.lengthOf(20);
    expect(told).to.equal(20);
  });

  it('never repeat a value, and stay short', () => {
    const secret = 'sk_live_secret';
    const text = JSON.stringify(issues(z.strictObject({ a: z.enum(['x']) }), { a: secret }));
    expect(text).to.not.include(secret);
    expect(pathText(['x'.repeat(10_000)])).to.have.lengthOf(201);
    const unknown = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`f${index}`, 1]));
    expect(issues(z.strictObject({}), unknown)).to.have.lengthOf(20);
  });
});
