/**
 * The treasury over HTTP, on a log in Postgres, with the process that books and the read models that sum. The spec
 * itself writes what the driver of moves would write.
 */

import { booksProjection } from '@coffer/accounts';
import { chainOfLog } from '@coffer/audit';
import { type Consumer, reacting, startConsumer } from '@coffer/consumers';
import {
  type Answer,
  type Client,
  type ContextWorld,
  createClient,
  startContexts,
} from '@coffer/host/testing';
import type { RunningServer } from '@coffer/http';
import { serve } from '@coffer/http/testing';
import { playSessionsProjection, transactionUseOf } from '@coffer/ledger';
import { movesProjection } from '@coffer/moves';
import { currencyBooks, startLiveReadModels } from '@coffer/read-models';
import { createReconciler, type Reconciler } from '@coffer/reconcile';
import { eventually, patiently } from '@coffer/testing';
import { WALLET_CONTEXTS, type WalletsGiven, walletsGiven } from '@coffer/wallets/testing';
import { expect } from 'chai';
import { treasuryEndpoints } from './routes.ts';
import { createTreasuryWorld, SOL, TREASURY, type TreasuryWorld } from './testing/treasuryNodes.ts';

const KEY = 'sk_test_spec';
const SETTLED_MS = 30_000;

describe('the treasury group', () => {
  let log: ContextWorld<WalletsGiven>;
  let world: TreasuryWorld;
  let server: RunningServer;
  let client: Client;
  let readModels: Consumer;
  let reconciler: Reconciler;
  let userId: string;
  const troubles: unknown[] = [];
  const noTrouble = {
    onAlarm: (alarm: unknown) => troubles.push(alarm),
    onTrouble: (one: unknown) => troubles.push(one),
  };

  before(async () => {
    log = await startContexts({ contexts: WALLET_CONTEXTS, given: walletsGiven(), roles: [] });
    const { pool, store } = log;
    world = await createTreasuryWorld({ store, booksOf: (place) => currencyBooks(pool, place) });
    const projections = {
      books: booksProjection,
      playSessions: playSessionsProjection,
      moves: movesProjection,
    };
    readModels = await startLiveReadModels({ pool, store, projections, ...noTrouble });
    reconciler = createReconciler({
      pool,
      store,
      clock: () => new Date(),
      projections,
      transactionUseOf,
      chain: chainOfLog,
      process: { name: 'holds', reactions: world.reactionsOf(1) },
    });
    server = await serve({
      endpoints: treasuryEndpoints(world.treasury),
      catalog: WALLET_CONTEXTS.facts.catalog,
      errorOf: WALLET_CONTEXTS.facts.errorOf,
      resolveKey: (token) => (token === KEY ? { kind: 'secret', keyId: 'key_1', ...world.place } : undefined),
    });
    client = createClient({ baseUrl: `${server.url}/v1`, operatorToken: KEY });
  });
  after(async () => {
    await server.stop(0);
    await reconciler.close();
    await readModels.stop();
    await log.stop();
    expect(troubles).to.deep.equal([]);
  });
  beforeEach(async () => {
    userId = await world.newPlayer();
  });

  const post = (path: string, body: Readonly<Record<string, unknown>>) =>
    client.post(`/treasury/${path}`, body);
  const transfer = (ref: string, amount = '2000000000') => ({ userId, currency: SOL.id, amount, ref });
  const balance = async () => (await post('balance', { userId, currency: SOL.id })).json;
  const reconcile = () =>
    reconciler.reconcile({
      appId: world.place.appId,
      environment: 'test',
      mode: 'incremental',
      withinMs: SETTLED_MS,
    });
  const examinedIn = ({ checks }: Awaited<ReturnType<typeof reconcile>>) =>
    Object.fromEntries(checks.map(({ name, examined }) => [name, examined]));
  /** Lets the process do what the log owes, as the service runs it, until it is done. */
  const settle = async (ref: string, status: string): Promise<Answer> => {
    const process = startConsumer({
      pool: log.pool,
      store: log.store,
      schema: 'records',
      name: 'holds',
      work: reacting(world.reactionsOf(1), { graceMs: 0 }),
      ...noTrouble,
    });
    try {
      return await eventually(`${ref} is ${status}`, async () => {
        const answer = await post('status', { ref });
        return answer.json.status === status ? answer : undefined;
      });
    } finally {
      await process.stop();
    }
  };

  it('takes a deposit once when it is requested fifty times in parallel, and answers each with the same bytes', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('deposit', transfer('d-50'))));
    for (const { status, text } of answers) {
      expect(status).to.equal(201);
      expect(text).to.equal(answers[0]?.text);
    }
    expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
    const { createdAt, moveId } = answers[0]?.json ?? {};
    expect(answers[0]?.text).to.equal(
      `{"ref":"d-50","moveId":"${moveId}","kind":"deposit","userId":"${userId}","currency":1,"amount":"2000000000",` +
        `"toAddress":"${TREASURY}","status":"pending","signature":null,"slot":null,"error":null,` +
        `"createdAt":"${createdAt}","updatedAt":"${createdAt}"}`,
    );
    expect((await world.events()).filter(({ type }) => type === 'MoveRequested')).to.have.length(1);
  });

  it('takes a deposit and a cash-out through the books, which balance at every step', async () => {
    await post('deposit', transfer('in', '3000000000'));
    await world.confirm('in');
    expect((await post('status', { ref: 'in' })).json).to.include({ status: 'submitted', slot: null });
    await settle('in', 'confirmed');
    expect((await post('status', { ref: 'in' })).json).to.include({
      status: 'confirmed',
      signature: 'signature-in',
      slot: 321,
    });

    const out = await post('withdraw', transfer('out'));
    expect(out).to.include({ status: 200, replayed: false });
    expect(out.json).to.include({ kind: 'withdraw', toAddress: world.addressOf(userId), status: 'pending' });
    await world.sign('out');
    const treasury = { address: TREASURY, onChain: '100000000000', liabilities: '3000000000' };
    const inFlight = await eventually('the signed cash-out is in flight', async () => {
      const found = await balance();
      return Object(found.treasury).inFlight === '2000000000' ? found : undefined;
    });
    expect(inFlight).to.deep.equal({
      userId,
      currency: 1,
      deposited: '3000000000',
      withdrawn: '0',
      net: '3000000000',
      available: '1000000000',
      held: '2000000000',
      treasury: { ...treasury, inFlight: '2000000000', surplus: '99000000000' },
    });

    await world.confirm('out', { isSigned: true });
    await settle('out', 'confirmed');
    await world.setLamports(TREASURY, 98_000_000_000n);
    const booked = await eventually('the cash-out has left the books', async () => {
      const found = await balance();
      return Object(found.treasury).inFlight === '0' ? found : undefined;
    });
    expect(booked).to.deep.include({
      deposited: '3000000000',
      withdrawn: '2000000000',
      net: '1000000000',
      available: '1000000000',
      held: '0',
      treasury: {
        ...treasury,
        onChain: '98000000000',
        liabilities: '1000000000',
        inFlight: '0',
        surplus: '97000000000',
      },
    });
    await world.setLamports(TREASURY, 100_000_000_000n);

    const report = await reconcile();
    expect(report.discrepancies).to.deep.equal([]);
    expect(report).to.include({ ok: true });
    expect(examinedIn(report)).to.include({ deposits: 1, cash_outs: 1 });
  });

  it('reconciles while moves are on their way into the books, and names what is wrong with them', async () => {
    await post('deposit', transfer('late'));
    await world.confirm('late');
    await post('deposit', transfer('more', '9000000000'));
    await world.confirm('more');
    const account = `account-test.${world.place.appId}.${userId}.1`;
    const between = await reconcile();
    expect(between.discrepancies).to.deep.equal([]);
    expect(between.inFlight).to.deep.equal([
      { reaction: 'creditDeposit', subject: `${account} deposit:late` },
      { reaction: 'creditDeposit', subject: `${account} deposit:more` },
    ]);
    await settle('more', 'confirmed');

    world.dieAt('cashOut.held');
    expect((await post('withdraw', transfer('dead'))).status).to.equal(500);
    const held = await reconcile();
    expect(held.discrepancies).to.deep.equal([]);
    expect(held.inFlight).to.deep.include({ reaction: 'actOnHold', subject: `${account} cashout:dead` });
    await settle('dead', 'pending');
    expect((await reconcile()).ok).to.equal(true);

    // A deposit that nobody confirmed is credited all the same.
    await post('deposit', transfer('forged'));
    const [cause] = (await world.events()).slice(-1);
    if (!cause) expect.fail('it was requested');
    const credit = { ref: 'forged', amount: 2_000_000_000n };
    await world.nodes[0].accounts.creditDeposit(world.accountOf(userId), credit, cause, patiently());
    const forged = await reconcile();
    expect(forged.ok).to.equal(false);
    expect(forged.discrepancies).to.deep.equal([
      {
        check: 'deposits',
        subject: `${account} deposit:forged`,
        expected: null,
        actual: { credited: '2000000000' },
      },
    ]);
    // Once it is confirmed after all, the books are right again.
    await world.confirm('forged');
    expect((await reconcile()).ok).to.equal(true);
  });

  it('refuses with the documented statuses, codes and details', async () => {
    const refused = async (path: string, body: Readonly<Record<string, unknown>>) => {
      const { status, json } = await post(path, body);
      return { status, code: json.code, details: json.details };
    };
    await post('deposit', transfer('taken'));
    expect(await refused('deposit', transfer('taken', '7'))).to.deep.equal({
      status: 409,
      code: 'treasury/idempotency_conflict',
      details: { key: 'taken', field: 'amount' },
    });
    expect(await refused('withdraw', transfer('none'))).to.deep.equal({
      status: 409,
      code: 'treasury/insufficient_funds',
      details: { available: '0', amount: '2000000000' },
    });
    expect(await refused('deposit', transfer('much', '18446744073709551615'))).to.deep.equal({
      status: 409,
      code: 'treasury/insufficient_wallet_funds',
      details: { available: '100000000000', amount: '18446744073709551615' },
    });
    expect(await refused('withdraw', transfer('much', '18446744073709551615'))).to.deep.include({
      code: 'treasury/insufficient_funds',
    });
    expect(await refused('deposit', { ...transfer('x'), currency: 9 })).to.deep.equal({
      status: 404,
      code: 'treasury/unknown_currency',
      details: {},
    });
    expect(await refused('status', { ref: 'nobody' })).to.deep.equal({
      status: 404,
      code: 'treasury/move_not_found',
      details: {},
    });
    world.chain.failNext('accounts');
    expect(await refused('deposit', transfer('away'))).to.deep.include({
      status: 503,
      code: 'chain/unreachable',
    });
    for (const wrong of [
      { amount: '0' },
      { amount: '01' },
      { amount: 1 },
      { amuont: '1' },
      { ref: '' },
      { ref: 'a/b' },
      { ref: 'r'.repeat(129) },
      { currency: '1' },
      { currency: 1.5 },
    ]) {
      expect(
        await refused('deposit', { ...transfer('wrong'), ...wrong }),
        JSON.stringify(wrong),
      ).to.deep.include({
        status: 400,
        code: 'request/invalid',
      });
    }
  });
});
