import { expect } from 'chai';
import { type Endpoint, endpoint } from './endpoint.ts';
import { OPERATOR_TOKEN, PUBLISHABLE_KEY, purchaseBody, rejectShop, SECRET_KEY } from './testing/shop.ts';
import { asJson, ask, bearer, startWorld, type World } from './testing/world.ts';

/** A request that breaks every rule from one check on; each row repairs one more than the row before. */
interface Row {
  readonly rule: string;
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly path?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const BIG = 'x'.repeat(70_000);
const text = { 'content-type': 'text/plain' };

const rows: readonly Row[] = [
  {
    rule: 'route',
    status: 404,
    code: 'request/not_found',
    path: '/nowhere',
    method: 'PUT',
    headers: text,
    body: BIG,
  },
  {
    rule: 'method',
    status: 405,
    code: 'request/method_not_allowed',
    method: 'PUT',
    headers: text,
    body: BIG,
  },
  { rule: 'credential', status: 401, code: 'auth/missing_credentials', headers: text, body: BIG },
  { rule: 'known key', status: 401, code: 'auth/invalid_key', token: 'sk_test_no', headers: text, body: BIG },
  {
    rule: 'kind of credential',
    status: 403,
    code: 'auth/wrong_credential_kind',
    token: PUBLISHABLE_KEY,
    headers: text,
    body: BIG,
  },
  {
    rule: 'feature switch',
    status: 404,
    code: 'shop/closed',
    path: '/closed',
    headers: text,
    body: BIG,
    token: SECRET_KEY,
  },
  {
    rule: 'rate',
    status: 429,
    code: 'request/rate_limited',
    path: '/limited',
    headers: text,
    body: BIG,
    token: SECRET_KEY,
  },
  {
    rule: 'media type',
    status: 415,
    code: 'request/unsupported_media_type',
    headers: text,
    body: BIG,
    token: SECRET_KEY,
  },
  { rule: 'size', status: 413, code: 'request/too_large', headers: asJson, body: BIG, token: SECRET_KEY },
  {
    rule: 'JSON',
    status: 400,
    code: 'request/malformed_json',
    headers: asJson,
    body: '{"item":',
    token: SECRET_KEY,
  },
  {
    rule: 'schema',
    status: 400,
    code: 'request/invalid',
    headers: asJson,
    body: '{"item":1}',
    token: SECRET_KEY,
  },
  {
    rule: 'the endpoint itself',
    status: 409,
    code: 'shop/too_poor',
    headers: asJson,
    body: '{"item":"a","price":"1001"}',
    token: SECRET_KEY,
  },
];

const purchase = (parts: Pick<Endpoint, 'path'> & Partial<Endpoint>): Endpoint => ({
  ...endpoint({
    method: 'POST',
    path: '/purchase',
    credential: 'sk',
    summary: 'Buy',
    body: purchaseBody,
    success: { status: 200 },
    errors: ['shop/too_poor', 'shop/closed'],
    handle: ({ body }) => {
      throw rejectShop('shop/too_poor', { price: body.price });
    },
  }),
  ...parts,
});

const endpoints = [
  purchase({ path: '/purchase' }),
  purchase({
    path: '/closed',
    rateLimit: 'signIn',
    admit: () => {
      throw rejectShop('shop/closed');
    },
  }),
  purchase({ path: '/limited', rateLimit: 'signIn' }),
  purchase({ path: '/operator', credential: 'operator' }),
];

describe('the order of checks', () => {
  let world: World;
  before(async () => {
    const none = { perMinute: 1, burst: 0 };
    world = await startWorld({
      endpoints,
      rateLimits: { signIn: { perIp: none, perKey: undefined }, secretKey: undefined },
    });
  });
  after(() => world.stop(0));

  for (const { rule, status, code, method = 'POST', path = '/purchase', token, headers, body } of rows) {
    it(`${rule}: ${status} ${code}`, async () => {
      const answer = await ask(`${world.base}${path}${code === 'shop/too_poor' ? '' : '?unknown=1'}`, {
        method,
        headers: { ...headers, ...(token && bearer(token)) },
        ...(body && { body }),
      });
      expect(answer.code).to.equal(code);
      expect(answer.status).to.equal(status);
      expect(answer.body).to.have.all.keys('code', 'message', 'details');
    });
  }

  it('distinguishes a wrong kind of credential from none, for keys and for the operator token', async () => {
    const post = (path: string, token: string) =>
      ask(`${world.base}${path}`, { method: 'POST', headers: bearer(token) });
    expect((await post('/operator', SECRET_KEY)).code).to.equal('auth/wrong_credential_kind');
    expect((await post('/operator', 'nothing')).code).to.equal('auth/invalid_key');
    expect((await post('/purchase', OPERATOR_TOKEN)).code).to.equal('auth/wrong_credential_kind');
    expect((await post('/operator', OPERATOR_TOKEN)).code).to.equal('request/invalid');
  });

  it('names the header and the methods that would work', async () => {
    const unauthorized = await ask(`${world.base}/purchase`, { method: 'POST' });
    expect(unauthorized.headers.get('www-authenticate')).to.equal('Bearer');
    const otherMethod = await ask(`${world.base}/purchase`, { method: 'DELETE' });
    expect(otherMethod.headers.get('allow')).to.equal('POST');
    expect(otherMethod.body.details).to.deep.equal({ allow: ['POST'] });
  });

  for (const authorization of ['Basic c2s6', 'Bearer', 'Bearer ', SECRET_KEY, 'Bearer a b']) {
    it(`takes no credential from "${authorization}"`, async () => {
      const answer = await ask(`${world.base}/purchase`, { method: 'POST', headers: { authorization } });
      expect(answer.code).to.equal('auth/missing_credentials');
    });
  }

  it('takes the name of the scheme in any case', async () => {
    const answer = await ask(`${world.base}/purchase`, {
      method: 'POST',
      headers: { authorization: `bearer  ${SECRET_KEY}` },
    });
    expect(answer.code).to.equal('request/invalid');
  });
});
