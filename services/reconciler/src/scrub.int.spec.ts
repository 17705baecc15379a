/** Changes to the log or the books are found in the background, without anybody asking. */
import { defineContext } from '@coffer/host';
import {
  type ContextWorld,
  requireStatus,
  setUpApp,
  startContexts,
  type TestApp,
} from '@coffer/host/testing';
import type { PortalGiven } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { RECONCILED_CONTEXTS } from '@coffer/reconcile/testing';
import { eventually, itLogTable } from '@coffer/testing';
import { expect } from 'chai';
import { reconcilerContext } from './context.ts';

const schedules = defineContext({
  name: 'schedules',
  create: () => ({ provides: { reconcileSchedule: '0 3 * * *', fullReconcileSchedule: undefined } }),
});
const CONTEXTS = RECONCILED_CONTEXTS.with(schedules).with(reconcilerContext);

describe('the scrub', () => {
  let world: ContextWorld<PortalGiven>;
  let app: TestApp;
  let credit: { readonly stream: string; readonly id: string };

  before(async () => {
    world = await startContexts({ contexts: CONTEXTS, given: PORTAL_GIVEN });
    app = await setUpApp(world.client);
    const userId = await app.test.newPlayer('100');
    const stream = `account-test.${app.appId}.${userId}.2`;
    const [event] = await world.client.lines(`/portal/streams/${stream}`);
    credit = { stream, id: String(event?.id) };
    requireStatus(await app.test.openSession({ userId, lockAmount: '60' }), 201);
  });
  after(() => world.stop());

  const metric = async (name: string): Promise<number | undefined> => {
    const text = await (await fetch(`${world.url}/metrics`)).text();
    const [, figure] = new RegExp(`^coffer_scrub_${name} (\\S+)$`, 'm').exec(text) ?? [];
    return figure === undefined ? undefined : Number(figure);
  };
  const lines = (part: string) =>
    world.logLines.filter((line) => line.includes(part)).map((line) => JSON.parse(line));
  const FOUND = 'the scrub has found a fault';
  const MENDED = 'finds no fault any more';
  /** A pass that began after now. */
  const wholePass = async () => {
    const nowSeconds = Date.now() / 1000;
    const { rows } = await eventually('a whole pass', async () => {
      const found = await world.pool.query(
        `select state::jsonb -> 'lastPass' as pass from records.scrub
          where (extract(epoch from (state::jsonb #>> '{lastPass,endedAt}')::timestamptz)
                 - (state::jsonb #>> '{lastPass,seconds}')::float8) > $1`,
        [nowSeconds],
      );
      return found.rowCount === 1 ? found : undefined;
    });
    return rows[0]?.pass;
  };

  it('checks everything again and again, and finds nothing if nothing is wrong', async () => {
    const nowSeconds = Date.now() / 1000;
    expect(await wholePass()).to.include({ findings: 0 });
    expect(await metric('faults')).to.equal(0);
    expect(await metric('last_pass_seconds')).to.be.greaterThan(nowSeconds);
    expect(lines(FOUND)).to.deep.equal([]);
  });

  itLogTable(
    'an event is altered by SQL',
    'reports an altered event once, and shows it until it is repaired',
    async () => {
      const alter = (from: string, to: string) =>
        world.pool.query('update log.events set data = replace(data, $2, $3) where id = $1', [
          credit.id,
          from,
          to,
        ]);
      await alter('"adjustment"', '"adjustmenT"');
      const [line] = await eventually('the fault is found', () => {
        const found = lines(FOUND);
        return found.length > 0 ? found : undefined;
      });
      expect(line).to.deep.include({ level: 'error', part: 'log', subject: `${credit.stream} 0` });
      expect(line.details).to.include({ id: credit.id });
      expect((await wholePass()).findings).to.be.greaterThan(0);
      expect(await metric('faults')).to.be.greaterThan(0);
      expect(lines(FOUND)).to.have.length(1);

      await alter('"adjustmenT"', '"adjustment"');
      await eventually('it is mended', () => (lines(MENDED).length > 0 ? true : undefined));
      await eventually('it is not shown any more', async () =>
        (await metric('faults')) === 0 ? true : undefined,
      );
      expect(lines(FOUND)).to.have.length(1);
    },
  );

  it('finds a row of the books that is not what the log says', async () => {
    const { rows } = await world.pool.query<{ readonly schema: string }>(
      `select 'read_v' || version as schema from records.read_pointer order by shape desc limit 1`,
    );
    const change = (by: number) =>
      world.pool.query(`update ${rows[0]?.schema}.accounts set available = available + $1`, [by]);
    await change(1);
    const line = await eventually('the row is found', () => lines(FOUND)[1]);
    expect(line).to.include({ part: 'books', check: 'accounts_rows', subject: credit.stream });
    await change(-1);
    await eventually('it is mended', () => lines(MENDED)[1]);
  });
});
