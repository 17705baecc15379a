import { contexts } from '@coffer/host';
import { type ContextWorld, requireStatus, startContexts, textOf, verdict } from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { type WebhooksGiven, webhooksContext } from './context.ts';
import { resendFailed, resendRange } from './deliveryLog.ts';
import { subscriptionOf } from './subscriptions.ts';
import { type Receiver, startReceiver } from './testing/receiver.ts';

type Given = PortalGiven & WebhooksGiven;
const CONTEXTS = contexts<Given>().with(portalContext).with(webhooksContext);

describe('the management of webhooks', () => {
  let world: ContextWorld<Given>;
  let receiver: Receiver;
  let appId: string;
  let key: string;

  const newApp = async () =>
    textOf(requireStatus(await world.client.post('/portal/apps', { name: 'Arcade' }), 200), 'appId');
  const tokenOf = async (ofApp: string, fields: object = {}) =>
    textOf(requireStatus(await world.client.post(`/portal/app/${ofApp}/token`, fields), 200), 'token');

  before(async () => {
    world = await startContexts<Given>({
      contexts: CONTEXTS,
      given: {
        ...PORTAL_GIVEN,
        webhookReach: 'loopback',
        webhookRetentionDays: undefined,
        webhooksToKafka: false,
      },
    });
    receiver = await startReceiver();
  });
  after(async () => {
    receiver.close();
    await world.stop();
  });
  beforeEach(async () => {
    appId = await newApp();
    key = await tokenOf(appId);
  });

  const webhooks = () => `/portal/app/${appId}/webhooks`;
  const create = (body: object) => world.client.post(webhooks(), body, { key });
  const call = (method: string, path: string, body?: unknown, as = key) =>
    world.client.send(method, `${webhooks()}${path}`, body, { key: as });
  const list = async () => JSON.parse((await call('GET', '')).text);
  const subscribed = async (fields: object = {}) => {
    const { json } = requireStatus(await create({ url: `${receiver.url}/hooks`, ...fields }), 200);
    return { id: String(json.id), secret: String(json.secret) };
  };
  /** As the emitter leaves it. */
  const emit = async (sequence: number, ...ids: string[]) => {
    await world.pool.query(
      `insert into records.webhook_sequences (app_id, last, since_ordinal) values ($1, $2, 0)
       on conflict (app_id) do update set last = excluded.last`,
      [appId, sequence],
    );
    await world.pool.query(
      `insert into records.webhook_events (app_id, sequence, event_id, type, environment, object_id, stream, revision,
         created_at, body)
       values ($1, $2, $3, 'user.created', 'test', 'usr_1', $3, 0, now(), $4)`,
      [appId, sequence, newId('evt'), JSON.stringify({ type: 'user.created', sequence })],
    );
    for (const id of ids)
      await world.pool.query(
        `insert into records.webhook_deliveries (subscription_id, sequence, app_id, next_attempt_at)
         values ($1, $2, $3, now())`,
        [id, sequence, appId],
      );
  };
  const itemsOf = async (id: string, query = '') => {
    const { json } = requireStatus(await call('GET', `/${id}/deliveries${query}`), 200);
    return json.items as { sequence: number; state: string; attempts: { status: number }[] }[];
  };

  it('records each change with who made it, and no secret or address of a secret', async () => {
    const { id, secret } = await subscribed({ url: `${receiver.url}/hooks?token=hidden` });
    await call('PUT', `/${id}`, { disabled: true });
    const rotated = await call('POST', `/${id}/rotate`, {});
    await call('DELETE', `/${id}`);
    await call('DELETE', `/${id}`);
    const { rows } = await world.pool.query(
      `select actor, action, details from records.admin_actions
        where app_id = $1 and action like 'webhooks.%' order by at, action`,
      [appId],
    );
    const about = { webhookId: id, origin: receiver.url, events: [], environment: null };
    expect(rows.map(({ actor, action }) => [actor, action])).to.have.deep.members([
      ['portal:admin', 'webhooks.create'],
      ['portal:admin', 'webhooks.update'],
      ['portal:admin', 'webhooks.rotate'],
      ['portal:admin', 'webhooks.delete'],
    ]);
    const detailsOf = (action: string) => rows.find((row) => row.action === action)?.details;
    expect(detailsOf('webhooks.create')).to.deep.equal({ ...about, state: 'enabled' });
    expect(detailsOf('webhooks.update')).to.deep.equal({ ...about, state: 'disabled' });
    for (const hidden of [secret, String(rotated.json.secret), 'hidden']) {
      expect(JSON.stringify(rows)).not.to.include(hidden);
    }
  });

  it('creates, lists and deletes as specified; the secret is answered once', async () => {
    const { json } = await create({
      url: 'https://hooks.example/a',
      events: ['wallet.created', 'user.created'],
    });
    expect(json).to.have.all.keys('id', 'url', 'secret', 'message');
    expect(json.id).to.match(/^whk_/);
    expect(json.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [listed] = await list();
    expect(listed).to.include({
      id: json.id,
      url: 'https://hooks.example/a',
      disabled: false,
      environment: null,
    });
    expect(listed.events).to.deep.equal(['user.created', 'wallet.created']);
    expect(JSON.stringify(await list())).not.to.contain('whsec_');
    const deleted = await call('DELETE', `/${json.id}`);
    expect([deleted.status, deleted.text]).to.deep.equal([204, '']);
    expect(await list()).to.deep.equal([]);
    expect(verdict(await call('DELETE', `/${json.id}`))).to.equal('404 webhooks/not_found');
  });

  it('keeps secrets sealed', async () => {
    const { secret } = await subscribed();
    const { rows } = await world.pool.query('select secret::text as text from records.webhook_subscriptions');
    for (const { text } of rows) expect(text).not.to.contain(secret.slice(6, 30));
  });

  it('refuses every URL that is not allowed with one code, and says nothing about this machine', async () => {
    for (const url of [
      'http://hooks.example/',
      'https://10.0.0.1/',
      'https://u:p@hooks.example/',
      'https://hooks.example:22/',
    ]) {
      const answer = await create({ url });
      expect(verdict(answer), url).to.equal('400 webhooks/url_not_allowed');
      expect(answer.json.details).to.deep.equal({});
    }
    expect(verdict(await create({ url: receiver.url, environment: 'live' }))).to.equal(
      '400 webhooks/url_not_allowed',
    );
    const { id } = await subscribed();
    expect(
      verdict(await call('PUT', `/${id}`, { url: 'https://[::1]:5432/', environment: 'live' })),
    ).to.equal('400 webhooks/url_not_allowed');
    expect(verdict(await call('PUT', `/${id}`, { environment: 'live' }))).to.equal(
      '400 webhooks/url_not_allowed',
    );
  });

  it('shows an app to its own sessions only, and lets viewers change nothing', async () => {
    const { id } = await subscribed();
    const other = await tokenOf(await newApp());
    const viewer = await tokenOf(appId, { role: 'viewer' });
    const rows: readonly [string, string, unknown][] = [
      ['POST', '', { url: 'https://hooks.example/' }],
      ['PUT', `/${id}`, { disabled: true }],
      ['DELETE', `/${id}`, undefined],
      ['POST', `/${id}/rotate`, {}],
      ['POST', `/${id}/test`, {}],
      ['POST', `/${id}/resend`, { from: 1 }],
    ];
    for (const [method, path, body] of rows) {
      expect(verdict(await call(method, path, body, viewer)), path).to.equal('403 portal/role_not_allowed');
      expect(verdict(await call(method, path, body, other)), path).to.equal('404 portal/app_not_found');
    }
    for (const path of ['', `/${id}/deliveries`, `/${id}/statistics`]) {
      expect((await call('GET', path, undefined, viewer)).status, path).to.equal(200);
      expect(verdict(await call('GET', path, undefined, other)), path).to.equal('404 portal/app_not_found');
    }
    expect(verdict(await call('GET', '', undefined, `${viewer}x`))).to.equal('401 auth/invalid_session');
  });

  it('lets the operator do what an admin may, in every app that there is', async () => {
    const { id } = await subscribed();
    expect((await call('GET', '', undefined, world.operatorToken)).status).to.equal(200);
    const changed = await call('PUT', `/${id}`, { disabled: true }, world.operatorToken);
    expect(changed.status).to.equal(200);
    appId = newId('app');
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { url: 'https://hooks.example/' }],
    ] as const) {
      expect(verdict(await call(method, '', body, world.operatorToken))).to.equal('404 portal/app_not_found');
    }
  });

  it('does not find a subscription of another app', async () => {
    const { id } = await subscribed();
    appId = await newApp();
    key = await tokenOf(appId);
    for (const [method, path, body] of [
      ['PUT', '', { disabled: true }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', {}],
      ['POST', '/test', {}],
      ['GET', '/deliveries', undefined],
    ] as const)
      expect(verdict(await call(method, `/${id}${path}`, body)), path).to.equal('404 webhooks/not_found');
  });

  it('changes only the named fields', async () => {
    const { id } = await subscribed({ events: ['user.created'] });
    const { json } = await call('PUT', `/${id}`, { disabled: true });
    expect(json).to.deep.include({ disabled: true, disabledReason: 'requested', events: ['user.created'] });
    const enabled = await call('PUT', `/${id}`, { disabled: false, events: [] });
    expect(enabled.json).to.deep.include({ disabled: false, disabledReason: null, events: [] });
  });

  it('sends a test event at once, with the secret of the moment', async () => {
    const { id, secret } = await subscribed();
    const { json: rotated } = await call('POST', `/${id}/rotate`, {});
    const { json } = await call('POST', `/${id}/test`, { type: 'wallet.created' });
    expect(json).to.include({ delivered: true, status: 200, error: null });
    const sent = receiver.received.at(-1);
    const headers = { ...sent?.headers } as Record<string, string>;
    for (const either of [secret, String(rotated.secret)])
      expect(new Webhook(either).verify(sent?.body ?? '', headers)).to.include({
        sequence: 0,
        type: 'wallet.created',
      });
    await call('PUT', `/${id}`, { disabled: true });
    expect(verdict(await call('POST', `/${id}/test`, {}))).to.equal('409 webhooks/disabled');
  });

  it('answers a repeated rotation as the first time, so that the secret before it goes on signing', async () => {
    const { id, secret } = await subscribed();
    const rotate = (idempotencyKey: string) =>
      world.client.post(
        `${webhooks()}/${id}/rotate`,
        {},
        { key, headers: { 'idempotency-key': idempotencyKey } },
      );
    const first = requireStatus(await rotate('r-1'), 200);
    const again = await rotate('r-1');
    expect([first.replayed, again.replayed, again.text]).to.deep.equal([false, true, first.text]);
    const signs = async (one: unknown) => {
      await call('POST', `/${id}/test`, {});
      const { headers, body } = receiver.received.at(-1) ?? {};
      try {
        new Webhook(String(one)).verify(body ?? '', { ...headers } as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    expect([await signs(secret), await signs(first.json.secret)]).to.deep.equal([true, true]);
    // Another rotation: no more than two sign.
    const second = requireStatus(await rotate('r-2'), 200);
    expect(second.replayed).to.equal(false);
    expect(await signs(secret)).to.equal(false);
    expect([await signs(first.json.secret), await signs(second.json.secret)]).to.deep.equal([true, true]);
    const { rows } = await world.pool.query(
      `select from records.admin_actions where app_id = $1 and action = 'webhooks.rotate'`,
      [appId],
    );
    expect(rows).to.have.length(2);
  });

  it('shows deliveries with their attempts, by state, type, object and time, in pages', async () => {
    const { id } = await subscribed();
    for (const sequence of [1, 2, 3]) await emit(sequence, id);
    await until(async () => (await itemsOf(id, '?state=delivered')).length === 3);
    expect((await itemsOf(id)).map(({ sequence }) => sequence)).to.deep.equal([3, 2, 1]);
    expect((await itemsOf(id))[0]?.attempts[0]).to.include({ number: 1, status: 200, error: null });
    for (const query of [
      '?type=user.suspended',
      '?objectId=usr_2',
      '?state=failed',
      '?until=2020-01-01T00:00:00Z',
    ])
      expect(await itemsOf(id, query), query).to.deep.equal([]);
    const { json: page } = await call('GET', `/${id}/deliveries?limit=2`);
    expect(await itemsOf(id, `?limit=2&cursor=${page.nextCursor}`)).to.have.length(1);
    expect(verdict(await call('GET', `/${id}/deliveries?cursor=x`))).to.equal('400 request/invalid');
    expect((await call('GET', `/${id}/statistics`)).json).to.include({
      pending: 0,
      attempts: 3,
      succeeded: 3,
    });
  });

  it('delivers again: one, a range, also from before the subscription, and what failed', async () => {
    await emit(1);
    await emit(2);
    const { id } = await subscribed();
    const seen = () => receiver.received.length;
    const before = seen();
    const bothDelivered = () => until(async () => (await itemsOf(id, '?state=delivered')).length === 2);
    expect((await call('POST', `/${id}/resend`, { from: 1, to: 5 })).json).to.deep.equal({
      resent: 2,
      hasMore: false,
      nextFrom: null,
    });
    await bothDelivered();
    // Whoever asks for more than a thousand is told where the rest begins.
    const page = await call('POST', `/${id}/resend`, { from: 1_000_001, to: 1_001_001 });
    expect(page.json).to.deep.equal({ resent: 0, hasMore: true, nextFrom: 1_001_001 });
    expect((await call('POST', `/${id}/resend`, { from: 2 })).json).to.include({ resent: 1 });
    await until(() => seen() === before + 3);
    const numbers = receiver.received.slice(before).map(({ body }) => JSON.parse(body.toString()));
    // Nothing before the subscription was for it.
    expect(numbers.at(-1)).to.include({ sequence: 2, previousSequence: null });
    // What is recorded of that attempt would end what is sent again below.
    await bothDelivered();
    await world.pool.query(
      `update records.webhook_deliveries set state = 'failed' where subscription_id = $1`,
      [id],
    );
    const failedSince = { failedSince: '2020-01-01T00:00:00Z' };
    expect((await call('POST', `/${id}/resend`, failedSince)).json).to.deep.equal({
      resent: 2,
      hasMore: false,
      nextFrom: null,
    });
    await until(() => seen() === before + 5);
  });

  it('delivers nothing again for a subscription that is deleted meanwhile', async () => {
    const { id } = await subscribed();
    const subscription = await subscriptionOf(world.pool, appId, id);
    await call('DELETE', `/${id}`);
    await emit(1);
    await emit(2, id);
    await world.pool.query(
      `update records.webhook_deliveries set state = 'failed' where subscription_id = $1`,
      [id],
    );
    const now = new Date();
    const range = { from: 1n, to: 2n };
    expect(await resendRange(world.pool, appId, subscription, range, now)).to.equal(0);
    expect(await resendFailed(world.pool, appId, id, new Date(0), now)).to.equal(0);
  });

  it('allows an app a hundred of them', async () => {
    for (let count = 0; count < 100; count += 1) await subscribed();
    expect(verdict(await create({ url: 'https://hooks.example/' }))).to.equal(
      '409 webhooks/too_many_subscriptions',
    );
  });
});
