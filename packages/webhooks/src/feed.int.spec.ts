import { contexts } from '@coffer/host';
import {
  type ContextWorld,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
  textOf,
  verdict,
} from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { type PortalGiven, portalContext } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { until } from '@coffer/testing';
import { usersContext } from '@coffer/users';
import { expect } from 'chai';
import { type WebhooksGiven, webhooksContext } from './context.ts';
import { pruneSome } from './retention.ts';
import { type Receiver, startReceiver } from './testing/receiver.ts';

type Given = PortalGiven & WebhooksGiven;
const CONTEXTS = contexts<Given>().with(portalContext).with(usersContext).with(webhooksContext);

interface Item {
  readonly sequence: number;
  readonly previousSequence: number | null;
  readonly type: string;
}

describe('the feed of events', () => {
  let world: ContextWorld<Given>;
  let receiver: Receiver;
  let app: TestApp;
  let token: string;

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
    app = await setUpApp(world.client);
    token = textOf(await world.client.post(`/portal/app/${app.appId}/token`, {}), 'token');
  });

  const newUser = async (environment: 'test' | 'live' = 'test') =>
    textOf(await world.client.post(`/portal/app/${app.appId}/${environment}/users`, {}), 'userId');
  const decide = async (userId: string, decision: string) =>
    requireStatus(
      await world.client.post(`/portal/app/${app.appId}/test/users/${userId}/compliance`, {
        decision,
        reason: 'source of funds',
      }),
      200,
    );
  const feed = async (
    query: string,
    environment: 'test' | 'live' = 'test',
  ): Promise<{ items: readonly Item[]; nextAfter: number; hasMore: boolean }> =>
    JSON.parse(requireStatus(await app[environment].get(`/events?${query}`), 200).text);
  const portalFeed = async (query: string, ofApp = app.appId) =>
    world.client.get(`/portal/app/${ofApp}/events?${query}`, { key: token });
  const numbersOf = (items: readonly Item[]) =>
    items.map(({ sequence, previousSequence }) => [sequence, previousSequence]);
  const emitted = (last: number) => until(async () => (await portalFeed('after=0')).json.nextAfter === last);

  it('tells what the calls did, with the same bytes as a delivery', async () => {
    const hook = { url: `${receiver.url}/same` };
    requireStatus(await world.client.post(`/portal/app/${app.appId}/webhooks`, hook, { key: token }), 200);
    const userId = await newUser();
    for (const decision of ['passed', 'failed', 'review_required']) await decide(userId, decision);
    await emitted(4);
    const { items } = await feed('');
    expect(items.map(({ type }) => type)).to.deep.equal([
      'user.created',
      'compliance.passed',
      'compliance.failed',
      'compliance.review_required',
    ]);
    await until(() => receiver.received.length === 4);
    const bodies = receiver.received.map(({ body }) => String(body));
    expect(items.map((item) => JSON.stringify(item))).to.have.members(bodies);
  });

  it('goes on where the reader was, in pages', async () => {
    for (let count = 0; count < 5; count++) await newUser();
    await emitted(5);
    const first = await feed('limit=3');
    expect(first).to.include({ nextAfter: 3, hasMore: true });
    const rest = await feed(`limit=3&after=${first.nextAfter}`);
    expect(rest).to.include({ nextAfter: 5, hasMore: false });
    expect(numbersOf([...first.items, ...rest.items])).to.deep.equal([
      [1, null],
      [2, 1],
      [3, 2],
      [4, 3],
      [5, 4],
    ]);
  });

  it('of one environment, or of some types, proves that none is missing', async () => {
    const userId = await newUser();
    await newUser('live');
    await decide(userId, 'passed');
    await newUser();
    await emitted(4);
    expect(numbersOf((await feed('')).items)).to.deep.equal([
      [1, null],
      [3, 1],
      [4, 3],
    ]);
    expect(numbersOf((await feed('', 'live')).items)).to.deep.equal([[2, null]]);
    const some = await feed('types=compliance.passed,user.suspended&after=1');
    expect(numbersOf(some.items)).to.deep.equal([[3, null]]);
    for (const types of ['user.created', 'user.created,user.created,compliance.failed,user.created']) {
      expect(numbersOf((await feed(`types=${types}`)).items), types).to.deep.equal([
        [1, null],
        [4, 1],
      ]);
    }
  });

  it('begins at the end for who asks for last, and with one environment for a session that names it', async () => {
    expect(await feed('after=last')).to.deep.equal({ items: [], nextAfter: 0, hasMore: false });
    await newUser();
    await newUser('live');
    await emitted(2);
    expect(await feed('after=last')).to.deep.equal({ items: [], nextAfter: 2, hasMore: false });
    const waiting = portalFeed('after=last&wait=30&environment=live');
    await newUser();
    await newUser('live');
    expect(numbersOf(JSON.parse((await waiting).text).items)).to.deep.equal([[4, 2]]);
  });

  it('waits for the next event, and is empty without one', async () => {
    expect(await feed('')).to.deep.equal({ items: [], nextAfter: 0, hasMore: false });
    const waiting = feed('wait=30');
    await newUser();
    expect(numbersOf((await waiting).items)).to.deep.equal([[1, null]]);
  });

  it('says so if what comes after a number is no longer kept', async () => {
    for (let count = 0; count < 3; count++) await newUser();
    await emitted(3);
    const wasPruned = await pruneSome(world.pool, app.appId, new Date(Date.now() + 60_000));
    expect(wasPruned).to.equal(3);
    await newUser();
    const refused = await app.test.get('/events?after=2');
    expect(verdict(refused)).to.equal('410 webhooks/events_pruned');
    expect(refused.json.details).to.deep.equal({ prunedSequence: 3 });
    const { items } = await feed('after=3&wait=30');
    expect(numbersOf(items)).to.deep.equal([[4, null]]);
  });

  it('refuses what it cannot read, and a session of another app', async () => {
    for (const query of ['after=-1', 'after=x', 'limit=0', 'limit=201', 'types=user.deleted', 'wait=31']) {
      expect((await app.test.get(`/events?${query}`)).json.code, query).to.equal('request/invalid');
    }
    expect((await portalFeed('', newId('app'))).json.code).to.equal('portal/app_not_found');
  });
});
