import { expect } from 'chai';
import type { Endpoint } from './endpoint.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { ask, startWorld, type World } from './testing/world.ts';

/** Answers which endpoint it is, and with what parameters. */
const named = (method: Endpoint['method'], path: string, name: string) =>
  simpleEndpoint({ method, path, handle: ({ params }) => ({ status: 200, body: { name, ...params } }) });

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
