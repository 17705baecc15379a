import { createLogger, createMetricsRegistry } from '@coffer/http';
import { type BooksPlace, type ChainReport, CoverageIncompleteError, type Report } from '@coffer/reconcile';
import { ChainUnreachableError } from '@coffer/solana';
import { expect } from 'chai';
import { startReconcilerRole } from './reconcilerRole.ts';
import { isCronExpression } from './schedule.ts';

const ARCADE = { appId: 'app_1', environment: 'test' } as const;
const CASINO = { appId: 'app_2', environment: 'live' } as const;

describe('the role that reconciles', () => {
  it('reconciles every place, and derives the log again once for all of them', async () => {
    const role = start({});
    await role.runOnce('full');
    await role.runOnce('incremental');
    expect(role.asked).to.deep.equal([
      'app_1 full',
      'app_2 incremental',
      'app_1 incremental',
      'app_2 incremental',
    ]);
    await role.stop();
  });

  it('shows the result as metrics, and logs each discrepancy as an error', async () => {
    const discrepancy = {
      check: 'accounts_rows',
      subject: 'account-1',
      expected: { held: '1' },
      actual: null,
    };
    const role = start({ app_2: { ok: false, discrepancies: [discrepancy] } });
    await role.runOnce('incremental');
    const metrics = await role.metrics();
    expect(metrics).to.include('coffer_reconcile_ok{app="app_1",environment="test"} 1');
    expect(metrics).to.include('coffer_reconcile_ok{app="app_2",environment="live"} 0');
    expect(metrics).to.include('coffer_reconcile_discrepancies{app="app_2",environment="live"} 1');
    expect(metrics).to.include(
      'coffer_reconcile_last_run_seconds{app="app_2",environment="live"} 1767225600',
    );
    const errors = role.logged('error');
    expect(errors[0]).to.deep.include({ ...CASINO, position: '7', ...discrepancy });
    expect(errors[1]).to.include({ discrepancies: 1 });
    await role.stop();
  });

  it('lets a run that could not cover everything change nothing but its own counter', async () => {
    const role = start({ app_1: new CoverageIncompleteError('read_models_behind', 'They are behind.') });
    await role.runOnce('incremental');
    const metrics = await role.metrics();
    expect(metrics).not.to.include('coffer_reconcile_ok{app="app_1"');
    expect(metrics).to.include(
      'coffer_reconcile_incomplete_total{app="app_1",environment="test",reason="read_models_behind"} 1',
    );
    expect(metrics).to.include('coffer_reconcile_ok{app="app_2",environment="live"} 1');
    expect(role.logged('warn')[0]).to.include({ reason: 'read_models_behind' });
    await role.stop();
  });

  describe('with a chain,', () => {
    const SHORT = {
      currencyId: 1,
      code: 'SOL',
      mint: 'native',
      onChain: 5n,
      liabilities: 9n,
      inFlight: 1n,
      surplus: -3n,
      shortfall: 3n,
    };

    it('compares the books with it after the books alone, in the same mode', async () => {
      const role = start({}, undefined, {});
      await role.runOnce('full');
      expect(role.asked).to.deep.equal(['app_1 full', 'app_1 full on the chain', 'app_2 incremental']);
      await role.stop();
    });

    it('shows what the treasury has and owes, and warns of what is missing', async () => {
      const role = start({}, undefined, { ok: false, currencies: [SHORT] });
      await role.runOnce('incremental');
      const metrics = await role.metrics();
      const of = 'app="app_1",environment="test",currency="SOL"';
      expect(metrics).to.include(`coffer_treasury_on_chain{${of}} 5`);
      expect(metrics).to.include(`coffer_treasury_liabilities{${of}} 9`);
      expect(metrics).to.include(`coffer_treasury_in_flight{${of}} 1`);
      expect(metrics).to.include(`coffer_treasury_surplus{${of}} -3`);
      expect(metrics).to.include(`coffer_treasury_shortfall{${of}} 3`);
      expect(metrics).to.include('coffer_reconcile_chain_ok{app="app_1",environment="test"} 0');
      expect(metrics).to.include(
        'coffer_reconcile_chain_last_run_seconds{app="app_1",environment="test"} 1767225600',
      );
      expect(role.logged('warn')).to.have.length(1);
      expect(role.logged('warn')[0]).to.include({ ...ARCADE, currency: 'SOL', shortfall: '3', onChain: '5' });
      expect(role.logged('warn')[0])
        .to.have.property('msg')
        .that.matches(/holds 3 less SOL than is owed: docs\/operating\/shortfall\.md$/);
      expect(role.logged('error')).to.deep.equal([]);
      await role.stop();
    });

    it('logs each discrepancy as an error', async () => {
      const discrepancy = {
        check: 'chain/unknown_transfer',
        subject: 'signature',
        expected: null,
        actual: { mint: 'native', change: '-3' },
      };
      const role = start({}, undefined, { ok: false, discrepancies: [discrepancy] });
      await role.runOnce('incremental');
      expect(role.logged('error')).to.have.length(1);
      expect(role.logged('error')[0]).to.deep.include({ ...ARCADE, ...discrepancy });
      expect(await role.metrics()).to.include(
        'coffer_reconcile_chain_discrepancies{app="app_1",environment="test"} 1',
      );
      await role.stop();
    });

    it('says that it does not answer, which changes nothing else', async () => {
      const role = start({}, undefined, new ChainUnreachableError('No node answers.'));
      await role.runOnce('incremental');
      const metrics = await role.metrics();
      expect(metrics).to.include(
        'coffer_reconcile_chain_incomplete_total{app="app_1",environment="test",reason="chain_unreachable"} 1',
      );
      expect(metrics).not.to.include('coffer_reconcile_chain_ok{');
      expect(metrics).to.include('coffer_reconcile_ok{app="app_2",environment="live"} 1');
      expect(role.logged('warn')[0]).to.include({ reason: 'chain_unreachable' });
      expect(role.logged('error')).to.deep.equal([]);
      await role.stop();
    });
  });

  it('knows a cron expression', () => {
    expect(['*/15 * * * *', '0 4 * * *', '* * * * * *'].filter(isCronExpression)).to.have.length(3);
    expect(['', 'often', '61 * * * *', '* * *'].filter(isCronExpression)).to.deep.equal([]);
  });

  it('runs when the schedule says so', async () => {
    const role = start({}, '* * * * * *');
    await role.firstAsked;
    await role.stop();
    expect(role.asked[0]).to.equal('app_1 incremental');
  });
});

