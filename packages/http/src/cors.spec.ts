import { expect } from 'chai';
import type { Endpoint } from './endpoint.ts';
import { ACCESS_TOKEN, PUBLISHABLE_KEY, SECRET_KEY, simpleEndpoint } from './testing/shop.ts';
import { ask, bearer, startWorld, type World } from './testing/world.ts';

const OURS = 'https://play.example';
const OF_ANOTHER_APP = 'https://other.example';
const UNKNOWN = 'https://evil.example';

const answering = (parts: Partial<Endpoint> & Pick<Endpoint, 'path'>) =>
  simpleEndpoint({ handle: () => ({ status: 200, body: {} }), ...parts });

describe('pages of other origins', () => {
  let world: World;
  before(async () => {
    world = await startWorld({
      endpoints: [
        answering({ path: '/pk', credential: 'pk' }),
        answering({ path: '/session', credential: 'session' }),
        answering({ path: '/sk', credential: 'sk' }),
        answering({ path: '/operator', credential: 'operator' }),
        answering({ path: '/open' }),
        answering({ path: '/refresh', browsers: true, method: 'POST' }),
        answering({
          path: '/refreshed',
          browsers: true,
          method: 'POST',
          handle: () => ({
            status: 200,
            body: {},
            readersOf: { appId: 'app_1', environment: 'test' },
          }),
        }),
      ],
      allowedOrigins: {
        ofApp: ({ appId, environment }, origin) =>
          appId === 'app_1' && environment === 'test' && origin === OURS,
        ofAnyApp: async (origin) => origin === OURS || origin === OF_ANOTHER_APP,
      },
    });
  });
  after(() => world[Symbol.asyncDispose]());

  const call = (path: string, origin: string, token?: string, method = 'GET') =>
    ask(`${world.base}${path}`, { method, headers: { origin, ...(token && bearer(token)) } });
  const preflight = (path: string, origin: string, method = 'GET') =>
    ask(`${world.base}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      },
    });
  const readableBy = ({ headers }: { readonly headers: Headers }) =>
    headers.get('access-control-allow-origin');

  it('read answers to their app, by key or by session', async () => {
    for (const [path, token] of [
      ['/pk', PUBLISHABLE_KEY],
      ['/session', ACCESS_TOKEN],
    ] as const) {
      const answer = await call(path, OURS, token);
      expect(answer.status).to.equal(200);
      expect(readableBy(answer)).to.equal(OURS);
      expect(answer.headers.get('vary')).to.equal('Origin');
      expect(answer.headers.get('access-control-expose-headers')).to.include('X-Request-Id');
    }
  });

  it('never read an answer to an app that does not allow them, even if another app does', async () => {
    for (const origin of [OF_ANOTHER_APP, UNKNOWN, 'null', `${OURS}.evil.example`, `${OURS}:8443`]) {
      expect(readableBy(await call('/pk', origin, PUBLISHABLE_KEY)), origin).to.equal(null);
      expect(readableBy(await call('/session', origin, ACCESS_TOKEN)), origin).to.equal(null);
    }
  });

  it('read why their credential is refused, if any app allows them', async () => {
    const refused = await call('/session', OF_ANOTHER_APP, 'a.bad.token');
    expect(refused).to.include({ status: 401, code: 'auth/invalid_session' });
    expect(readableBy(refused)).to.equal(OF_ANOTHER_APP);
    expect(readableBy(await call('/pk', UNKNOWN, 'pk_test_no'))).to.equal(null);
  });

  it('read that there are too many requests, if any app allows them', async () => {
    const released = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = (path: string, credential: 'pk' | 'sk') =>
      answering({
        path,
        credential,
        handle: async () => {
          begun.resolve();
          await released.promise;
          return { status: 200, body: {} };
        },
      });
    await using busy = await startWorld({
      endpoints: [slow('/pk', 'pk'), slow('/sk', 'sk')],
      maxConcurrentRequests: 1,
      allowedOrigins: { ofApp: () => true, ofAnyApp: async (origin) => origin === OURS },
    });
    const send = (path: string, origin: string, token: string) =>
      ask(`${busy.base}${path}`, { headers: { origin, ...bearer(token) } });
    const first = send('/pk', OURS, PUBLISHABLE_KEY);
    await begun.promise;
    const refused = await send('/pk', OURS, PUBLISHABLE_KEY);
    expect(refused).to.include({ status: 503, code: 'service/overloaded' });
    expect(readableBy(refused)).to.equal(OURS);
    expect(refused.headers.get('access-control-expose-headers')).to.include('Retry-After');
    for (const [path, origin, token] of [
      ['/pk', UNKNOWN, PUBLISHABLE_KEY],
      ['/sk', OURS, SECRET_KEY],
    ] as const) {
      const unread = await send(path, origin, token);
      expect(unread).to.include({ status: 503, code: 'service/overloaded' });
      expect(readableBy(unread)).to.equal(null);
    }
    released.resolve();
    expect((await first).status).to.equal(200);
  });

  it('may call an endpoint without a credential only if it says so', async () => {
    expect(readableBy(await call('/refresh', OF_ANOTHER_APP, undefined, 'POST'))).to.equal(OF_ANOTHER_APP);
    expect(readableBy(await call('/refresh', UNKNOWN, undefined, 'POST'))).to.equal(null);
    expect(readableBy(await call('/open', OURS))).to.equal(null);
  });

  it('read what their app is answered without a credential, and not what another one is', async () => {
    expect(readableBy(await call('/refreshed', OURS, undefined, 'POST'))).to.equal(OURS);
    expect(readableBy(await call('/refreshed', OF_ANOTHER_APP, undefined, 'POST'))).to.equal(null);
  });

  it('never get answers to secret keys or operators', async () => {
    const answer = await call('/sk', OURS, SECRET_KEY);
    expect(answer.status).to.equal(200);
    expect(readableBy(answer)).to.equal(null);
    expect(answer.headers.get('vary')).to.equal(null);
    for (const path of ['/sk', '/operator', '/open', '/nowhere']) {
      expect(readableBy(await preflight(path, OURS)), path).to.equal(null);
      expect((await preflight(path, OURS)).status, path).to.be.oneOf([404, 405]);
    }
  });

  it('may send a preflight, and learn what to send if any app allows them', async () => {
    for (const origin of [OURS, OF_ANOTHER_APP]) {
      const answer = await preflight('/session', origin);
      expect(answer.status).to.equal(204);
      expect(readableBy(answer)).to.equal(origin);
      expect(answer.headers.get('access-control-allow-methods')).to.equal('GET');
      expect(answer.headers.get('access-control-allow-headers')).to.match(/Authorization.*Idempotency-Key/);
      expect(answer.headers.get('vary')).to.match(/^Origin, /);
    }
    const refused = await preflight('/session', UNKNOWN);
    expect(refused.status).to.equal(204);
    expect(readableBy(refused)).to.equal(null);
    expect(refused.headers.get('vary')).to.match(/^Origin, /);
  });

  it('learn only about the method that they ask for', async () => {
    expect((await preflight('/refresh', OURS, 'POST')).status).to.equal(204);
    expect((await preflight('/refresh', OURS, 'GET')).status).to.equal(405);
  });

  it('never send cookies: nothing is allowed with credentials, and nothing to everybody', async () => {
    for (const answer of [
      await call('/pk', OURS, PUBLISHABLE_KEY),
      await call('/refresh', OURS, undefined, 'POST'),
      await preflight('/pk', OURS),
    ]) {
      expect(answer.headers.get('access-control-allow-credentials')).to.equal(null);
      expect(readableBy(answer)).to.equal(OURS);
    }
  });
});
