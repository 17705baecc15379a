import type { Client, Pool } from '@coffer/database';
import { expect } from 'chai';
import { deliveriesOf } from '../deliveryLog.ts';
import { feedQuery } from '../feed.ts';
import { listSubscriptions } from '../subscriptions.ts';
import { type SendingWorld, startSendingWorld } from '../testing/sendingWorld.ts';
import { withoutIndexes } from '../testing/withoutIndexes.ts';
import { dueQuery, failPending, noteRound, readDue, recordEnded } from './deliveries.ts';
import { holdLanes } from './holding.ts';

const APP = 'app_1';
const PENDING = 1_000_000;
/** Beyond any that waits for its turn: more would be read one after another. */
const FEW_ROWS = 100;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Of all tables of webhooks and their indexes, by what the server has counted. */
async function rowsReadBy(pool: Pool, work: (client: Client) => Promise<unknown>): Promise<number> {
  const client = await pool.connect();
  const count = async () => {
    await client.query('select pg_stat_force_next_flush()');
    const { rows } = await client.query<{ count: number }>(
      `select ((select sum(seq_tup_read) from pg_stat_user_tables where relname like 'webhook_%')
         + (select sum(idx_tup_read) from pg_stat_user_indexes where relname like 'webhook_%'))::integer as count`,
    );
    return rows[0]?.count ?? expect.fail();
  };
  try {
    const before = await count();
    await work(client);
    return (await count()) - before;
  } finally {
    client.release();
  }
}

