/** How `coffer reconcile` asks, and with which exit code it ends. Source: contract, The command line. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { runProgram } from '../program.ts';

describe('coffer reconcile --chain', () => {
  let server: Server;
  let asked: readonly unknown[];
  let answer: { readonly status: number; readonly type: string; readonly body: unknown };

  before(async () => {
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      asked = [request.url, JSON.parse(body)];
      response.writeHead(answer.status, { 'content-type': answer.type });
      response.end(`${JSON.stringify(answer.body)}\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  const reports = (chain: object, verdict: object) => {
    const result = { discrepancies: [], ...verdict, chain: { ...CHAIN, ...verdict, ...chain } };
    answer = { status: 200, type: 'application/x-ndjson', body: { kind: 'result', result } };
  };

  async function reconcile(...options: readonly string[]) {
    let printed = '';
    const sink = new Writable({
      write(chunk, _encoding, done) {
        printed += chunk;
        done();
      },
    });
    // A server on a port always has an address with one.
    const { port } = server.address() as AddressInfo;
    const variables = { COFFER_URL: `http://127.0.0.1:${port}`, COFFER_OPERATOR_TOKEN: 'token' };
    const exitCode = await runProgram(
      ['reconcile', '--app', 'app_1', '--env', 'test', '--chain', ...options],
      { variables, workingFolder: '.', stdout: sink, stderr: sink },
      () => {
        throw new Error('Nobody runs the service.');
      },
    );
    return { exitCode, printed };
  }

  it('ends with 0 where the books and the chain agree', async () => {
    reports({}, { ok: true });
    expect(await reconcile()).to.include({ exitCode: 0 });
    expect(asked).to.deep.equal(['/v1/portal/app/app_1/test/reconcile', { full: false, chain: true }]);
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
    expect(asked[1]).to.deep.equal({ full: true, chain: true });
    expect(exitCode).to.equal(1);
    expect(printed).to.include(code).and.include('notCovered').and.include('mov_1');
  });

  it('ends with 1 and the code of a refusal', async () => {
    const body = { code: 'chain/not_configured', message: 'There is none.', details: {} };
    answer = { status: 503, type: 'application/json', body };
    const { exitCode, printed } = await reconcile();
    expect(exitCode).to.equal(1);
    expect(printed).to.include('chain/not_configured');
  });
});

const CHAIN = { mode: 'incremental', checkedAt: '2026-01-31T12:00:00.000Z', treasury: 'the-treasury' };
