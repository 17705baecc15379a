/** A trusted state is money: what somebody else writes into the table of snapshots is not trusted. */
import { createLogger } from '@coffer/http';
import { LEDGER_CONTEXTS } from '@coffer/ledger/testing';
import type { PortalGiven } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { keptSnapshots } from './snapshots.ts';
import {
  type ContextNode,
  type ContextWorld,
  requireStatus,
  setUpApp,
  startContexts,
} from './testing/index.ts';

describe('snapshots of streams', () => {
  let world: ContextWorld<PortalGiven>;

  before(async () => {
    world = await startContexts({ contexts: LEDGER_CONTEXTS, given: PORTAL_GIVEN });
  });
  after(() => world.stop());

  it('that somebody has changed give no false balance after a restart, and are told of and named', async () => {
    const first = await world.startNode();
    const app = (await setUpApp(first.client)).test;
    const { sessionId } = await app.newSession('10000');
    const stream = `playSession-test.${app.appId}.${sessionId}`;
    for (let start = 0; start < BETS; start += 200) {
      const operations = Array.from({ length: 200 }, (_, index) => {
        return { op: 'bet', transactionUuid: `bet-${start + index}`, amount: '1' };
      });
      requireStatus(await app.batch(sessionId, operations), 200);
    }
    await eventually('a snapshot is kept', async () => {
      const { rowCount } = await world.pool.query('select from cache.snapshots where stream = $1', [stream]);
      return rowCount === 1 || undefined;
    });
    expect(await verified(first)).to.deep.equal([]);
    await first.stop();

    // As if no bet had ever been placed, at the stream's last event.
    await world.pool.query(
      `update cache.snapshots s set revision = e.revision, event_id = e.id,
              state = jsonb_set(
                jsonb_set(state::jsonb, '{balance}', '"10000"'), '{revision}', to_jsonb(e.revision)
              )::text
         from (select revision, id from log.events where stream = $1 order by revision desc limit 1) e
        where s.stream = $1`,
      [stream],
    );
    const second = await world.startNode();
    try {
      const post = (path: string, body: unknown) => second.client.post(path, body, { key: app.secretKey });
      const [fault, ...others] = await verified(second);
      expect(fault).to.include({ kind: 'false_snapshot', stream, revision: BETS });
      expect(others).to.deep.equal([]);

      const { json } = requireStatus(await post('/ledger/balance', { sessionId }), 200);
      expect(json.balance).to.equal('7800');
      const told = second.logLines.filter((line) => line.includes('was not written by this service'));
      expect(told.map((line) => JSON.parse(line))).to.have.length(1);
      expect(JSON.parse(String(told[0]))).to.include({ stream });
      const metrics = await (await fetch(`${second.url}/metrics`)).text();
      expect(metrics).to.match(/^coffer_snapshots_forged_total [1-9]/m);

      // The next one that is due replaces it.
      requireStatus(await post('/ledger/bet', { sessionId, transactionUuid: 'one-more', amount: '1' }), 200);
      await eventually(
        "the snapshot is the service's own",
        async () => (await verified(second)).length === 0 || undefined,
      );
    } finally {
      await second.stop();
    }
  });

  it('are saved when a node stops, and spare the next one the fold', async () => {
    const first = await world.startNode();
    const app = (await setUpApp(first.client)).test;
    const { sessionId } = await app.newSession('10000');
    const bets = Array.from({ length: 60 }, (_, index) => {
      return { op: 'bet', transactionUuid: `bet-${index}`, amount: '1' };
    });
    requireStatus(await app.batch(sessionId, bets), 200);
    expect(await metricOf(first, 'coffer_snapshots_written_total ')).to.equal(0);
    expect(await metricOf(first, 'coffer_state_cache_hits_total ')).to.be.at.least(1);
    await first.stop();

    const second = await world.startNode();
    try {
      const post = (path: string, body: unknown) => second.client.post(path, body, { key: app.secretKey });
      const { json } = requireStatus(await post('/ledger/balance', { sessionId }), 200);
      expect(json.balance).to.equal('9940');
      expect(await metricOf(second, 'coffer_state_return_seconds_count{source="snapshot"} ')).to.equal(1);
      expect(await metricOf(second, 'coffer_state_return_events_total{source="snapshot"} ')).to.equal(0);
      expect(await metricOf(second, 'coffer_snapshots_dropped_total ')).to.equal(0);
      expect(await metricOf(second, 'coffer_snapshots_waiting ')).to.equal(0);
      expect(await metricOf(second, 'coffer_state_cache_evictions_total ')).to.equal(0);
    } finally {
      await second.stop();
    }
  });

  it('repeat the answers of a long session byte for byte after it has left the cache', async () => {
    const node = await world.startNode({ config: { cacheBytes: 128 * 1024 } });
    try {
      const app = (await setUpApp(node.client)).test;
      const bets = (count: number, name: string) =>
        Array.from({ length: count }, (_, index) => {
          return { op: 'bet', transactionUuid: `${name}-${index}`, amount: '1', roundId: `round-${index}` };
        });
      const newSession = async (batches: readonly ReturnType<typeof bets>[]) => {
        const { sessionId } = await app.newSession('10000');
        for (const batch of batches) requireStatus(await app.batch(sessionId, batch), 200);
        return sessionId;
      };
      const sessionId = await newSession([bets(300, 'a'), bets(300, 'b'), bets(300, 'c')]);
      const writes = [
        ['bet', { amount: '3', roundId: 'r' }],
        ['win', { betTransactionUuid: 'a-7', amount: '5', roundId: 'round-7' }],
        ['rollback', { betTransactionUuid: 'b-8' }],
        ['rollback', { betTransactionUuid: 'never-came' }],
      ] as const;
      const send = () =>
        Promise.all(
          writes.map(async ([path, content], index) => {
            const body = { sessionId, transactionUuid: `write-${index}`, ...content };
            const { status, text } = await node.client.post(`/ledger/${path}`, body, { key: app.secretKey });
            return { status, text };
          }),
        );
      const first = await send();
      expect(first.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);

      // Two long sessions take its room.
      for (const name of ['d', 'e']) await newSession([bets(300, name), bets(300, `${name}-too`)]);
      await eventually(
        'its snapshot is kept',
        async () => (await metricOf(node, 'coffer_snapshots_waiting ')) === 0 || undefined,
      );
      expect(await send()).to.deep.equal(first);
      expect(await metricOf(node, 'coffer_state_return_seconds_count{source="snapshot"} ')).to.equal(1);
    } finally {
      await node.stop();
    }
  });

  it('are neither kept nor used by a node that may not have the secret of the others, and it says so', () => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
    expect(
      keptSnapshots({ snapshotSecret: undefined, logger, pool: world.pool, patientPool: world.pool }),
    ).to.equal(undefined);
    expect(lines.join()).to.include('COFFER_SECRETS_KEY is not given');
  });
});

const BETS = 2_200;

async function verified({ client }: Pick<ContextNode, 'client'>): Promise<readonly unknown[]> {
  const result = (await client.lines('/portal/log/verification')).at(-1)?.result;
  // The service checks its own lines against their schema.
  return (result as { readonly faults: readonly unknown[] }).faults;
}

async function metricOf({ url }: Pick<ContextNode, 'url'>, name: string): Promise<number> {
  const line = (await (await fetch(`${url}/metrics`)).text()).split('\n').find((one) => one.startsWith(name));
  return Number(line?.slice(name.length) ?? expect.fail(`no ${name}`));
}
