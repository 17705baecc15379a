import { createPublicKey } from 'node:crypto';
import type { AppCaller, RunningServer } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { createTestDatabase } from '@coffer/testing';
import type { Standing } from '@coffer/users';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { authTemplate, PLACE } from '../testing/authRecords.ts';
import { type Node, type SessionsWorld, startSessionsWorld, userOf } from '../testing/sessionsWorld.ts';
import type { UserView } from '../types.ts';
import { sessionsErrors } from './errors.ts';
import { sessionEndpoints } from './routes.ts';
import { createSessionCredential } from './sessionCredential.ts';
import type { IssuedSession } from './sessions.ts';
import { createSessionUsers } from './sessionUsers.ts';

const ORIGIN = 'https://play.example';
const ORIGIN_OF_ANOTHER = 'https://other.example';
const PUBLIC_ORIGIN = 'https://wallets.example';
const keyOf = (appId: string, environment: 'test' | 'live'): AppCaller => ({
  kind: 'secret',
  appId,
  scopeId: PLACE.scopeId,
  environment,
  keyId: `key_${appId}_${environment}`,
});
const KEYS: Readonly<Record<string, AppCaller>> = {
  sk_test_1: keyOf('app_1', 'test'),
  sk_live_1: keyOf('app_1', 'live'),
  sk_test_2: keyOf('app_2', 'test'),
};

