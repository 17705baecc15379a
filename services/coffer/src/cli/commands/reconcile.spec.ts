/** How `coffer reconcile` asks, and with which exit code it ends. Source: contract, The command line. */
import { expect } from 'chai';
import { preparedService, runInProcess } from '../../testing/commandLine.ts';

describe('coffer reconcile --chain', () => {
  const service = preparedService();

  const reports = (chain: object, verdict: object) => {
    const result = { discrepancies: [], ...verdict, chain: { ...CHAIN, ...verdict, ...chain } };
    service.answersLines([JSON.stringify({ kind: 'result', result })]);
  };
  const reconcile = async (options = '') => {
    const variables = { COFFER_URL: service.url, COFFER_OPERATOR_TOKEN: 'token' };
    const run = await runInProcess(`reconcile --app app_1 --env test --chain ${options}`, { variables });
    return { exitCode: run.exitCode, printed: run.stdout + run.stderr };
  };

  it('ends with 0 where the books and the chain agree', async () => {
    reports({}, { ok: true });
    expect(await reconcile()).to.include({ exitCode: 0 });
    expect(service.asked[0]).to.deep.include({
      url: '/v1/portal/app/app_1/test/reconcile',
      body: { full: false, chain: true },
    });
  });

  it('ends with 1 where money is missing, and prints how much and what took it', async () => {
    const warnings = [{ code: 'treasury_shortfall', subject: 'SOL', amount: '2' }];
    const taken = { check: 'chain/unknown_transfer', subject: 'the-theft', expected: null };
    reports(
      { warnings, discrepancies: [taken] },
      { ok: false, code: 'chain/integrity_failed', message: 'No.' },
    );
    const { exitCode, printed } = await reconcile();
    expect(exitCode).to.equal(1);
    expect(printed).to.include('chain/integrity_failed').and.include('the-theft');
    expect(printed).to.include('treasury_shortfall');
  });

  it('ends with 1 where no node can tell any more, and prints what that is about', async () => {
    const code = 'ledger/coverage_incomplete';
    reports({ notCovered: [{ subject: 'mov_1' }] }, { ok: false, code, message: 'Unknown.' });
    const { exitCode, printed } = await reconcile('--full');
    expect(service.asked[0]?.body).to.deep.equal({ full: true, chain: true });
    expect(exitCode).to.equal(1);
    expect(printed).to.include(code).and.include('notCovered').and.include('mov_1');
  });

  it('ends with 1 and the code of a refusal', async () => {
    service.answers({ code: 'chain/not_configured', message: 'There is none.', details: {} }, 503);
    const { exitCode, printed } = await reconcile();
    expect(exitCode).to.equal(1);
    expect(printed).to.include('chain/not_configured');
  });
});

const CHAIN = { mode: 'incremental', checkedAt: '2026-01-31T12:00:00.000Z', treasury: 'the-treasury' };
