import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { Registry } from 'prom-client';
import type { Endpoint } from './endpoint.ts';
import { createHttpMetrics } from './metrics.ts';
import { mount } from './mount.ts';
import { type Answers, createPlainRoutes } from './routes.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { ask, startWorld, type World } from './testing/world.ts';

/** Answers which endpoint it is, and with what parameters. */
const named = (method: Endpoint['method'], path: string, name: string) =>
  simpleEndpoint({ method, path, handle: ({ params }) => ({ status: 200, body: { name, ...params } }) });

describe('the routes without a router', () => {
  const limited = { ...named('POST', '/sign-in', 'limited'), rateLimit: 'signIn' as const };
  const endpoints = [named('POST', '/bet', 'bet'), named('GET', '/bet/:id', 'show'), limited];
  const metrics = createHttpMetrics(new Registry(), () => 0);
  let served: string | undefined;
  const serve: Answers['serve'] = async (_request, _response, { mounted }) => {
    served = mounted.endpoint.path;
  };
  const answerPlain = createPlainRoutes(mount(endpoints, {}, metrics, 1_000), { serve }, '/v1');
  const at = (method: string, url: string) => {
    served = undefined;
    const request = Object.assign(new IncomingMessage(new Socket()), { method, url });
    void answerPlain(request, new ServerResponse(request));
    return served;
  };

  it('find a path without parameters, whatever is asked of it', () =>
    expect(['/v1/bet', '/v1/bet?', '/v1/bet?a=/&b=?'].map((url) => at('POST', url))).to.deep.equal(
      Array(3).fill('/bet'),
    ));

  it('leave the rest to the router: parameters, other methods and paths, and limits by address', () =>
    expect(
      [
        at('GET', '/v1/bet/:id'),
        at('GET', '/v1/bet/1'),
        at('GET', '/v1/bet'),
        at('OPTIONS', '/v1/bet'),
        at('POST', '/bet'),
        at('POST', '/v1/bet/'),
        at('POST', '/v1/bet#a'),
        at('POST', 'http://host/v1/bet'),
        at('POST', '/v1/sign-in'),
      ].filter((found) => found !== undefined),
    ).to.deep.equal([]));
});

describe('the routes', () => {
  let world: World;
  before(async () => {
    world = await startWorld({
      endpoints: [
        named('GET', '/users/:userId', 'show'),
        named('DELETE', '/users/:userId', 'erase'),
        named('GET', '/users/me', 'me'),
        named('GET', '/users/:userId/accounts/:code', 'account'),
        named('GET', '/users/me/accounts/:code', 'my account'),
        named('POST', '/users', 'create'),
      ],
    });
  });
  after(() => world[Symbol.asyncDispose]());
  const bodyOf = async (method: string, path: string) => (await ask(`${world.base}${path}`, { method })).body;
  const allowOf = async (method: string, path: string) => {
    const answer = await ask(`${world.base}${path}`, { method });
    expect(answer.status).to.equal(405);
    return answer.headers.get('allow');
  };

  it("give the parameters under the endpoint's names, decoded", async () => {
    expect(await bodyOf('GET', '/users/usr%2F1')).to.deep.equal({ name: 'show', userId: 'usr/1' });
    expect(await bodyOf('GET', '/users/a%2Fb/accounts/CHIP')).to.deep.equal({
      name: 'account',
      userId: 'a/b',
      code: 'CHIP',
    });
  });

  it('prefer the literal segment whatever the order of mounting', async () => {
    expect(await bodyOf('GET', '/users/me')).to.deep.equal({ name: 'me' });
    expect(await bodyOf('GET', '/users/me/accounts/A')).to.deep.equal({ name: 'my account', code: 'A' });
  });

  it('fall back to a parameter when the literal segment does not take the method', async () => {
    expect(await bodyOf('DELETE', '/users/me')).to.deep.equal({ name: 'erase', userId: 'me' });
  });

  it('answer HEAD where they answer GET', async () => {
    expect((await fetch(`${world.base}/users/me`, { method: 'HEAD' })).status).to.equal(200);
    const other = await fetch(`${world.base}/users`, { method: 'HEAD' });
    expect([other.status, other.headers.get('allow')]).to.deep.equal([405, 'POST']);
  });

  it('know the methods of a path', async () => {
    expect(await allowOf('PUT', '/users/usr_1')).to.equal('GET, HEAD, DELETE');
    expect(await allowOf('PUT', '/users/me')).to.equal('GET, HEAD, DELETE');
    expect(await allowOf('OPTIONS', '/users')).to.equal('POST');
  });

  for (const path of [
    '',
    '/',
    '/Users',
    '/users/',
    '/users//accounts/A',
    '/users/a/accounts',
    '/users/%zz',
    '/users/%00',
  ]) {
    it(`have nothing at "${path}"`, async () => {
      expect(await bodyOf('GET', path)).to.include({ code: 'request/not_found' });
    });
  }

  it('refuse a second endpoint at the same place, whatever its parameter names', async () => {
    const refusal = (...endpoints: readonly Endpoint[]) =>
      startWorld({ endpoints }).then(String, (error: Error) => error.message);
    const first = named('GET', '/users/:userId', 'first');
    expect(await refusal(first, named('GET', '/users/:id', 'again'))).to.include('mounted twice');
    expect(await refusal(named('GET', '/a/:id/b/:id', 'twice'))).to.include('twice');
  });

  it('exist only below the base address', async () => {
    const show = simpleEndpoint({
      path: '/things/:id',
      handle: ({ params }) => ({ status: 200, body: params }),
    });
    await using world = await startWorld({ endpoints: [show] });
    expect((await ask(`${world.base}/things/a%20b`)).body).to.deep.equal({ id: 'a b' });
    for (const path of [
      '/things/a',
      '/v1things/a',
      '/V1/things/a',
      '/v1/things/%E0%A4%A',
      '/%zz',
      '/v1',
      '/',
    ]) {
      const answer = await ask(`${world.url}${path}`);
      expect(answer.status, path).to.equal(404);
      expect(answer.code, path).to.equal('request/not_found');
      expect(answer.headers.get('x-request-id'), path).to.be.a('string');
    }
  });
});