type Outcomes = Readonly<Record<string, Partial<Report> | Error>>;

/** Reconcilers with the given reports, by app; without one they find nothing. `test` may have a chain. */
function start(outcomes: Outcomes, schedule = '0 0 1 1 *', onChain?: Partial<ChainReport> | Error) {
  const lines: Record<string, unknown>[] = [];
  const asked: string[] = [];
  const first = Promise.withResolvers<void>();
  const registry = createMetricsRegistry();
  const role = startReconcilerRole({
    reconciler: {
      async reconcile({ appId, environment, mode }) {
        asked.push(`${appId} ${mode}`);
        first.resolve();
        const outcome = outcomes[appId] ?? {};
        if (outcome instanceof Error) throw outcome;
        return { ...reportOf({ appId, environment }), ...outcome };
      },
    },
    chainReconciler: {
      async reconcile({ appId, environment, mode }) {
        asked.push(`${appId} ${mode} on the chain`);
        if (onChain instanceof Error) throw onChain;
        return { ...chainReportOf({ appId, environment }), ...onChain };
      },
    },
    hasChain: (environment) => onChain !== undefined && environment === 'test',
    places: async () => [ARCADE, CASINO],
    schedule,
    fullSchedule: undefined,
    clock: () => new Date('2026-01-01T00:00:00Z'),
    registry,
    logger: createLogger({ level: 'warn', destination: { write: (line) => lines.push(JSON.parse(line)) } }),
  });
  return {
    ...role,
    asked,
    firstAsked: first.promise,
    metrics: () => registry.metrics(),
    logged: (level: string) => lines.filter((line) => line.level === level),
  };
}

const reportOf = (place: BooksPlace): Report => ({
  ...place,
  ok: true,
  position: '7',
  checkedAt: '2026-01-01T00:00:00.000Z',
  mode: 'incremental',
  verifiedFrom: '5',
  checks: [],
  inFlight: [],
  warnings: [],
  totals: [],
  discrepancies: [],
});

const chainReportOf = (place: BooksPlace): ChainReport => ({
  ...place,
  ok: true,
  checkedAt: '2026-01-01T00:00:00.000Z',
  mode: 'incremental',
  treasury: 'treasury',
  currencies: [],
  checks: [],
  unattributed: [],
  unreadable: [],
  notCovered: [],
  discrepancies: [],
});
