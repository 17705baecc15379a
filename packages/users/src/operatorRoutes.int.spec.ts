import { contexts } from '@coffer/host';
import { type Client, type ContextWorld, requireStatus, startContexts, textOf } from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { expect } from 'chai';
import { usersContext } from './context.ts';

const CONTEXTS = contexts<PortalGiven>().with(portalContext).with(usersContext);

describe('users, as an operator registers and sees them,', () => {
  let world: ContextWorld<PortalGiven>;
  let client: Client;
  let appId: string;

  before(async () => {
    world = await startContexts({ contexts: CONTEXTS, given: PORTAL_GIVEN });
    client = world.client;
  });
  after(() => world.stop());
  beforeEach(async () => {
    appId = textOf(requireStatus(await client.post('/portal/apps', { name: 'Arcade' }), 200), 'appId');
  });

  const register = (environment: 'test' | 'live', body: unknown, idempotencyKey?: string) =>
    client.post(
      `/portal/app/${appId}/${environment}/users`,
      body,
      idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } },
    );

  it('are registered under an id from the request', async () => {
    const userId = newId('usr');
    expect((await register('live', { userId })).json).to.deep.equal({ userId });
    const { json } = await client.get(`/portal/app/${appId}/live/users/${userId}`);
    expect(json).to.deep.include({ userId, appId, status: 'active' });
    expect((await client.get(`/portal/app/${appId}/test/users/${userId}`)).status).to.equal(404);
  });

  it('are registered under an id derived from the Idempotency-Key', async () => {
    const first = await register('test', {}, 'once');
    expect((await register('test', {}, 'once')).json).to.deep.equal(first.json);
    expect((await register('live', {}, 'once')).json).not.to.deep.equal(first.json);
    expect((await register('test', {})).json).not.to.deep.equal(first.json);
    expect((await register('test', {}, '?')).status).to.equal(400);
    // An id other than the one derived from the key: the two name different users.
    const both = await register('test', { userId: newId('usr') }, 'once');
    expect([both.status, both.json.code]).to.deep.equal([400, 'request/invalid']);
    expect((await register('test', first.json, 'once')).json).to.deep.equal(first.json);
  });

  it('have compliance decisions on their stream, and keep their standing', async () => {
    const userId = textOf(await register('test', {}), 'userId');
    const path = `/portal/app/${appId}/test/users/${userId}/compliance`;
    const review = { decision: 'review_required', reason: 'source of funds' };
    const answers = [await client.post(path, review), await client.post(path, review)];
    for (const { status, json } of answers) {
      expect([status, json]).to.deep.equal([200, { userId, status: 'active', ...review }]);
    }
    await client.post(path, { decision: 'passed', reason: 'papers seen' });
    const { rows } = await world.pool.query<{ data: string }>(
      `select data from log.events where type = 'ComplianceDecided' order by position`,
    );
    expect(rows.map(({ data }) => JSON.parse(data))).to.deep.equal([
      review,
      { decision: 'passed', reason: 'papers seen' },
    ]);
    for (const body of [{ decision: 'maybe', reason: 'x' }, { decision: 'passed' }]) {
      expect((await client.post(path, body)).json.code).to.equal('request/invalid');
    }
  });

  it('that do not exist are refused in the order app, environment, user', async () => {
    const rows: readonly [path: string, code: string][] = [
      [`/portal/app/${newId('app')}/prod/users/usr_1`, 'portal/app_not_found'],
      [`/portal/app/${appId}/prod/users/usr_1`, 'portal/environment_not_found'],
      [`/portal/app/${appId}/test/users/usr_1`, 'users/not_found'],
    ];
    for (const [path, code] of rows) expect((await client.get(path)).json.code, path).to.equal(code);
  });
});