describe(`with ${PENDING.toLocaleString('en')} pending deliveries of one endpoint`, () => {
  let world: SendingWorld;
  let id: string;
  before(async () => {
    world = await startSendingWorld();
    ({
      subscription: { id },
    } = await world.subscribe({ url: 'https://hooks.example/' }));
    await withoutIndexes(world.pool, ['records.webhook_events', 'records.webhook_deliveries'], async () => {
      await world.emit(PENDING);
      // Half of them are retries, of which none is due.
      await world.pool.query(
        `insert into records.webhook_deliveries
           (subscription_id, sequence, app_id, previous_sequence, attempts, failures, first_attempt_at, next_attempt_at)
         select $1, n, $2, nullif(n - 1, 0), tried, tried, case tried when 1 then $3::timestamptz end,
           $3::timestamptz + tried * interval '1 hour'
         from generate_series(1, $4::integer) as n, lateral (select 1 - n % 2 as tried) as of`,
        [id, APP, world.now(), PENDING],
      );
    });
    await world.pool.query('vacuum analyze records.webhook_deliveries');
    await world.pool.query('vacuum analyze records.webhook_events');
  });
  after(() => world.stop());

  const planOf = async (text: string, values: readonly unknown[]) => {
    const { rows } = await world.pool.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
      `explain (analyze, format json) ${text}`,
      [...values],
    );
    return nodesOf(rows[0]?.['QUERY PLAN'][0]?.Plan ?? expect.fail('There is no plan.'));
  };
  /** Rows of the table that were looked at, whether used or not. */
  const looked = (nodes: readonly Plan[], table = 'webhook_deliveries') =>
    nodes
      .filter((node) => node['Relation Name'] === table)
      .reduce(
        (sum, node) =>
          sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      );

  const needs = () => [{ subscriptionId: id, ahead: 8, room: 4, taken: ['1', '3'] }];

  it('the next ones are read without looking at the others', async () => {
    const { text, values } = dueQuery(needs(), world.now());
    const nodes = await planOf(text, values);
    expect(
      nodes.filter(
        (node) => node['Relation Name'] === 'webhook_deliveries' && node['Node Type'] === 'Seq Scan',
      ),
    ).to.deep.equal([]);
    expect(looked(nodes)).to.be.lessThan(FEW_ROWS);
  });

  it('another subscription is made, and all are listed', async () => {
    const read = await rowsReadBy(world.pool, async (client) => {
      const wanted = { url: 'https://hooks.example/other', events: null, environment: null };
      await world.subscriptions.create({ client, at: world.now() }, APP, wanted);
      await listSubscriptions(client, APP);
    });
    expect(read).to.be.lessThan(FEW_ROWS);
  });

  it('their newest are listed, and those that failed', async () => {
    const read = await rowsReadBy(world.pool, async (client) => {
      await deliveriesOf(client, APP, id, { limit: 20 });
      await deliveriesOf(client, APP, id, { limit: 20, state: 'failed' });
      await deliveriesOf(client, APP, id, { limit: 20, objectId: 'usr_77' });
    });
    expect(read).to.be.lessThan(3 * FEW_ROWS);
  });

  it('some are sent and recorded', async () => {
    const read = await rowsReadBy(world.pool, async (client) => {
      await holdLanes(world.pool, 'me', world.now());
      const due = await readDue(client, needs(), world.now());
      expect(due.map(({ sequence }) => sequence)).to.deep.equal([
        '5',
        '7',
        '9',
        '11',
        '13',
        '15',
        '17',
        '19',
      ]);
      const round = (await noteRound(client, 'me', due, world.now())) ?? expect.fail('It holds no lanes.');
      const outcome = { status: 200, error: null, durationMs: 3, answerHead: '' };
      await recordEnded(
        client,
        due.map((one) => ({ ...one, startedAt: world.now(), outcome })),
        { touched: [], over: [round] },
        world.now(),
      );
    });
    expect(read).to.be.lessThan(FEW_ROWS);
  });

  it('the feed finds a rare type, and the next of all types', async () => {
    await world.pool.query(
      `update records.webhook_events set type = 'deposit.received' where sequence in (10, ${PENDING - 10})`,
    );
    const everything = { appId: APP, environment: undefined, types: undefined };
    const read = await rowsReadBy(world.pool, async (client) => {
      const rare = { ...everything, types: ['deposit.received'] as const };
      for (const direction of ['after', 'upTo'] as const) {
        const { rows } = await client.query(feedQuery(rare, direction, PENDING / 2, 2));
        expect(rows).to.have.length(1);
      }
      await client.query(feedQuery(everything, 'after', PENDING / 2, 20));
    });
    expect(read).to.be.lessThan(FEW_ROWS);
  });

  it('retries that are not due cost nothing once no first attempt is left', async () => {
    await withoutIndexes(world.pool, ['records.webhook_deliveries'], () =>
      world.pool.query(
        `update records.webhook_deliveries set state = 'delivered' where attempts = 0 or sequence % 2 = 1`,
      ),
    );
    await world.pool.query('vacuum analyze records.webhook_deliveries');
    const { text, values } = dueQuery(needs(), world.now());
    expect(looked(await planOf(text, values))).to.be.lessThan(FEW_ROWS);
  });

  it('a deletion marks a thousand, and leaves the rest to the sweep', async () => {
    await world.change((change) => world.subscriptions.remove(change, 'app_1', id));
    const { rows } = await world.pool.query<{ state: string; count: number }>(
      `select state, count(*)::integer as count from records.webhook_deliveries group by state order by state`,
    );
    expect(rows.find(({ state }) => state === 'failed')?.count).to.equal(1_000);
    expect(await failPending(world.pool, id)).to.equal(1_000);
  });
});

describe('with thousands of pending deliveries of which PostgreSQL has no statistics', () => {
  let world: SendingWorld;
  before(async () => {
    world = await startSendingWorld();
  });
  after(() => world.stop());

  it('each of those that end is found without looking at the others', async () => {
    const { subscription } = await world.subscribe({ url: 'https://hooks.example/' });
    await world.emit(5_000, subscription.id);
    const read = await rowsReadBy(world.pool, async (client) => {
      const startedAt = world.now();
      const numbers = Array.from({ length: 10 }, (_, index) => String(4_000 + index));
      const outcome = { status: 200, error: null, durationMs: 3, answerHead: '' };
      const ended = numbers.map((sequence) => ({
        subscriptionId: subscription.id,
        sequence,
        number: 1,
        startedAt,
        outcome,
      }));
      await recordEnded(client, ended, { touched: [], over: [] }, startedAt);
    });
    expect(read).to.be.lessThan(FEW_ROWS);
    expect((await world.deliveries()).filter(({ state }) => state === 'delivered')).to.have.length(10);
  });
});
