import { expect } from 'chai';
import { createRouteTable } from './routeTable.ts';
import { simpleEndpoint } from './testing/shop.ts';
import { ask, startWorld } from './testing/world.ts';

describe('the route table', () => {
  const table = createRouteTable<string>();
  table.add('GET', '/users/:userId', 'show');
  table.add('DELETE', '/users/:userId', 'erase');
  table.add('GET', '/users/me', 'me');
  table.add('GET', '/users/:userId/accounts/:code', 'account');
  table.add('POST', '/users', 'create');

  it('gives the parameters as they are named by the endpoint, decoded', () => {
    expect(table.find('GET', '/users/usr%2F1')).to.deep.include({ kind: 'found', target: 'show' });
    const found = table.find('GET', '/users/a%2Fb/accounts/CHIP');
    expect(found.kind === 'found' && { ...found.params }).to.deep.equal({ userId: 'a/b', code: 'CHIP' });
  });

  it('prefers the literal segment whatever the order of mounting', () => {
    expect(table.find('GET', '/users/me')).to.include({ target: 'me' });
  });

  it('looks on where the literal segment does not take the method', () => {
    expect(table.find('DELETE', '/users/me')).to.include({ target: 'erase' });
  });

  it('answers HEAD where it answers GET', () => {
    expect(table.find('HEAD', '/users/me')).to.include({ target: 'me' });
    expect(table.find('HEAD', '/users')).to.deep.equal({ kind: 'otherMethod', allow: ['POST'] });
  });

  it('knows the methods of a path', () => {
    expect(table.find('PUT', '/users/usr_1')).to.deep.equal({
      kind: 'otherMethod',
      allow: ['GET', 'HEAD', 'DELETE'],
    });
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
    it(`has nothing at "${path}"`, () => {
      expect(table.find('GET', path).kind).to.equal('absent');
    });
  }

  it('takes no second endpoint at the same place, under whatever parameter names', () => {
    expect(() => table.add('GET', '/users/:id', 'again')).to.throw('mounted twice');
    expect(() => table.add('GET', '/a/:id/b/:id', 'twice')).to.throw('twice');
  });

  it('stands behind the base address only', async () => {
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
