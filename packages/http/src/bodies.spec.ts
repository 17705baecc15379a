import { expect } from 'chai';
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { buy, purchaseBody, SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { openSocket, readToEnd, readUntil } from './testing/sockets.ts';
import { asJson, ask, bearer, startWorld, type World } from './testing/world.ts';

const good = '{"item":"a","price":"7"}';

const optional = endpoint({
  method: 'POST',
  path: '/optional',
  credential: 'none',
  summary: 'Take a body of optional fields',
  body: z.strictObject({ graceSeconds: z.int().optional() }),
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body }),
});
const bodiless = simpleEndpoint({
  method: 'POST',
  path: '/bodiless',
  handle: () => ({ status: 200, body: { done: true } }),
});
const anything = endpoint({
  method: 'POST',
  path: '/anything',
  credential: 'none',
  summary: 'Take any JSON',
  body: z.looseObject({}),
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body }),
});
const anyText = endpoint({
  method: 'POST',
  path: '/any-text',
  credential: 'none',
  summary: 'Take any JSON with any text',
  body: z.looseObject({}),
  anyText: true,
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body }),
});
const large = endpoint({
  method: 'POST',
  path: '/large',
  credential: 'sk',
  summary: 'Take a large body',
  body: z.strictObject({ items: z.array(purchaseBody) }),
  bodyLimitBytes: 4 * 1024 * 1024,
  success: { status: 200 },
  errors: [],
  handle: ({ body }) => ({ status: 200, body: { count: body.items.length } }),
});
const read = simpleEndpoint({ path: '/things', handle: () => ({ status: 200, body: { things: [] } }) });