describe('the endpoints of sign-in sessions', () => {
  let world: SessionsWorld;
  let node: Node;
  let server: RunningServer;
  let standing: Standing | 'absent';
  let views: number;

  beforeEach(async () => {
    world = startSessionsWorld(await createTestDatabase(authTemplate));
    node = world.newNode({ issuer: PUBLIC_ORIGIN });
    standing = 'active';
    views = 0;
    const view = async ({ appId }: { readonly appId: string }, userId: string) => {
      views += 1;
      return standing === 'absent' ? undefined : { user: userOf(userId, appId), standing };
    };
    const users = createSessionUsers(view, () => world.now().getTime());
    server = await serve({
      endpoints: sessionEndpoints({
        ...node,
        view,
        users,
        issuer: PUBLIC_ORIGIN,
        origin: () => PUBLIC_ORIGIN,
      }),
      catalog: sessionsErrors,
      resolveKey: (token) => KEYS[token],
      resolveSession: createSessionCredential(node.sessions, users),
      allowedOrigins: {
        ofApp: ({ appId }, origin) => appId === PLACE.appId && origin === ORIGIN,
        ofAnyApp: (origin) => origin === ORIGIN || origin === ORIGIN_OF_ANOTHER,
      },
    });
  });
  afterEach(async () => {
    await server.stop(0);
    await world.close();
  });

  const send = async (path: string, body: object | undefined, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/v1${path}`, {
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
    return { status: response.status, code: json.code, json, text, headers: response.headers };
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const open = () => node.sessions.open(PLACE, 'usr_1', 'messenger');
  const refresh = (refreshToken: string) => send('/auth/refresh', { refreshToken });
  const verify = (sessionToken: string, key = 'sk_test_1') =>
    send('/sessions/verify', { sessionToken }, bearer(key));
  const me = (token: string) => send('/me', undefined, bearer(token));
  const { id: userId, identities, wallets }: UserView = userOf('usr_1');

  describe('POST /sessions/verify', () => {
    it('says whose session it is, with identities and wallets', async () => {
      const { accessToken } = await open();
      const { status, json } = await verify(accessToken);
      expect(status).to.equal(200);
      expect(json).to.deep.equal({
        userId,
        appId: 'app_1',
        environment: 'test',
        authMethod: 'messenger',
        walletAddress: wallets[1]?.address,
        wallets,
        identities,
      });
    });

    it('answers everything that is wrong with the one code, and no hint which', async () => {
      const { accessToken, refreshToken } = await open();
      const [header, payload, signature] = accessToken.split('.');
      const refusals = [
        await verify(accessToken, 'sk_live_1'),
        await verify(accessToken, 'sk_test_2'),
        await verify(refreshToken),
        await verify(''),
        await verify(`${accessToken}\0`),
        await verify(`\ud83c${accessToken}`),
        await verify('x'.repeat(10_000)),
        await verify(`${header}.${payload}.`),
        await verify(`${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.${signature}`),
      ];
      for (const left of ['suspended', 'erased', 'absent'] as const) {
        standing = left;
        world.advance(250);
        refusals.push(await verify(accessToken));
      }
      standing = 'active';
      world.advance(250);
      expect((await verify(accessToken)).status, 'nothing else was wrong').to.equal(200);
      world.advance(3_600_000);
      refusals.push(await verify(accessToken));
      const fresh = await open();
      await node.sessions.logout(fresh.refreshToken);
      refusals.push(await verify(fresh.accessToken));

      for (const refusal of refusals) expect(refusal).to.include({ status: 401, text: refusals[0]?.text });
      expect(refusals[0]).to.deep.include({ code: 'auth/invalid_session' });
      expect(refusals[0]?.json.details).to.deep.equal({});
    });

    it('wants a secret key before anything else', async () => {
      const { accessToken } = await open();
      expect(await verify(accessToken, 'sk_test_no')).to.include({ status: 401, code: 'auth/invalid_key' });
      expect(await verify(accessToken, accessToken)).to.include({
        status: 403,
        code: 'auth/wrong_credential_kind',
      });
    });

    it('sees a suspension in less than a second, and asks who the user is not every time', async () => {
      const { accessToken } = await open();
      for (let times = 0; times < 10; times++) expect((await verify(accessToken)).status).to.equal(200);
      expect(views).to.equal(1);
      standing = 'suspended';
      world.advance(250);
      expect((await verify(accessToken)).status).to.equal(401);
    });

    it('lets in at once who was just refused for a suspension that is over', async () => {
      const { accessToken } = await open();
      standing = 'suspended';
      expect((await verify(accessToken)).status).to.equal(401);
      standing = 'active';
      expect((await verify(accessToken)).status).to.equal(200);
    });
  });

  describe('GET /me', () => {
    it('is the user and the active wallet', async () => {
      const { status, json } = await me((await open()).accessToken);
      expect(status).to.equal(200);
      expect(json).to.deep.equal({ user: userOf('usr_1'), wallet: wallets[1] });
    });

    it('wants a session that is good, of a user who is active', async () => {
      const { accessToken, refreshToken } = await open();
      expect(await me('a.b.c')).to.include({ status: 401, code: 'auth/invalid_session' });
      expect(await me('sk_test_1')).to.include({ status: 403, code: 'auth/wrong_credential_kind' });
      expect((await me(accessToken)).status).to.equal(200);
      // Seen at once, although the credential's cache time is not over.
      standing = 'suspended';
      expect(await me(accessToken)).to.include({ status: 401, code: 'auth/invalid_session' });
      standing = 'active';
      expect((await me(accessToken)).status).to.equal(200);
      await send('/auth/logout', { refreshToken });
      expect(await me(accessToken)).to.include({ status: 401, code: 'auth/invalid_session' });
    });
  });

  describe('POST /auth/refresh', () => {
    it('answers a session as a sign-in does, without a key', async () => {
      const opened = await open();
      const { status, json } = await refresh(opened.refreshToken);
      expect(status).to.equal(200);
      expect(json).to.have.all.keys('accessToken', 'refreshToken', 'expiresAt', 'user');
      expect(json.user).to.deep.equal(userOf('usr_1'));
      expect(json.refreshToken).not.to.equal(opened.refreshToken);
      expect((await verify(String(json.accessToken))).status).to.equal(200);
    });

    it('refuses every text that is not a token, or is the token of an ended session, with the same code', async () => {
      const out = await open();
      await node.sessions.logout(out.refreshToken);
      for (const text of ['', 'nonsense', out.accessToken, out.refreshToken]) {
        expect(await refresh(text)).to.include({ status: 401, code: 'auth/invalid_refresh_token' });
      }
      const { refreshToken } = await open();
      for (const left of ['erased', 'absent'] as const) {
        standing = left;
        expect(await refresh(refreshToken)).to.include({ status: 401, code: 'auth/invalid_refresh_token' });
      }
    });

    it('ends the session when a token is used after its grace', async () => {
      const first = await open();
      const second = await refresh(first.refreshToken);
      const third = await refresh(String(second.json.refreshToken));
      world.advance(30_001);
      expect(await refresh(first.refreshToken)).to.include({
        status: 401,
        code: 'auth/invalid_refresh_token',
      });
      expect(await refresh(String(third.json.refreshToken))).to.include({ status: 401 });
      expect((await verify(String(third.json.accessToken))).status).to.equal(401);
    });

    it('tells a suspended user so, whose token is not used up, and nobody without a token of theirs', async () => {
      const left = await open();
      const ended = await open();
      standing = 'suspended';
      expect(await refresh(left.refreshToken)).to.include({ status: 403, code: 'auth/user_suspended' });
      for (const text of ['nonsense', '\0', '\ud83c'])
        expect(await refresh(text)).to.include({ status: 401 });
      standing = 'active';
      expect((await refresh(left.refreshToken)).status).to.equal(200);

      await node.sessions.endAllOf(PLACE, 'usr_1');
      standing = 'suspended';
      expect(await refresh(ended.refreshToken)).to.include({ status: 403, code: 'auth/user_suspended' });
      standing = 'active';
      expect(await refresh(ended.refreshToken), 'reinstated: sign in again').to.include({ status: 401 });
    });
  });

  describe('POST /auth/logout', () => {
    it('answers 204 without a body for any text, and ends the session of a token', async () => {
      const opened: IssuedSession = await open();
      for (const refreshToken of ['', 'nonsense', '\0', '\ud83c', opened.refreshToken, opened.refreshToken]) {
        const { status, text } = await send('/auth/logout', { refreshToken });
        expect({ status, text }).to.deep.equal({ status: 204, text: '' });
      }
      expect((await verify(opened.accessToken)).status).to.equal(401);
      expect(await refresh(opened.refreshToken)).to.include({ status: 401 });
    });

    it('takes a text, not anything', async () => {
      expect(await send('/auth/logout', { refreshToken: 1 })).to.include({ code: 'request/invalid' });
      expect(await send('/auth/logout', {})).to.include({ code: 'request/invalid' });
    });
  });

  it('are for pages, but for verification', async () => {
    const { accessToken, refreshToken } = await open();
    const from = { origin: ORIGIN };
    const readable = async (answer: Promise<{ readonly headers: Headers }>) =>
      (await answer).headers.get('access-control-allow-origin');
    expect(await readable(send('/auth/refresh', { refreshToken }, from))).to.equal(ORIGIN);
    const fromAnother = { origin: ORIGIN_OF_ANOTHER };
    expect(await readable(send('/auth/refresh', { refreshToken }, fromAnother))).to.equal(null);
    expect(await readable(send('/auth/refresh', { refreshToken: 'no' }, fromAnother))).to.equal(
      ORIGIN_OF_ANOTHER,
    );
    expect(await readable(send('/auth/logout', { refreshToken }, from))).to.equal(ORIGIN);
    expect(await readable(send('/me', undefined, { ...from, ...bearer(accessToken) }))).to.equal(ORIGIN);
    const body = { sessionToken: accessToken };
    expect(await readable(send('/sessions/verify', body, { ...from, ...bearer('sk_test_1') }))).to.equal(
      null,
    );
  });

  it('never set a cookie, and nothing of them is to be kept', async () => {
    const { accessToken, refreshToken } = await open();
    for (const answer of [await refresh(refreshToken), await verify(accessToken), await me(accessToken)]) {
      expect(answer.headers.get('set-cookie')).to.equal(null);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    }
  });

  describe('for whoever checks tokens offline', () => {
    const ISSUER_OF = { test: `${PUBLIC_ORIGIN}/test`, live: `${PUBLIC_ORIGIN}/live` } as const;
    /** Everything done by a library that is given only the issuer (OpenID Connect Discovery 1.0, section 4). */
    const verifyAs = async (issuer: string, token: string) => {
      const metadata = await publicly(`${issuer}/.well-known/openid-configuration`);
      expect(metadata.issuer).to.equal(issuer);
      const { keys } = await publicly(String(metadata.jwks_uri));
      const { header } = jwt.decode(token, { complete: true }) ?? expect.fail('It is a JWT.');
      const key = Array.isArray(keys) ? keys.find(({ kid }) => kid === header.kid) : undefined;
      if (!key) return 'no such key';
      return jwt.verify(token, createPublicKey({ key, format: 'jwk' }), {
        algorithms: ['ES256'],
        issuer,
        audience: PLACE.appId,
        clockTimestamp: world.now().getTime() / 1_000,
      });
    };
    const publicly = async (url: string): Promise<Record<string, unknown>> => {
      expect(url).to.match(/^https:\/\/wallets\.example\//);
      const response = await fetch(url.replace(PUBLIC_ORIGIN, server.url));
      return JSON.parse(await response.text());
    };
    const openIn = (environment: 'test' | 'live') =>
      node.sessions.open({ ...PLACE, environment }, 'usr_1', 'messenger');

    for (const [own, other] of [
      ['test', 'live'],
      ['live', 'test'],
    ] as const) {
      it(`the ${own} issuer has a token of its own verified, and knows no key of the ${other} one`, async () => {
        const { accessToken } = await openIn(own);
        expect(await verifyAs(ISSUER_OF[own], accessToken)).to.include({ sub: 'usr_1', env: own });
        expect(await verifyAs(ISSUER_OF[other], accessToken)).to.equal('no such key');
      });
    }

    it("publish each environment's keys by themselves, below the base address too, for five minutes", async () => {
      const [common, test, live] = await Promise.all(
        ['', '/test', '/live'].map((place) => send(`${place}/.well-known/jwks.json`, undefined)),
      );
      expect(test?.json.keys).to.have.length(2);
      expect(live?.json.keys).to.have.length(2);
      expect(common?.json.keys).to.have.deep.members(
        [test, live].flatMap((set) => (Array.isArray(set?.json.keys) ? set.json.keys : [])),
      );
      for (const path of ['/test/.well-known/jwks.json', '/live/.well-known/openid-configuration']) {
        expect((await send(path, undefined)).headers.get('cache-control')).to.equal('public, max-age=300');
      }
    });

    it('at the root of the server there is nothing else', async () => {
      for (const path of ['/.well-known/jwks.json', '/test/.well-known/jwks.json']) {
        expect((await fetch(`${server.url}${path}`)).status).to.equal(200);
        expect((await fetch(`${server.url}${path}`, { method: 'POST' })).status).to.equal(405);
      }
      for (const path of [
        '/me',
        '/test/.well-known/other',
        '/.well-known/',
        '/staging/.well-known/jwks.json',
      ])
        expect((await fetch(`${server.url}${path}`)).status, path).to.equal(404);
    });
  });

  it('publish the keys of both environments to anyone, to be kept for five minutes', async () => {
    const { status, json, headers } = await send('/.well-known/jwks.json', undefined);
    expect(status).to.equal(200);
    expect(headers.get('cache-control')).to.equal('public, max-age=300');
    expect(json.keys).to.deep.equal((await node.keys.current()).jwks);
    expect(json.keys).to.have.length(4);
    expect(JSON.stringify(json)).to.not.include('"d"');
  });
});
