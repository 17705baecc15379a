/**
 * Emitters and senders that are killed again and again while facts pass: numbers without gaps or repetitions, and every
 * delivery at least once. `COFFER_WEBHOOK_KILLS=100` kills as often. Source: contract, Webhooks.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Role } from '@coffer/host';
import { requireStatus, setUpApp, type TestApp, textOf } from '@coffer/host/testing';
import { expireLeases } from '@coffer/read-models/testing';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { clientOf, useMortalNodes } from './testing/mortalNodes.ts';
import type { ServiceProcess } from './testing/serviceProcess.ts';

/** Of emitters; all senders are killed half as often. */
const KILLS = Number(process.env.COFFER_WEBHOOK_KILLS ?? 6);
const FACTS_BETWEEN_KILLS = 200;
const FACTS = KILLS * FACTS_BETWEEN_KILLS;
const EMITTERS = 3;
const SENDERS = 2;
const APPS = 2;
const REGISTERED_AT_ONCE = 16;
const MOST_MS_BEFORE_KILL = 150;

interface Told {
  readonly id: string;
  readonly appId: string;
  readonly sequence: number;
  readonly previousSequence: number | null;
  readonly data: { readonly id: string };
}

describe(`webhooks while emitters are killed ${KILLS} times, and ${FACTS} facts pass`, () => {
  const nodes = useMortalNodes();
  const apps: TestApp[] = [];
  /** In the order of their arrival. */
  const received: Told[] = [];
  const registered: { readonly appId: string; readonly userId: string }[] = [];
  let receiver: Server;
  let api: ServiceProcess;
  let kills = 0;
  /** The receiver answers nobody. */
  let isHolding = false;
  let unanswered = 0;

  const start = (...roles: readonly Role[]) =>
    nodes.start(roles, undefined, { variables: { COFFER_WEBHOOKS_ALLOW_INSECURE: '1' } });

  const startAll = (count: number, role: Role) =>
    Promise.all(Array.from({ length: count }, () => start(role)));

  before(async () => {
    receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      received.push(JSON.parse(Buffer.concat(chunks).toString()));
      unanswered += 1;
      await until(() => !isHolding);
      unanswered -= 1;
      response.end();
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    api = await start('api');
    for (let count = 0; count < APPS; count++) apps.push(await subscribedApp());
    await Promise.all([registerAll(), killAgainAndAgain()]);
    await until(async () => (await countOf("webhook_deliveries where state = 'delivered'")) === FACTS);
  });
  after(() => {
    receiver.closeAllConnections();
    receiver.close();
  });

  async function subscribedApp(): Promise<TestApp> {
    const client = clientOf(api);
    const app = await setUpApp(client);
    const token = textOf(await client.post(`/portal/app/${app.appId}/token`, {}), 'token');
    const { port } = receiver.address() as AddressInfo;
    const hook = { url: `http://127.0.0.1:${port}/` };
    requireStatus(await client.post(`/portal/app/${app.appId}/webhooks`, hook, { key: token }), 200);
    return app;
  }

  /** For the apps in turns, in both environments, and spread over the kills. */
  async function registerAll(): Promise<void> {
    const client = clientOf(api);
    let next = 0;
    const registerSome = async () => {
      for (let number = next++; number < FACTS; number = next++) {
        const { appId } = apps[number % APPS] ?? expect.fail();
        const environment = number % 3 === 0 ? 'live' : 'test';
        const path = `/portal/app/${appId}/${environment}/users`;
        registered.push({ appId, userId: textOf(await client.post(path, {}), 'userId') });
        await until(() => number < (kills + 1) * FACTS_BETWEEN_KILLS);
      }
    };
    await Promise.all(Array.from({ length: REGISTERED_AT_ONCE }, registerSome));
  }

  /** Each dies while others of its kind stand by, and is replaced. */
  async function killAgainAndAgain(): Promise<void> {
    const emitters = await startAll(EMITTERS, 'webhook-emitter');
    let senders = await startAll(SENDERS, 'webhook-sender');
    while (kills < KILLS) {
      const some = (kills + Math.random()) * FACTS_BETWEEN_KILLS;
      await until(async () => (await countOf('webhook_events')) > some);
      await delay(Math.random() * MOST_MS_BEFORE_KILL);
      const [doomed] = emitters.splice(Math.floor(Math.random() * emitters.length), 1);
      await doomed?.kill9();
      // The next one need not wait for the rest of the killed one's lease; a living holder loses its own.
      await expireLeases(nodes.pool(), 'records');
      emitters.push(await start('webhook-emitter'));
      kills += 1;
      if (kills % 2 === 1) senders = await replacedInAttempt(senders);
    }
  }

  async function replacedInAttempt(senders: readonly ServiceProcess[]) {
    isHolding = true;
    await until(() => unanswered > 0);
    await Promise.all(senders.map((sender) => sender.kill9()));
    isHolding = false;
    return startAll(SENDERS, 'webhook-sender');
  }

  async function countOf(what: string): Promise<number> {
    const { rows } = await nodes
      .pool()
      .query<{ count: number }>(`select count(*)::integer as count from records.${what}`);
    return rows[0]?.count ?? expect.fail();
  }
  const ofApp = <One extends { readonly appId: string }>(all: readonly One[], { appId }: TestApp) =>
    all.filter((one) => one.appId === appId);

  it('the facts of each app are numbered from 1 without a gap, each once', async () => {
    for (const app of apps) {
      const { rows } = await nodes.pool().query<{ sequence: number; userId: string }>(
        `select sequence::integer, object_id as "userId" from records.webhook_events where app_id = $1
          order by sequence`,
        [app.appId],
      );
      expect(rows.map(({ sequence }) => sequence)).to.deep.equal(rows.map((_row, index) => index + 1));
      expect(rows.map(({ userId }) => userId)).to.have.members(
        ofApp(registered, app).map(({ userId }) => userId),
      );
    }
  });

  it('each is delivered at least once, with the number before it, and nothing else is', () => {
    for (const app of apps) {
      const bySequence = new Map(ofApp(received, app).map((told) => [told.sequence, told]));
      const told = [...bySequence.values()].sort((one, other) => one.sequence - other.sequence);
      expect(told.map(({ data }) => data.id)).to.have.members(
        ofApp(registered, app).map(({ userId }) => userId),
      );
      expect(told.map(({ previousSequence }) => previousSequence)).to.deep.equal([
        null,
        ...told.slice(0, -1).map(({ sequence }) => sequence),
      ]);
    }
  });

  it('what came twice has the same id and number', () => {
    const texts = Map.groupBy(received, ({ id }) => id);
    for (const same of texts.values()) {
      for (const one of same) expect(one).to.deep.equal(same[0]);
    }
    expect(texts.size).to.equal(FACTS);
  });

  it('and attempts that broke off with their sender were made again', async () => {
    const atFirst = await countOf('webhook_deliveries where first_started_at is not null');
    expect(atFirst + (await countOf('webhook_attempts'))).to.be.greaterThan(FACTS);
    expect(await countOf('webhook_attempts where duration_ms is null')).to.be.greaterThan(0);
    expect(received.length).to.be.greaterThan(FACTS);
  });
});