describe('a body', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ endpoints: [buy, optional, bodiless, anything, anyText, large, read] });
  });
  after(() => world.stop(0));

  const post = (
    path: string,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    headers: Record<string, string> = asJson,
  ) =>
    ask(`${world.base}${path}`, {
      method: 'POST',
      headers: { ...bearer(SECRET_KEY), ...headers },
      ...(body !== undefined && { body }),
    });
  const issuesOf = async (path: string, body: string) => (await post(path, body)).body.details;

  it('is parsed into the types of the schema', async () => {
    const answer = await post('/shop/purchases', good);
    expect(answer.status).to.equal(201);
    expect(answer.body).to.deep.equal({ item: 'a', price: '7' });
  });

  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/json ;',
    'application/json\t; Charset = utf8 ;',
  ]) {
    it(`may be called ${type}`, async () => {
      expect((await post('/shop/purchases', good, { 'content-type': type })).status).to.equal(201);
    });
  }

  for (const headers of [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/json; charset=utf-8; charset=utf-8' },
    { 'content-type': 'application/json;;' },
    { 'content-type': `application/json;${' '.repeat(300)}charset=utf-8` },
    { 'content-type': 'application/jsonx' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { ...asJson, 'content-encoding': 'gzip' },
  ]) {
    it(`may not come as ${JSON.stringify(headers)}`, async () => {
      const answer = await post('/shop/purchases', good, headers);
      expect(answer.status).to.equal(415);
      expect(answer.code).to.equal('request/unsupported_media_type');
    });
  }

  for (const [what, bytes] of [
    ['half a document', '{"item":'],
    ['two documents', '{} {}'],
    ['single quotes', "{'item':'a'}"],
    ['a byte order mark', `\ufeff${good}`],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['NaN', '{"item":NaN}'],
  ] as const) {
    it(`with ${what} is malformed`, async () => {
      const answer = await post('/shop/purchases', bytes);
      expect(answer.status).to.equal(400);
      expect(answer.code).to.equal('request/malformed_json');
      expect(answer.body.details).to.deep.equal({});
    });
  }

  it('that is JSON but not an object is invalid as a whole', async () => {
    for (const body of ['[]', '"a"', '1', 'null', 'true']) {
      expect(await issuesOf('/shop/purchases', body), body).to.have.nested.property('issues[0].path', '');
    }
  });

  it('gets back every wrong, missing or unknown field', async () => {
    expect(await issuesOf('/shop/purchases', '{"price":"01","amuont":"1"}')).to.deep.equal({
      issues: [
        { path: 'item', message: 'is required' },
        {
          path: 'price',
          message: 'must be a base-unit integer as a string, without sign, leading zeros or exponent',
        },
        { path: 'amuont', message: 'unrecognized field' },
      ],
    });
  });

  it('gets back where in a list something is wrong, up to twenty issues', async () => {
    const items = Array.from({ length: 50 }, () => ({ item: 'a', price: '0' }));
    const details = await issuesOf('/large', JSON.stringify({ items }));
    expect(details).to.have.nested.property('issues[3].path', 'items[3].price');
    expect(details).to.have.property('issues').with.lengthOf(20);
  });

  describe('of more fields than any endpoint takes', () => {
    const MOST = 65_536;
    const fields = (count: number) =>
      Array.from({ length: count }, (_, index) => `"${index.toString(36)}:":1`);

    it('is refused before they are read, whatever their names and depth', async () => {
      const bodies = [
        `{${fields(400_000)}}`,
        `{"items":[{${fields(400_000)}}]}`,
        `{"items":[${fields(MOST / 2 + 1).map((field) => `{${field},"b":1}`)}]}`,
      ];
      for (const body of bodies) {
        const { status, code, body: answer } = await post('/large', body);
        expect([status, code]).to.deep.equal([400, 'request/invalid']);
        expect(answer.details).to.deep.equal({
          issues: [{ path: '', message: 'has more than 65536 fields' }],
        });
      }
    });

    it('or more lists and objects is refused before they are read, empty or not and however deep', async () => {
      const half = 2 * 1024 * 1024 - 100;
      const bodies = [
        `{"items":[${'{},'.repeat(MOST)}{}]}`,
        `{"items":[${'[],'.repeat(400_000)}[]]}`,
        `{"items":${'['.repeat(half)}${']'.repeat(half)}}`,
        '['.repeat(2 * half),
      ];
      for (const body of bodies) {
        const { status, code, body: answer } = await post('/large', body);
        expect([status, code]).to.deep.equal([400, 'request/invalid']);
        expect(answer.details).to.deep.equal({
          issues: [{ path: '', message: 'has more than 65536 lists and objects' }],
        });
      }
    });

    it('at the limit is read, as is one whose texts are full of what is counted', async () => {
      const details = await issuesOf('/large', `{${fields(MOST)}}`);
      expect(details)
        .to.have.property('issues')
        .with.lengthOf(20)
        .and.deep.include({ path: '0:', message: 'unrecognized field' });
      // The body and its list are two of them.
      const empties = Array.from({ length: MOST - 2 }, () => ({}));
      expect(await issuesOf('/large', JSON.stringify({ items: empties })))
        .to.have.property('issues')
        .with.lengthOf(20)
        .and.deep.include({ path: 'items[0].item', message: 'is required' });
      const item = { item: ':\\":[{'.repeat(100_000), price: '7' };
      expect((await post('/large', JSON.stringify({ items: [item] }))).body).to.deep.equal({ count: 1 });
    });
  });

  it('cannot reach the prototype of anything', async () => {
    const poisoned = '{"item":"a","price":"7","__proto__":{"polluted":true}}';
    for (const path of ['/shop/purchases', '/anything']) {
      expect(await issuesOf(path, poisoned), path).to.deep.equal({
        issues: [{ path: '__proto__', message: 'unrecognized field' }],
      });
    }
    expect(await issuesOf('/anything', '{"a":[{"__proto__":1}]}')).to.deep.equal({
      issues: [{ path: 'a[0].__proto__', message: 'unrecognized field' }],
    });
  });

  it('may hold any text but NUL and half a surrogate pair', async () => {
    expect((await post('/anything', '{"a":"\\u00e9 \\ud83c\\udfb2"}')).body).to.deep.equal({ a: 'é 🎲' });
    const issues = [{ path: 'a.b', message: 'must be Unicode text without NUL' }];
    expect(await issuesOf('/anything', '{"a":{"b":"\\u0000"}}')).to.deep.equal({ issues });
    expect(await issuesOf('/anything', '{"a":{"b":"\\ud83c"}}')).to.deep.equal({ issues });
  });

  it('may hold such text where the endpoint accepts it, but nothing else that is unsafe', async () => {
    const odd = '{"a":{"b":"\\u0000","c":["\\ud83c"]}}';
    expect((await post('/any-text', odd)).body).to.deep.equal({ a: { b: '\0', c: ['\ud83c'] } });
    expect((await post('/any-text', '{"a\\u0000":1}')).code).to.equal('request/invalid');
    expect((await post('/any-text', '{"a":{"__proto__":1}}')).code).to.equal('request/invalid');
  });

  it('nested thousands of levels deep is refused like any other mistake', async () => {
    const deep = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    const answer = await post('/anything', deep);
    expect(answer.code).to.equal('request/invalid');
    expect(answer.body.details).to.have.nested.property('issues[0].message', 'is nested too deeply');
  });

  it('that is absent counts as an empty object', async () => {
    expect((await post('/optional', undefined, {})).body).to.deep.equal({});
    expect((await post('/optional', '', asJson)).body).to.deep.equal({});
    const missing = await post('/shop/purchases', undefined, {});
    expect(missing.code).to.equal('request/invalid');
    expect(missing.body.details).to.have.nested.property('issues[0].message', 'is required');
  });

  it('that nobody reads is still refused unless it is empty', async () => {
    expect((await post('/bodiless', undefined, {})).body).to.deep.equal({ done: true });
    expect((await post('/bodiless', '{}')).body).to.deep.equal({ done: true });
    expect((await post('/bodiless', '{"amount":"1"}')).code).to.equal('request/invalid');
    expect((await post('/bodiless', '[1]')).code).to.equal('request/invalid');
  });

  it('of a GET is ignored', async () => {
    const socket = await openSocket(world.port);
    socket.write('GET /v1/things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nxxxxx');
    expect(await readToEnd(socket)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('of exactly the limit passes, one byte more does not', async () => {
    const ofSize = (size: number) => {
      const empty = JSON.stringify({ note: '', item: 'a', price: '1' });
      return JSON.stringify({ note: 'x'.repeat(size - empty.length), item: 'a', price: '1' });
    };
    expect((await post('/shop/purchases', ofSize(65_536))).status).to.equal(201);
    const over = await post('/shop/purchases', ofSize(65_537));
    expect(over.status).to.equal(413);
    expect(over.body.details).to.deep.equal({ limitBytes: 65_536 });
  });

  it('may be larger where the endpoint says so', async () => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({ item: `item-${index}`, price: '100' }));
    expect((await post('/large', JSON.stringify({ items }))).body).to.deep.equal({ count: 20_000 });
  });

  it('of 5 MB is refused with an answer that arrives, with and without a declared length', async () => {
    const chunk = new Uint8Array(64 * 1024).fill(0x20);
    const chunks = new ReadableStream({
      start(controller) {
        for (let index = 0; index < 80; index++) controller.enqueue(chunk);
        controller.close();
      },
    });
    const headers = { ...bearer(SECRET_KEY), ...asJson };
    const declared = await post('/shop/purchases', new Uint8Array(5_000_000).fill(0x20));
    const chunked = await ask(`${world.base}/shop/purchases`, {
      method: 'POST',
      headers,
      body: chunks,
      duplex: 'half',
    });
    expect([declared.status, chunked.status]).to.deep.equal([413, 413]);
    expect([declared.code, chunked.code]).to.deep.equal(['request/too_large', 'request/too_large']);
  });

  it('is not awaited from a client without a credential, and the connection ends', async () => {
    const socket = await openSocket(world.port);
    socket.write('POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n');
    const answer = await readToEnd(socket);
    expect(answer).to.match(/^HTTP\/1\.1 401 /);
    expect(answer).to.match(/\r\nConnection: close\r\n/);
  });

  it('is requested by 100 Continue only once the credential is known', async () => {
    const head = (token: string) =>
      `POST /v1/shop/purchases HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${good.length}\r\nExpect: 100-continue\r\n\r\n`;
    const stranger = await openSocket(world.port);
    stranger.write(head('sk_test_no'));
    expect(await readToEnd(stranger)).to.match(/^HTTP\/1\.1 401 /);

    const known = await openSocket(world.port);
    known.write(head(SECRET_KEY));
    expect(await readUntil(known, '\r\n\r\n')).to.match(/^HTTP\/1\.1 100 /);
    known.write(good);
    expect(await readUntil(known, '}')).to.match(/^HTTP\/1\.1 201 /);
    known.destroy();
  });

  it('is not requested from a client of HTTP/1.0, which knows no such answer', async () => {
    const socket = await openSocket(world.port);
    socket.write(
      `POST /v1/shop/purchases HTTP/1.0\r\nHost: a\r\nAuthorization: Bearer ${SECRET_KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${good.length}\r\nExpect: 100-continue\r\n\r\n${good}`,
    );
    expect(await readToEnd(socket)).to.match(/^HTTP\/1\.1 201 /);
  });
});
