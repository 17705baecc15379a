import { expect } from 'chai';
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { parseQuery } from './queryText.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { ask, startWorld } from './testing/world.ts';

describe('a query', () => {
  it('is flat text', () => {
    expect(parseQuery('a=1&b%20c=x+y%26&flag&').values).to.deep.equal({ a: '1', 'b c': 'x y&', flag: '' });
    expect(parseQuery('a[b]=1&c=1,2').values).to.deep.equal({ 'a[b]': '1', c: '1,2' });
    expect(parseQuery('')).to.deep.equal({ values: {}, issues: [] });
  });

  for (const [text, issue] of [
    ['a=1&a=2', { path: 'a', message: 'is given more than once' }],
    ['a=%zz', { path: 'a', message: 'is not percent-encoded UTF-8' }],
    ['a=%00', { path: 'a', message: 'is not percent-encoded UTF-8' }],
    ['%ff=1', { path: '', message: 'a parameter name is not percent-encoded UTF-8' }],
    ['__proto__=1', { path: '__proto__', message: 'unrecognized field' }],
  ] as const) {
    it(`refuses ${text}`, () => {
      expect(parseQuery(text).issues).to.deep.equal([issue]);
    });
  }

  it('is checked against the schema; unknown parameters are refused, even where none is taken', async () => {
    const list = endpoint({
      method: 'GET',
      path: '/list',
      credential: 'none',
      summary: 'List',
      query: z.strictObject({ limit: z.stringbool().optional() }),
      success: { status: 200 },
      errors: [],
      handle: ({ query }) => ({ status: 200, body: { limit: query.limit ?? null } }),
    });
    const plain = simpleEndpoint({ path: '/plain', handle: () => ({ status: 200, body: {} }) });
    await using world = await startWorld({ endpoints: [list, plain] });

    expect((await ask(`${world.base}/list?limit=true`)).body).to.deep.equal({ limit: true });
    expect((await ask(`${world.base}/list`)).body).to.deep.equal({ limit: null });
    for (const url of ['/list?limti=true', '/plain?limti=1']) {
      const answer = await ask(`${world.base}${url}`);
      expect(answer.status, url).to.equal(400);
      expect(answer.body.details).to.deep.equal({
        issues: [{ path: 'limti', message: 'unrecognized field' }],
      });
    }
    expect((await ask(`${world.base}/list?limit=true&limit=true`)).code).to.equal('request/invalid');
  });
});
