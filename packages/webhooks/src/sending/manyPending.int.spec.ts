import { expect } from 'chai';
import { type SendingWorld, startSendingWorld } from '../testing/sendingWorld.ts';
import { claimQuery, failPending } from './deliveries.ts';

const PENDING = 200_000;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

describe(`with ${PENDING.toLocaleString('en')} pending deliveries of one endpoint`, () => {
  let world: SendingWorld;
  let id: string;
  before(async () => {
    world = await startSendingWorld();
    ({
      subscription: { id },
    } = await world.subscribe({ url: 'https://hooks.example/' }));
    await world.emit(PENDING, id);
    // Half of them are retries, of which none is due.
    await world.pool.query(
      `update records.webhook_deliveries set attempts = 1, failures = 1, first_attempt_at = $1,
         next_attempt_at = $1::timestamptz + interval '1 hour'
       where sequence % 2 = 0`,
      [world.now()],
    );
    await world.pool.query('vacuum analyze records.webhook_deliveries');
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
  const looked = (nodes: readonly Plan[]) =>
    nodes
      .filter((node) => node['Relation Name'] === 'webhook_deliveries')
      .reduce(
        (sum, node) =>
          sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      );

  it('the next ones are claimed without looking at the others', async () => {
    const { text, values } = claimQuery([], world.now());
    const nodes = await planOf(text, values);
    expect(
      nodes.filter(
        (node) => node['Relation Name'] === 'webhook_deliveries' && node['Node Type'] === 'Seq Scan',
      ),
    ).to.deep.equal([]);
    expect(looked(nodes)).to.be.lessThan(100);
  });

  it('retries that are not due cost nothing once no first attempt is left', async () => {
    await world.pool.query(
      `update records.webhook_deliveries set state = 'delivered' where attempts = 0 or sequence % 2 = 1`,
    );
    await world.pool.query('vacuum analyze records.webhook_deliveries');
    const { text, values } = claimQuery([], world.now());
    expect(looked(await planOf(text, values))).to.be.lessThan(100);
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
