/** What pages of each origin can read of what players are answered. Source: docs/api.md; ADR 0017, Pages. */
import {
  type Answer,
  type ContextNode,
  type ContextWorld,
  requireStatus,
  setUpApp,
  type TestApp,
  textOf,
  verdict,
} from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type AuthGiven, startAuthWorld } from './testing/authContexts.ts';
import { allowSignIn, newWallet } from './testing/signIns.ts';

/** As set by `allowSignIn`. */
const OURS = 'https://game.example';
const OF_ANOTHER_APP = 'https://other.example';
const FOREIGN = ['https://evil.example', 'null', 'https://game.example.evil.example', 'http://game.example'];

const readableBy = ({ headers }: Answer) => headers.get('access-control-allow-origin');

describe('pages', () => {
  let world: ContextWorld<AuthGiven>;
  let app: TestApp;
  let accessToken: string;
  before(async () => {
    world = await startAuthWorld({
      config: { trustProxy: ['loopback'] },
      given: { mail: { send: async () => undefined, close() {} } },
    });
    app = await setUpApp(world.client);
    await allowSignIn(world.client, app.appId);
    const { appId } = await setUpApp(world.client, { name: 'Another' });
    const settings = { allowedOrigins: [OF_ANOTHER_APP] };
    requireStatus(await world.client.post(`/portal/app/${appId}/settings`, { settings }), 200);
    accessToken = textOf(await signIn(OURS), 'accessToken');
  });
  after(() => world.stop());

  /** As a browser sends it from a page; the proxy in front adds its address, which the rate limits use. */
  const from = (origin: string, address = '203.0.113.1') => ({ origin, 'x-forwarded-for': address });
  const pk = () => app.test.publishableKey;
  const call = (route: string, key: string | null, body: unknown, origin: string, client = world.client) => {
    const [method = '', path = ''] = route.split(' ');
    return client.send(method, path, body, { key, headers: from(origin) });
  };
  const preflight = (route: string, origin: string, client = world.client) => {
    const [method = '', path = ''] = route.split(' ');
    return client.send('OPTIONS', path, undefined, {
      key: null,
      headers: {
        ...from(origin),
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      },
    });
  };
  const signIn = async (origin: string) => {
    const { publicKey, signMessage } = newWallet();
    const challenge = requireStatus(
      await call('POST /auth/siws/challenge', pk(), { publicKey }, origin),
      200,
    ).json;
    const signature = await signMessage(Buffer.from(String(challenge.message)));
    const body = { challenge, publicKey, signature: Buffer.from(signature).toString('base64') };
    return requireStatus(await call('POST /auth/siws/verify', pk(), body, origin), 200);
  };

  it('of an origin of the app read what players are answered, and no others do', async () => {
    const answers = async (origin: string) => {
      const signedIn = await signIn(origin);
      const refreshToken = textOf(signedIn, 'refreshToken');
      return [
        signedIn,
        await call('GET /me', textOf(signedIn, 'accessToken'), undefined, origin),
        await call('POST /auth/refresh', null, { refreshToken }, origin),
        await call('POST /auth/logout', null, { refreshToken }, origin),
      ];
    };
    for (const answer of await answers(OURS)) {
      expect(answer.status, answer.text).to.be.oneOf([200, 204]);
      expect(readableBy(answer)).to.equal(OURS);
      expect(answer.headers.get('vary')).to.equal('Origin');
      expect(answer.headers.get('access-control-allow-credentials')).to.equal(null);
    }
    for (const origin of FOREIGN) {
      for (const answer of await answers(origin)) expect(readableBy(answer), origin).to.equal(null);
    }
    // The refresh token's owner is known too late; it is itself the credential, which no page of another app has.
    const [signedIn, me] = await answers(OF_ANOTHER_APP);
    for (const answer of [signedIn, me]) expect(answer && readableBy(answer)).to.equal(null);
  });

  it('that hold a secret key read nothing with it', async () => {
    const sessionToken = accessToken;
    const answer = await call('POST /sessions/verify', app.test.secretKey, { sessionToken }, OURS);
    expect(answer.status).to.equal(200);
    expect(readableBy(answer)).to.equal(null);
  });

  it('read why they are refused', async () => {
    const big = JSON.stringify({ publicKey: 'x'.repeat(70_000) });
    const rows: readonly (readonly [refusal: string, route: string, key: string | null, body: unknown])[] = [
      ['401 auth/missing_credentials', 'POST /auth/siws/challenge', null, {}],
      ['401 auth/invalid_key', 'POST /auth/siws/challenge', 'pk_test_no', {}],
      ['403 auth/wrong_credential_kind', 'POST /auth/email/initiate', app.test.secretKey, {}],
      ['413 request/too_large', 'POST /auth/siws/challenge', pk(), big],
      ['400 request/malformed_json', 'POST /auth/siws/verify', pk(), '{'],
      ['400 request/invalid', 'POST /auth/siws/challenge', pk(), {}],
      ['401 auth/launch_data_invalid', 'POST /auth/messenger/verify', pk(), { initData: 'x' }],
      ['401 auth/code_invalid', 'POST /auth/email/verify', pk(), { email: 'a@b.example', code: '123456' }],
      ['401 auth/missing_credentials', 'GET /me', null, undefined],
      ['401 auth/invalid_session', 'GET /me', 'a.bad.token', undefined],
      ['403 auth/wrong_credential_kind', 'GET /me', pk(), undefined],
      ['400 request/invalid', 'GET /me?unknown=1', accessToken, undefined],
      ['400 request/invalid', 'POST /auth/refresh', null, {}],
      ['401 auth/invalid_refresh_token', 'POST /auth/refresh', null, { refreshToken: 'rt_x' }],
      ['400 request/invalid', 'POST /auth/logout', null, {}],
    ];
    for (const [refusal, route, key, body] of rows) {
      const answer = await call(route, key, body, OURS);
      expect(verdict(answer), route).to.equal(refusal);
      expectReadable(answer, route);
      for (const origin of FOREIGN) {
        expect(readableBy(await call(route, key, body, origin)), `${route} ${origin}`).to.equal(null);
      }
    }
  });

  it('read that they ask too often', async () => {
    const ask = (route: string, key: string | null, origin: string) => {
      const [method = '', path = ''] = route.split(' ');
      return world.client.send(method, path, {}, { key, headers: from(origin, '203.0.113.99') });
    };
    const refused = (route: string, key: string | null, origin: string) =>
      eventually(`${route} is refused`, async () => {
        const answers = await Promise.all(Array.from({ length: 50 }, () => ask(route, key, origin)));
        return answers.find(({ status }) => status === 429);
      });
    for (const [route, key] of [
      ['POST /auth/logout', null],
      ['POST /auth/refresh', null],
      ['POST /auth/siws/challenge', pk()],
    ] as const) {
      const answer = await refused(route, key, OURS);
      expect(verdict(answer)).to.equal('429 request/rate_limited');
      expectReadable(answer, route);
      expect(readableBy(await refused(route, key, 'https://evil.example'))).to.equal(null);
    }
  });

  describe('of a service that can take no more', () => {
    let busy: ContextNode;
    before(async () => {
      busy = await world.startNode({ config: { maxConcurrentRequests: 1 }, roles: ['api'] });
    });
    after(() => busy.stop());

    it('read that, and ask first all the same', async () => {
      const holder = await world.pool.connect();
      await holder.query('begin; lock table records.auth_siws_challenges');
      const { publicKey } = newWallet();
      const first = call('POST /auth/siws/challenge', pk(), { publicKey }, OURS, busy.client);
      try {
        await eventually('the only request that it takes waits for the spec', async () => {
          const { rowCount } = await holder.query(`select from pg_locks where not granted and database =
            (select oid from pg_database where datname = current_database())`);
          return rowCount === 1 || undefined;
        });
        await expectOverload();
      } finally {
        await holder.query('rollback');
        holder.release();
      }
      expect((await first).status).to.equal(200);
    });

    async function expectOverload(): Promise<void> {
      const ask = (route: string, key: string | null, origin: string) =>
        call(route, key, route.startsWith('GET') ? undefined : {}, origin, busy.client);
      for (const [route, key] of [
        ['POST /auth/siws/challenge', pk()],
        ['POST /auth/refresh', null],
        ['POST /auth/logout', null],
        ['GET /me', accessToken],
      ] as const) {
        const answer = await ask(route, key, OURS);
        expect(verdict(answer)).to.equal('503 service/overloaded');
        expectReadable(answer, route);
        expect(readableBy(await ask(route, key, 'https://evil.example'))).to.equal(null);
        expect(readableBy(await preflight(route, OURS, busy.client))).to.equal(OURS);
      }
      const ofServer = await ask('POST /sessions/verify', app.test.secretKey, OURS);
      expect(verdict(ofServer)).to.equal('503 service/overloaded');
      expect(readableBy(ofServer)).to.equal(null);
    }
  });

  /** Called by a page, with everything it needs to continue. */
  function expectReadable(answer: Answer, what: string): void {
    expect(readableBy(answer), what).to.equal(OURS);
    expect(answer.headers.get('vary'), what).to.equal('Origin');
    expect(answer.headers.get('access-control-expose-headers'), what).to.match(/Retry-After, X-Request-Id/);
    if (answer.status === 429 || answer.status === 503) {
      expect(Number(answer.headers.get('retry-after')), what).to.be.greaterThan(0);
    }
  }
});
