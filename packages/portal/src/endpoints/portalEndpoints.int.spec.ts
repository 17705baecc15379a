import { randomBytes } from 'node:crypto';
import type { RecordedEvent } from '@coffer/event-store';
import type { RunningServer } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { createSecretBox, newId } from '@coffer/kernel';
import { createTestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createAppDirectory } from '../appDirectory.ts';
import { portalErrors } from '../errors.ts';
import { eventLog, NOW, type PortalWorld, portalTemplate, startPortalWorld } from '../testing/index.ts';
import { portalEndpoints } from './portalEndpoints.ts';

const TOKEN = 'the-operators-token';

const unasked = () => expect.fail('Nobody asked for it.');

describe('the admin API', () => {
  let world: PortalWorld;
  let server: RunningServer;
  const log: RecordedEvent[] = [];

  before(async () => {
    world = startPortalWorld(await createTestDatabase(portalTemplate));
    const secretBox = createSecretBox(randomBytes(32));
    server = await serve({
      endpoints: portalEndpoints({
        pool: world.pool,
        clock: () => NOW,
        secretBox,
        directory: createAppDirectory(world.pool, { secretBox }),
        eventStore: eventLog(log),
        mints: { ensure: async ({ code }) => void added.push(code), checkOn: () => undefined, errors: [] },
        readModels: { listConsumers: async () => [], rebuild: unasked },
        skips: { skip: unasked },
        portalTokens: { issue: unasked },
      }),
      catalog: portalErrors,
      isOperatorToken: (token) => token === TOKEN,
    });
  });
  after(async () => {
    await server.stop(0);
    await world.close();
  });
  const added: string[] = [];
  beforeEach(() => {
    added.length = 0;
    log.length = 0;
  });

  interface Answer {
    readonly status: number;
    readonly body: Readonly<Record<string, unknown>>;
    readonly replayed: boolean;
    readonly text: string;
  }
  const call = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${server.url}/v1/portal${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return {
      status: response.status,
      body: isJson ? JSON.parse(text) : {},
      replayed: response.headers.get('idempotency-replayed') === 'true',
      text,
    };
  };
  const get = (path: string) => call(path, {});
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call(path, { method: 'POST', body: JSON.stringify(body), headers });
  const linesOf = ({ text }: Answer) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  const event = (position: string, stream: string, revision: number, data = '{"b":1,"a":2}') => {
    const metadata = '{"v":1}';
    const recordedAt = NOW;
    log.push({
      position: position as RecordedEvent['position'],
      stream,
      revision,
      id: `id-${position}`,
      type: 'Happened',
      data,
      metadata,
      recordedAt,
    });
  };

  it('is for the operator alone', async () => {
    const { status, body } = await call('/apps', { headers: { authorization: 'Bearer guessed' } });
    expect({ status, code: body.code }).to.deep.equal({ status: 401, code: 'auth/invalid_key' });
  });

  describe('apps', () => {
    it("have their own scope, or another app's", async () => {
      const first = await post('/apps', { name: 'One' });
      const second = await post('/apps', { name: 'Two', scope: first.body.scopeId });
      const alone = await post('/apps', { name: 'Three' });

      expect(second.body.scopeId).to.equal(first.body.scopeId);
      expect(alone.body.scopeId).not.to.equal(first.body.scopeId);
      const { body } = await get('/apps');
      expect(body.items).to.deep.include.members([first.body, second.body, alone.body]);
    });

    it('keep where the log ended when they were put into a scope', async () => {
      event('7', 'playSession-test.x.1', 0);
      const { body: first } = await post('/apps', { name: 'One' });
      const { body: second } = await post('/apps', { name: 'Two', scope: first.scopeId });
      const { rows } = await world.pool.query(
        `select app_id, joined_position, joined_event_id from records.apps where app_id = any($1)`,
        [[first.appId, second.appId]],
      );
      expect(rows).to.have.deep.members([
        { app_id: first.appId, joined_position: null, joined_event_id: null },
        { app_id: second.appId, joined_position: '7', joined_event_id: 'id-7' },
      ]);
    });

    it('are not put into a scope that no app has', async () => {
      const { status, body } = await post('/apps', { name: 'One', scope: newId('scp') });
      expect({ status, code: body.code }).to.deep.equal({ status: 404, code: 'portal/scope_not_found' });
    });

    it('are made once under an Idempotency-Key', async () => {
      const headers = { 'idempotency-key': newId('evt') };
      const first = await post('/apps', { name: 'Once' }, headers);
      const again = await post('/apps', { name: 'Once' }, headers);
      const other = await post('/apps', { name: 'Other' }, headers);

      expect(first).to.include({ status: 200, replayed: false });
      expect(again).to.include({ status: 200, replayed: true });
      expect(again.body).to.deep.equal(first.body);
      expect(other.status).to.equal(409);
      expect(other.body).to.deep.include({
        code: 'portal/idempotency_conflict',
        details: { key: headers['idempotency-key'], field: 'name' },
      });
    });
  });

  describe('keys', () => {
    const setUp = async () => {
      const { appId } = await world.newApp();
      const create = async (kind: string) => (await post(`/app/${appId}/test/keys`, { kind })).body;
      const list = async (query = '') => (await get(`/app/${appId}/keys${query}`)).body.items;
      return { appId, create, list };
    };

    it('are shown whole when they are made, and a secret one never again', async () => {
      const { create, list } = await setUp();
      const secret = await create('secret');
      const publishable = await create('publishable');

      expect(secret.key).to.match(/^sk_test_[0-9a-z]{40}$/);
      expect(publishable.key).to.match(/^pk_test_[0-9a-z]{40}$/);
      const listed = await list();
      expect(listed).to.be.an('array').with.lengthOf(2);
      expect(JSON.stringify(listed)).to.include(publishable.key).and.not.include(secret.key);
      expect(await list('?environment=live')).to.deep.equal([]);
    });

    it('are rotated with a grace in which both work', async () => {
      const { appId, create, list } = await setUp();
      const { keyId } = await create('secret');
      const { status, body } = await post(`/app/${appId}/test/keys/rotate`, { graceSeconds: 60 });

      expect(status).to.equal(200);
      expect(body.previous).to.include({ keyId, expiresAt: '2026-03-01T12:01:00.000Z', revokedAt: null });
      expect(body.key).to.match(/^sk_test_/);
      expect(await list())
        .to.be.an('array')
        .with.lengthOf(2);
      const again = await post(`/app/${appId}/test/keys/rotate`, { keyId });
      expect(again.body.code).to.equal('portal/key_inactive');
    });

    it('end at once without a grace, and can be revoked twice', async () => {
      const { appId, create } = await setUp();
      await create('secret');
      const rotated = await post(`/app/${appId}/test/keys/rotate`, {});
      expect(rotated.body.previous).to.include({ revokedAt: NOW.toISOString() });

      const choice = { keyId: rotated.body.keyId };
      const first = await post(`/app/${appId}/test/keys/revoke`, choice);
      const again = await post(`/app/${appId}/test/keys/revoke`, choice);
      expect(first).to.include({ status: 200, replayed: false });
      expect(again).to.include({ status: 200, replayed: true });
      expect(again.body).to.deep.equal(first.body);
    });

    it('are named by id if several could be meant, and must belong to the path', async () => {
      const { appId, create } = await setUp();
      const one = await create('secret');
      const two = await create('secret');
      const ambiguous = await post(`/app/${appId}/test/keys/revoke`, {});
      expect(ambiguous.body).to.deep.include({
        code: 'portal/key_ambiguous',
        details: { keyIds: [one.keyId, two.keyId] },
      });
      const elsewhere = await post(`/app/${appId}/live/keys/revoke`, { keyId: one.keyId });
      expect(elsewhere.body.code).to.equal('portal/key_not_found');
      const stranger = await world.newApp();
      const foreign = await post(`/app/${stranger.appId}/test/keys/revoke`, { keyId: one.keyId });
      expect(foreign.body.code).to.equal('portal/key_not_found');
    });
  });

  describe('currencies', () => {
    const GEM = { id: 7, code: 'GEM', decimals: 0, mint: { test: 'native', live: null } };

    it('are added once, and never changed', async () => {
      const { appId } = await world.newApp();
      const chip = { ...GEM, mint: { test: null, live: null } };
      const first = await post(`/app/${appId}/currencies`, { id: 7, code: 'GEM', decimals: 0 });
      const again = await post(`/app/${appId}/currencies`, chip);
      expect(first).to.include({ status: 200, replayed: false });
      expect(again).to.include({ status: 200, replayed: true });
      expect(first.body).to.deep.equal({ ...chip, uncheckedMints: [] });
      expect(added).to.deep.equal(['GEM', 'GEM']);
      for (const other of [
        { ...chip, decimals: 1 },
        { ...chip, id: 8 },
        { ...chip, code: 'JEM' },
      ]) {
        const { status, body } = await post(`/app/${appId}/currencies`, other);
        expect({ status, code: body.code }).to.deep.equal({ status: 409, code: 'portal/currency_exists' });
      }
      expect((await get(`/app/${appId}/currencies`)).body.items).to.deep.equal([chip]);
    });

    it('have 9 decimals where they are the native one', async () => {
      const { appId } = await world.newApp();
      const { status, body } = await post(`/app/${appId}/currencies`, GEM);
      expect({ status, code: body.code }).to.deep.equal({ status: 400, code: 'request/invalid' });
    });
  });

  describe('settings', () => {
    it('are set all together or not at all', async () => {
      const { appId } = await world.newApp();
      const path = `/app/${appId}/settings`;
      const refused = await post(path, { settings: { poolEscrowEnabled: true, 'test.siwsStatement': '' } });
      expect(refused.body.code).to.equal('portal/invalid_setting');
      expect((await get(path)).body.stored).to.deep.equal([]);

      const settings = { poolEscrowEnabled: true, 'live.poolEscrowEnabled': 'false', botToken: '1:secret' };
      const { body } = await post(path, { settings });
      expect(body.test).to.include({ poolEscrowEnabled: true, botToken: 'set' });
      expect(body.live).to.include({ poolEscrowEnabled: false, botToken: 'set' });
      expect((await post(path, { settings: { botToken: null } })).body.test).to.include({
        botToken: 'not set',
      });
    });

    it('have no floor in a currency that no wallet of the environment can hold: nobody could export any more', async () => {
      const { appId } = await world.newApp();
      const path = `/app/${appId}/settings`;
      const mint = { test: 'native', live: null };
      await post(`/app/${appId}/currencies`, { id: 1, code: 'SOL', decimals: 9, mint });
      await post(`/app/${appId}/currencies`, { id: 2, code: 'PLAY', decimals: 2 });
      const issue = { message: 'must be a currency of the app that is on the chain' };
      for (const [setting, code] of [
        ['exportFloor', 'NOPE'],
        ['exportFloor', 'PLAY'],
        ['live.exportFloor', 'SOL'],
      ] as const) {
        const { body } = await post(path, { settings: { [setting]: { SOL: '1', [code]: '5' } } });
        expect(body, setting).to.include({ code: 'portal/invalid_setting' });
        expect(body.details).to.deep.equal({ setting, issues: [{ path: code, ...issue }] });
      }
      for (const setting of ['exportFloor', 'test.exportFloor']) {
        const { status } = await post(path, { settings: { [setting]: { SOL: '5' } } });
        expect(status).to.equal(200);
      }
      expect((await post(path, { settings: { exportFloor: null } })).status).to.equal(200);
    });
  });

  describe('the log', () => {
    it('is exported in order, with every stored field, and resumes after a position', async () => {
      event('1', 'playSession-test.x.1', 0);
      event('2', 'playSession-test.x.1', 1);
      const all = await get('/log');
      expect(all.status).to.equal(200);
      expect(all.text.split('\n')[0]).to.equal(
        '{"position":"1","stream":"playSession-test.x.1","revision":0,"id":"id-1","type":"Happened","data":{"b":1,"a":2},"metadata":{"v":1},"recordedAt":"2026-03-01T12:00:00.000Z"}',
      );
      expect(linesOf(await get('/log?after=1'))).to.have.length(1);
      expect(linesOf(await get('/log?after=2'))).to.deep.equal([]);
    });

    it('keeps the exact text of what would be written differently', async () => {
      event('1', 'foreign', 0, '{"amount":1.0, "2":0,"1":0}');
      event('2', 'foreign', 1, 'no JSON');
      const [first, second] = linesOf(await get('/log'));
      expect(first).to.deep.include({
        data: { amount: 1, 1: 0, 2: 0 },
        dataText: '{"amount":1.0, "2":0,"1":0}',
      });
      expect(second).to.include({ data: null, dataText: 'no JSON' }).and.not.have.property('metadataText');
    });

    it('is filtered by environment, and by app with what its scope owns', async () => {
      const { appId, scopeId } = await world.newApp();
      event('1', `playSession-test.${appId}.s`, 0);
      event('2', `user-live.${scopeId}.u`, 0);
      event('3', `playSession-test.${newId('app')}.s`, 0);
      event('4', 'foreign', 0);
      const positions = async (query: string) =>
        linesOf(await get(`/log${query}`)).map((line) => line.position);

      expect(await positions(`?app=${appId}`)).to.deep.equal(['1', '2']);
      expect(await positions('?environment=test')).to.deep.equal(['1', '3']);
      expect(await positions(`?app=${appId}&environment=live`)).to.deep.equal(['2']);
      expect((await get(`/log?app=${newId('app')}`)).body.code).to.equal('portal/app_not_found');
    });

    it('refuses a position in a form that the store does not write, or at which there is no event', async () => {
      event('1', 'foreign', 0);
      expect((await get('/streams?after=x')).body.code).to.equal('request/invalid');
      expect((await get('/log?after=2')).body.code).to.equal('portal/invalid_position');
    });

    it('lists each stream once, and shows one', async () => {
      const { appId } = await world.newApp();
      const stream = `playSession-test.${appId}.s`;
      event('1', stream, 0);
      event('2', 'foreign', 0);
      event('3', stream, 1);

      expect(linesOf(await get('/streams')).map((line) => line.stream)).to.deep.equal([stream, 'foreign']);
      expect(linesOf(await get('/streams'))[0]).to.deep.equal({
        stream,
        category: 'playSession',
        environment: 'test',
        owner: appId,
        firstType: 'Happened',
        position: '1',
        createdAt: NOW.toISOString(),
      });
      const shown = linesOf(await get(`/streams/${encodeURIComponent(stream)}`));
      expect(shown.map((line) => line.revision)).to.deep.equal([0, 1]);
      const absent = await get('/streams/playSession-test.x.2');
      expect({ status: absent.status, code: absent.body.code }).to.deep.equal({
        status: 404,
        code: 'portal/stream_not_found',
      });
    });
  });

  it('writes down what an operator did, and with which request', async () => {
    const { appId } = await world.newApp();
    await post(
      `/app/${appId}/currencies`,
      { id: 7, code: 'GEM', decimals: 0 },
      { 'x-request-id': 'audit-1' },
    );
    const { rows } = await world.pool.query(
      'select actor, request_id, action from records.admin_actions where app_id = $1',
      [appId],
    );
    expect(rows).to.deep.equal([{ actor: 'operator', request_id: 'audit-1', action: 'currencies.add' }]);
  });
});
