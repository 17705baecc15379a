/**
 * Two services on one database, with callers that do not know which of them they call. Source: architecture,
 * Commands (what cached state may answer).
 */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type AppPlace,
  type Client,
  createClient,
  requireStatus,
  setUpApp,
  textOf,
} from '@coffer/host/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { expectBooksToBalance } from './testing/books.ts';
import { alternatingClient } from './testing/delegatingClient.ts';
import { OPERATOR_TOKEN, serviceProcesses } from './testing/serviceProcess.ts';
import { serviceTemplate } from './testing/world.ts';

describe('two services on one database', () => {
  const processes = serviceProcesses();
  let database: TestDatabase;
  let nodes: readonly Client[];
  /** Calls alternate between the nodes. */
  let either: AppPlace;

  before(async () => {
    database = await createTestDatabase(serviceTemplate);
    const dataFolder = await processes.newDataFolder();
    const variables = { DATABASE_URL: database.connectionString };
    const services = await Promise.all([1, 2].map(() => processes.start({ variables, dataFolder })));
    nodes = services.map(({ url }) => createClient({ baseUrl: `${url}/v1`, operatorToken: OPERATOR_TOKEN }));
    either = (await setUpApp(alternatingClient(nodes))).test;
  });
  after(() => database.drop());
  afterEach('the books balance', () => expectBooksToBalance(nodes[0] as Client));

  /** The same request to both nodes, this many times, at once. */
  const atOnce = (times: number, request: () => Promise<Answer>) =>
    Promise.all(Array.from({ length: times }, request));

  const expectSameBytes = (answers: readonly Answer[], status: number) => {
    const [first] = answers;
    for (const answer of answers) expect(answer).to.include({ status, text: first?.text });
  };
  const expectOneEffect = (answers: readonly Answer[]) => {
    expectSameBytes(answers, 200);
    expect(
      answers.filter(({ replayed }) => !replayed),
      'one of them acts',
    ).to.have.length(1);
  };
  /** For an open the nodes write the very same event, so each of them may claim to have written it. */
  const expectOneOpening = (answers: readonly Answer[]) => {
    expectSameBytes(answers, 201);
    expect(answers.some(({ replayed }) => !replayed)).to.equal(true);
  };

  it('never refuse what the other has just made possible, and never show a balance of before', async () => {
    const { sessionId } = await either.newSession('10');
    let balance = 10;
    for (let round = 0; round < 30; round++) {
      // All available funds, which the other node has only just learnt of.
      const bet = requireStatus(await either.bet({ sessionId, amount: `${balance}` }), 200);
      expect((await either.balance(sessionId)).json).to.include({ balance: '0' });
      const betTransactionUuid = textOf(bet, 'transactionUuid');
      balance = round % 3 === 0 ? balance : balance + 1;
      const paidBack =
        round % 3 === 0
          ? either.rollback({ sessionId, betTransactionUuid })
          : either.win({ sessionId, betTransactionUuid, amount: `${balance}` });
      requireStatus(await paidBack, 200);
      expect((await either.balance(sessionId)).json).to.include({ balance: `${balance}` });
      expect((await either.bet({ sessionId, amount: `${balance + 1}` })).json).to.deep.include({
        code: 'ledger/insufficient_balance',
        details: { balance: `${balance}`, amount: `${balance + 1}` },
      });
    }
  });

  it('see each other’s credits, holds and settlements at once', async () => {
    const userId = await either.newUser();
    const expectFunds = async (available: string, held: string) => {
      for (const _ of nodes) expect(await either.funds(userId)).to.deep.equal({ available, held });
    };
    await either.credit(userId, '100');
    await expectFunds('100', '0');
    const opened = requireStatus(await either.openSession({ userId, lockAmount: '70' }), 201);
    await expectFunds('30', '70');
    const refused = await either.openSession({ userId, lockAmount: '31' });
    expect(refused.json).to.deep.include({ details: { available: '30', amount: '31' } });
    requireStatus(await either.settle({ sessionId: textOf(opened, 'sessionId') }), 200);
    await expectFunds('100', '0');
    requireStatus(await either.openSession({ userId, lockAmount: '100' }), 201);
    await expectFunds('0', '100');
  });

  it('do once what both are asked for at once, and answer both with the same bytes', async () => {
    const userId = await either.newPlayer('100');
    const transactionUuid = randomUUID();
    const opened = await atOnce(6, () => either.openSession({ userId, lockAmount: '100', transactionUuid }));
    expectOneOpening(opened);
    const sessionId = textOf(opened[0] as Answer, 'sessionId');

    const bet = { sessionId, amount: '60', transactionUuid: randomUUID() };
    const bets = await atOnce(6, () => either.bet(bet));
    expectOneEffect(bets);
    expect(bets[0]?.json).to.include({ balance: '40' });

    const rollback = { sessionId, betTransactionUuid: bet.transactionUuid, transactionUuid: randomUUID() };
    expectOneEffect(await atOnce(6, () => either.rollback(rollback)));
    expect((await either.balance(sessionId)).json).to.include({ balance: '100' });

    const lost = { sessionId, amount: '25', transactionUuid: randomUUID() };
    requireStatus(await either.bet(lost), 200);
    expectOneEffect(await atOnce(6, () => either.settle({ sessionId, transactionUuid: randomUUID() })));
    expect(await either.funds(userId)).to.deep.equal({ available: '75', held: '0' });

    const late = { sessionId, betTransactionUuid: lost.transactionUuid, transactionUuid: randomUUID() };
    expectOneEffect(await atOnce(6, () => either.rollback(late)));
    expect(await either.funds(userId)).to.deep.equal({ available: '100', held: '0' });
  });

  it('spend the funds of one account and one session once, however many ask', async () => {
    const userId = await either.newPlayer('100');
    const opens = await atOnce(12, () => either.openSession({ userId, lockAmount: '30' }));
    expect(opens.map(({ status }) => status).sort()).to.deep.equal([201, 201, 201, ...Array(9).fill(409)]);
    for (const { status, json } of opens) {
      if (status === 409) expect(json).to.include({ code: 'ledger/insufficient_funds' });
    }
    expect(await either.funds(userId)).to.deep.equal({ available: '10', held: '90' });

    const { sessionId } = await either.newSession('100');
    const bets = await atOnce(24, () => either.bet({ sessionId, amount: '9' }));
    const accepted = bets.filter(({ status }) => status === 200);
    expect(
      accepted.map(({ json }) => Number(json.balance)).sort((left, right) => right - left),
    ).to.deep.equal(Array.from({ length: 11 }, (_, index) => 91 - 9 * index));
    expect((await either.balance(sessionId)).json).to.include({ balance: '1' });
  });

  it('give the session to one of two players who ask under one uuid, and the other his funds', async () => {
    for (let round = 0; round < 8; round++) {
      const players = await Promise.all([either.newPlayer('50'), either.newPlayer('50')]);
      const transactionUuid = randomUUID();
      const open = (userId: string) => either.openSession({ userId, lockAmount: '50', transactionUuid });
      const answers = await Promise.all(players.map(open));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409]);
      const loserIndex = answers.findIndex(({ status }) => status === 409);
      expect(answers[loserIndex]?.json).to.deep.include({
        code: 'ledger/transaction_conflict',
        details: { transactionUuid, field: 'userId' },
      });

      const [winner = '', loser = ''] = loserIndex === 1 ? players : [...players].reverse();
      expect(await either.funds(loser)).to.deep.equal({ available: '50', held: '0' });
      expect(await either.funds(winner)).to.deep.equal({ available: '0', held: '50' });
      // The loser's next attempt uses nothing left over from the first.
      expect((await open(loser)).json).to.include({ code: 'ledger/transaction_conflict' });
      expect(await open(winner)).to.include({ status: 201, replayed: true });
      requireStatus(await either.openSession({ userId: loser, lockAmount: '50' }), 201);
    }
  });

  it('leave nothing of a refused open behind: the same uuid succeeds once there are funds', async () => {
    const userId = await either.newPlayer('10');
    const request = { userId, lockAmount: '11', transactionUuid: randomUUID() };
    for (const _ of nodes) {
      expect((await either.openSession(request)).json).to.deep.include({
        code: 'ledger/insufficient_funds',
        details: { available: '10', amount: '11' },
      });
    }
    await either.credit(userId, '1');
    expectOneOpening(await atOnce(4, () => either.openSession(request)));
    expect(await either.funds(userId)).to.deep.equal({ available: '0', held: '11' });
  });

  it('refuse a bet that the other has rolled back meanwhile, though they have accepted it themselves', async () => {
    const { sessionId } = await either.newSession('10');
    const [one, two] = nodes as readonly [Client, Client];
    const at = (node: Client, path: string, body: object) =>
      node.post(path, { sessionId, ...body }, { key: either.secretKey });
    const bet = { transactionUuid: randomUUID(), amount: '4' };
    requireStatus(await at(one, '/ledger/bet', bet), 200);
    const rollback = { transactionUuid: randomUUID(), betTransactionUuid: bet.transactionUuid };
    requireStatus(await at(two, '/ledger/rollback', rollback), 200);
    expect((await at(one, '/ledger/bet', bet)).json).to.deep.include({
      code: 'ledger/bet_rolled_back',
      details: { balance: '10' },
    });
  });
});
