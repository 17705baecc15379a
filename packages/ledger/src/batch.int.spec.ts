/** Many writes of one session in one request. Source: contract, Ledger, POST /ledger/batch. */
import type { AppendRequest } from '@coffer/event-store';
import { type Answer, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { useLedger } from './testing/useLedger.ts';

interface Result {
  readonly status: number;
  readonly body: Fields;
}

describe('A batch', () => {
  const appends: AppendRequest[] = [];
  const ledger = useLedger({
    wrapStore: (store) => ({
      ...store,
      append: (request) => {
        appends.push(request);
        return store.append(request);
      },
    }),
  });

  const send = async (sessionId: string, operations: readonly Fields[]): Promise<readonly Result[]> =>
    resultsOf(requireStatus(await ledger.test.batch(sessionId, operations), 200));

  const streamOf = (sessionId: string) =>
    ledger.client.lines(`/portal/streams/playSession-test.${ledger.app.appId}.${sessionId}`);

  const bet = (transactionUuid: string, amount: string) => ({ op: 'bet', transactionUuid, amount });
  const win = (transactionUuid: string, betTransactionUuid: string, amount: string) => ({
    op: 'win',
    transactionUuid,
    betTransactionUuid,
    amount,
  });
  const rollback = (transactionUuid: string, betTransactionUuid: string) => ({
    op: 'rollback',
    transactionUuid,
    betTransactionUuid,
  });

  const MIXED: readonly Fields[] = [
    { ...bet('bet-1', '30'), roundId: 'round-1' },
    win('win-1', 'bet-1', '10'),
    bet('bet-2', '90'),
    bet('bet-2', '80'),
    bet('bet-1', '31'),
    win('win-2', 'bet-9', '1'),
    rollback('back-2', 'bet-2'),
    bet('bet-2', '80'),
    rollback('back-3', 'bet-2'),
    rollback('back-1', 'bet-1'),
    rollback('back-9', 'bet-9'),
    bet('bet-9', '1'),
    rollback('back-w', 'win-1'),
    win('win-1', 'bet-1', '10'),
    { ...bet('bet-1', '30'), roundId: 'round-1' },
    bet('bet-3', '80'),
  ];

  it('answers each operation as the single call would', async () => {
    const { test } = ledger;
    const [batched, single] = [await test.newSession('100'), await test.newSession('100')];
    const results = await send(batched.sessionId, MIXED);

    const alone: Result[] = [];
    for (const { op, ...fields } of MIXED) {
      const call = test[op as 'bet' | 'win' | 'rollback'];
      const { status, text } = await call({ ...fields, sessionId: single.sessionId });
      alone.push({ status, body: JSON.parse(text.replaceAll(single.sessionId, batched.sessionId)) });
    }
    expect(results).to.deep.equal(alone);
    expect(results.map(({ body }) => body.code ?? body.status)).to.deep.equal([
      'accepted',
      'accepted',
      'ledger/insufficient_balance',
      'accepted',
      'ledger/transaction_conflict',
      'ledger/bet_not_found',
      'rolled_back',
      'ledger/bet_rolled_back',
      'already_rolled_back',
      'ledger/bet_already_won',
      'remembered',
      'ledger/bet_rolled_back',
      'ledger/not_a_bet',
      'accepted',
      'accepted',
      'accepted',
    ]);
  });

  it('is one append: its events are next to each other, in order, and refusals leave no gap', async () => {
    const { test, news } = ledger;
    const { sessionId } = await test.newSession('100');
    await news();
    appends.length = 0;
    await send(sessionId, MIXED);
    expect(appends.map(({ events }) => events.length)).to.deep.equal([6]);
    expect(await news()).to.deep.equal(
      ['BetPlaced', 'WinCredited', 'BetPlaced', 'BetRolledBack', 'RollbackRemembered', 'BetPlaced'].map(
        (type) => `playSession ${type}`,
      ),
    );
    const events = (await streamOf(sessionId)).slice(1);
    expect(events.map(({ revision }) => revision)).to.deep.equal([1, 2, 3, 4, 5, 6]);
    const log = await ledger.client.lines('/portal/log');
    const from = log.findIndex(({ id }) => id === events[0]?.id);
    expect(log.slice(from, from + events.length).map(({ id }) => id)).to.deep.equal(
      events.map(({ id }) => id),
    );
  });

  it('sent again gets the same answers where it replays, and writes nothing', async () => {
    const { test, news } = ledger;
    const { sessionId } = await test.newSession('100');
    const operations = [bet('bet-1', '30'), win('win-1', 'bet-1', '10'), rollback('back-9', 'bet-9')];
    const first = requireStatus(await test.batch(sessionId, operations), 200);
    await news();
    expect((await test.batch(sessionId, operations)).text).to.equal(first.text);
    expect(await news()).to.deep.equal([]);
  });

  it('replays a duplicate within itself', async () => {
    const { test, news } = ledger;
    const { sessionId } = await test.newSession('100');
    await news();
    const [first, second, third] = await send(sessionId, [
      bet('bet-1', '30'),
      bet('bet-2', '10'),
      bet('bet-1', '30'),
    ]);
    expect(third).to.deep.equal(first);
    expect(second?.body.balance).to.equal('60');
    expect(await news()).to.deep.equal(['playSession BetPlaced', 'playSession BetPlaced']);
  });

  it('sent in parallel has one effect', async () => {
    const { test } = ledger;
    const { sessionId } = await test.newSession('100');
    const operations = Array.from({ length: 10 }, (_, index) => bet(`bet-${index}`, '10'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => test.batch(sessionId, operations)));
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    expect((await test.balance(sessionId)).json.balance).to.equal('0');
    expect((await streamOf(sessionId)).length).to.equal(11);
  });

  it('rolls back late bets of a settled session, each credited once', async () => {
    const { test } = ledger;
    const { sessionId, userId } = await test.newSession('100');
    await send(sessionId, [bet('bet-1', '30'), bet('bet-2', '20'), bet('bet-3', '50')]);
    await test.settle({ sessionId });
    const late = [rollback('back-1', 'bet-1'), rollback('back-2', 'bet-2'), bet('bet-4', '1')];
    for (let repeat = 0; repeat < 2; repeat++) {
      const results = await send(sessionId, late);
      expect(results.map(({ status }) => status)).to.deep.equal([200, 200, 409]);
      expect(await test.funds(userId)).to.deep.equal({ available: '50', held: '0' });
    }
  });

  it('takes 1,000 operations, even the longest possible', async () => {
    const { test } = ledger;
    const { sessionId } = await test.newSession('0');
    const long = (kind: string, index: number) => `${kind}-${index}-`.padEnd(64, 'x');
    const betTransactionUuid = long('bet', 0);
    const most = String(2n ** 64n - 1n);
    const wins = Array.from({ length: 999 }, (_, index) => ({
      ...win(long('win', index), betTransactionUuid, most),
      roundId: long('round', index),
    }));
    const operations = [bet(betTransactionUuid, '0'), ...wins];
    const headers = { 'x-request-id': 'r'.repeat(128) };
    const answer = await test.post('/ledger/batch', { sessionId, operations }, { headers });
    const results = resultsOf(requireStatus(answer, 200));
    expect(results.length).to.equal(1_000);
    expect(results.every(({ status }) => status === 200)).to.equal(true);
    expect(results.at(-1)?.body.balance).to.equal(String(999n * (2n ** 64n - 1n)));
  });

  it('of 1,001, of none, or with one malformed operation is refused as a whole', async () => {
    const { test, refused } = ledger;
    const session = await test.newSession('100');
    const { sessionId } = session;
    const good = bet('bet-1', '1');
    const bad: readonly (readonly Fields[])[] = [
      Array.from({ length: 1_001 }, (_, index) => bet(`bet-${index}`, '0')),
      [],
      [good, { ...good, amount: '01' }],
      [good, { ...good, op: 'settle' }],
      [good, { ...good, sessionId }],
      [good, { ...good, betTransactionUuid: 'bet-0' }],
      [good, win('same', 'same', '1')],
      [good, rollback('same', 'same')],
      [good, { transactionUuid: 'no-op', amount: '1' }],
    ];
    for (const operations of bad) {
      await refused(session, () => test.batch(sessionId, operations), '400 request/invalid');
    }
    const issues = (await test.batch(sessionId, [good, { ...good, amount: '01' }])).json.details;
    expect(issues).to.have.nested.property('issues[0].path', 'operations[1].amount');
  });

  it('for an absent session is one 404', async () => {
    const answer = await ledger.test.batch('ses_01h455vb4pex5vsknk084sn02q', [bet('bet-1', '1')]);
    expect(verdict(answer)).to.equal('404 ledger/session_not_found');
  });
});

function resultsOf({ json }: Answer): readonly Result[] {
  expect(json).to.have.all.keys('results');
  return json.results as readonly Result[];
}
