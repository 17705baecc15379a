/**
 * An event store that others also write to: whatever their streams and events are called, they do not affect ours.
 * Source: architecture, Event store.
 */
import type { Pool } from '@coffer/database';
import {
  type AppPlace,
  consumerMetric,
  errorLines,
  requireStatus,
  setUpApp,
  type TestApp,
} from '@coffer/host/testing';
import { createTestDatabase, eventually, startStoreGatewayProcess } from '@coffer/testing';
import { expect } from 'chai';
import { delegatingClient } from './testing/delegatingClient.ts';
import { OF_OTHERS, writeAllOfOthers } from './testing/sharedServer.ts';
import { serviceTemplate, startNode, type World } from './testing/world.ts';

type Row = Readonly<Record<string, unknown>>;

const THEIRS: ReadonlySet<unknown> = new Set(OF_OTHERS.map(({ stream }) => stream));

for (const backend of ['postgres', 'eventstoredb'] as const) {
  describe(`a service that shares its log with others, on ${backend}`, () => {
    let pool: Pool;
    let node: Omit<World, 'databaseUrl' | 'pool'>;
    const client = delegatingClient(() => node.client);
    let app: TestApp;
    let test: AppPlace;
    const stops: (() => Promise<unknown>)[] = [];

    const start = async (databaseUrl: string, environment: Readonly<Record<string, string>>) => {
      node = await startNode(databaseUrl, { environment });
    };

    before(async () => {
      const database = await createTestDatabase(serviceTemplate);
      const { connectionString } = database;
      stops.push(database.drop);
      pool = database.pool;
      const environment: Record<string, string> = { COFFER_REACTION_GRACE_MS: '0' };
      if (backend === 'eventstoredb') {
        const gateway = await startStoreGatewayProcess({ databaseUrl: connectionString });
        stops.push(() => gateway.stop());
        environment.EVENTSTORE_URL = gateway.connectionString;
      }
      // Before our first event, between our events, and after the last.
      await writeAllOfOthers(pool);
      await start(connectionString, environment);
      app = await setUpApp(client);
      test = app.test;
      await play();
      await writeAllOfOthers(pool);
      await play();
      await writeAllOfOthers(pool);
      await node.stop();
      // Resumes where it was, with their events after it.
      await start(connectionString, environment);
      stops.push(() => node.stop());
      await play();
      await writeAllOfOthers(pool);
      await isLive();
    });
    after(async () => {
      for (const stop of stops.reverse()) await stop();
    });

    async function play(): Promise<void> {
      const { sessionId } = await test.newSession('100');
      requireStatus(await test.bet({ sessionId, amount: '7' }), 200);
      requireStatus(await test.settle({ sessionId }), 200);
    }
    const isLive = () =>
      eventually('every consumer is live, and none has stopped', async () => {
        const live = await consumerMetric(node.url, 'coffer_consumer_live');
        const stopped = await consumerMetric(node.url, 'coffer_consumer_stopped');
        const names = Object.keys(live);
        expect(names).to.include.members(['readModels', 'chain', 'holds', 'identities']);
        for (const name of names) expect(stopped[name], name).to.equal(0);
        return names.every((name) => live[name] === 1) || undefined;
      });
    const result = async (path: string, body?: unknown): Promise<Row> => {
      const answer = body === undefined ? await client.get(path) : await client.post(path, body);
      const last = requireStatus(answer, 200).text.trim().split('\n').at(-1) ?? '';
      return JSON.parse(last).result;
    };

    it('takes every event of ours, and no consumer stops', async () => {
      await play();
      await isLive();
      expect(errorLines(node.logLines)).to.deep.equal([]);
      expect((await fetch(`${node.url}/readyz`)).status).to.equal(200);
      await eventually('nothing is behind', async () => {
        const items = (await client.get('/portal/projections')).json.items as readonly Row[];
        return items.every(({ lagEvents, lagSeconds }) => lagEvents === 0 && lagSeconds === 0) || undefined;
      });
    });

    it('reconciles, incrementally and in full', async () => {
      for (const full of [false, true, false]) {
        const report = await result(`/portal/app/${app.appId}/test/reconcile`, { full });
        expect(report).to.include({ ok: true });
        expect(report.warnings).to.deep.equal([]);
      }
      requireStatus(await test.reconcile(), 200);
    });

    it('rebuilds its read models to the same rows', async () => {
      expect(await result('/portal/projections/rebuild', { verify: true })).to.include({
        ok: true,
        equal: true,
      });
    });

    it('verifies the log and the chain, which are those of our events', async () => {
      const ours = await client.lines('/portal/log');
      await eventually('all is chained', async () => {
        const { json } = await client.get('/portal/audit/head');
        return json.ordinal === ours.length || undefined;
      });
      const report = await result('/portal/log/verification');
      expect(report).to.include({ ok: true, events: ours.length, unchained: 0, faultCount: 0 });
      const { json: head } = await client.get('/portal/audit/head');
      const since = `since=${head.ordinal}&hash=${head.hash}`;
      expect(await result(`/portal/audit/verification?${since}`)).to.include({ ok: true, extends: true });
    });

    it('lists, exports and shows no stream of theirs', async () => {
      for (const path of ['/portal/log', '/portal/streams']) {
        const lines = await client.lines(path);
        expect(lines.length).to.be.above(10);
        expect(lines.filter(({ stream }) => THEIRS.has(stream))).to.deep.equal([]);
      }
      for (const stream of ['bank-1', 'order-2']) {
        const shown = await client.get(`/portal/streams/${stream}`);
        expect([shown.status, shown.json.code]).to.deep.equal([404, 'portal/stream_not_found']);
      }
    });
  });
}
