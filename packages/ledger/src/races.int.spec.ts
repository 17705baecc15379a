/**
 * The same key in many requests at once, and with other content. Source: contract, Ledger (two identical
 * requests in parallel) and Common rules (same key, other content).
 */

import { type Answer, type AppPlace, type Fields, requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

const PARALLEL = 50;
const CONFLICT = '409 ledger/transaction_conflict';

describe('The ledger, given the same request many times at once', () => {
  const ledger = useLedger();

  const inParallel = (call: () => Promise<Answer>) =>
    Promise.all(Array.from({ length: PARALLEL }, () => call()));

  /** One request acts and the others repeat its very answer; the log gains the events of one. */
  async function expectOneEffect(call: () => Promise<Answer>, events: readonly string[]): Promise<void> {
    await ledger.news();
    const answers = await inParallel(call);
    const [first] = answers.filter(({ replayed }) => !replayed);
    expect(first?.status, first?.text).to.be.within(200, 201);
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    expect(new Set(answers.map(({ status }) => status)).size).to.equal(1);
    expect(answers.filter(({ replayed }) => replayed).length).to.equal(PARALLEL - 1);
    expect(await ledger.news()).to.deep.equal(events);
  }

  it('opens one session', async () => {
    const { test } = ledger;
    const userId = await test.newPlayer('100');
    const open = { userId, lockAmount: '60', transactionUuid: 'open-in-parallel' };
    await expectOneEffect(() => test.openSession(open), ['account FundsHeld', 'playSession SessionOpened']);
    expect(await test.funds(userId)).to.deep.equal({ available: '40', held: '60' });
  });

  it('places one bet, credits one win, rolls back once, settles once', async () => {
    const { test } = ledger;
    const { sessionId, userId } = await test.newSession('100');
    const bet = { sessionId, transactionUuid: 'bet-1', amount: '10' };
    await expectOneEffect(() => test.bet(bet), ['playSession BetPlaced']);
    const win = { sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '25' };
    await expectOneEffect(() => test.win(win), ['playSession WinCredited']);

    await test.bet({ sessionId, transactionUuid: 'bet-2', amount: '40' });
    const back = { sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-2' };
    await expectOneEffect(() => test.rollback(back), ['playSession BetRolledBack']);
    const early = { sessionId, transactionUuid: 'back-3', betTransactionUuid: 'bet-3' };
    await expectOneEffect(() => test.rollback(early), ['playSession RollbackRemembered']);

    await test.bet({ sessionId, transactionUuid: 'bet-4', amount: '5' });
    const settle = { sessionId, transactionUuid: 'settle-1' };
    const settled = ['playSession SessionSettled', 'account HoldClosed'];
    await expectOneEffect(() => test.settle(settle), settled);
    expect(await test.funds(userId)).to.deep.equal({ available: '110', held: '0' });

    const late = { sessionId, transactionUuid: 'back-4', betTransactionUuid: 'bet-4' };
    const credited = ['playSession BetRolledBack', 'account AccountCredited'];
    await expectOneEffect(() => test.rollback(late), credited);
    expect(await test.funds(userId)).to.deep.equal({ available: '115', held: '0' });
  });

  it('gives a stake back once to rollbacks under many uuids', async () => {
    const { test, news } = ledger;
    const { sessionId } = await test.newSession('100');
    await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
    await news();
    const answers = await inParallel(() => test.rollback({ sessionId, betTransactionUuid: 'bet-1' }));
    const statuses = answers.map(({ json }) => json.status);
    expect(statuses.filter((status) => status === 'rolled_back').length).to.equal(1);
    expect(statuses.filter((status) => status === 'already_rolled_back').length).to.equal(PARALLEL - 1);
    expect(await news()).to.deep.equal(['playSession BetRolledBack']);
    expect((await test.balance(sessionId)).json.balance).to.equal('100');
  });

  it('never lets bets exceed the balance', async () => {
    const { test } = ledger;
    const { sessionId } = await test.newSession('100');
    const answers = await inParallel(() => test.bet({ sessionId, amount: '7' }));
    const verdicts = answers.map(verdict);
    expect(verdicts.filter((text) => text === '200').length).to.equal(14);
    expect(verdicts.filter((text) => text === '409 ledger/insufficient_balance').length).to.equal(36);
    expect((await test.balance(sessionId)).json.balance).to.equal('2');
  });

  it('never lets locks exceed the available funds', async () => {
    const { test } = ledger;
    const userId = await test.newPlayer('100');
    const answers = await inParallel(() => test.openSession({ userId, lockAmount: '7' }));
    const verdicts = answers.map(verdict);
    expect(verdicts.filter((text) => text === '201').length).to.equal(14);
    expect(verdicts.filter((text) => text === '409 ledger/insufficient_funds').length).to.equal(36);
    expect(await test.funds(userId)).to.deep.equal({ available: '2', held: '98' });
  });

  it('settles exactly the bets that it accepted', async () => {
    const { test } = ledger;
    const { sessionId, userId } = await test.newSession('100');
    const bets = Array.from({ length: PARALLEL }, () => () => test.bet({ sessionId, amount: '1' }));
    bets.splice(PARALLEL / 2, 0, () => test.settle({ sessionId }));
    const answers = await Promise.all(bets.map((send) => send()));
    const verdicts = answers.map(verdict);
    expect(verdicts.every((text) => text === '200' || text === '409 ledger/session_settled')).to.equal(true);
    const accepted = answers.filter(({ json }) => json.status === 'accepted').length;
    expect(await test.funds(userId)).to.deep.equal({ available: String(100 - accepted), held: '0' });
  });
});

describe('The ledger, given other content under the same key', () => {
  const ledger = useLedger();

  interface Write {
    readonly name: 'openSession' | 'bet' | 'win' | 'rollback';
    readonly prepare: (test: AppPlace) => Promise<{ session: PlayedSession; fields: Fields }>;
    /** The field that the conflict names, and what is sent instead. The first row that differs is named. */
    readonly changes: readonly (readonly [field: string, change: Fields | (() => Promise<Fields>)])[];
  }

  /** A session with the bets "bet-1" and "bet-2" of 10 each, which the key under test does not refer to. */
  async function playedSession(test: AppPlace): Promise<PlayedSession> {
    const session = await test.newSession('100');
    for (const transactionUuid of ['bet-1', 'bet-2']) {
      requireStatus(await test.bet({ ...session, userId: undefined, transactionUuid, amount: '10' }), 200);
    }
    return session;
  }

  const writes: readonly Write[] = [
    {
      name: 'openSession',
      prepare: async (test) => {
        const userId = await test.newPlayer('500');
        await test.credit(userId, '500', undefined, 'SOL');
        const other = requireStatus(await test.openSession({ userId, lockAmount: '0' }), 201);
        const session = { userId, sessionId: String(other.json.sessionId) };
        return { session, fields: { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: '50' } };
      },
      changes: [
        ['userId', async () => ({ userId: await ledger.test.newPlayer('500') })],
        ['gameCode', { gameCode: 'slots' }],
        ['currency', { currency: 'SOL' }],
        ['lockAmount', { lockAmount: '51' }],
      ],
    },
    {
      name: 'bet',
      prepare: async (test) => {
        const session = await playedSession(test);
        return { session, fields: { sessionId: session.sessionId, amount: '5', roundId: 'round-1' } };
      },
      changes: [
        ['amount', { amount: '6' }],
        ['roundId', { roundId: 'round-2' }],
        ['roundId', { roundId: undefined }],
      ],
    },
    {
      name: 'win',
      prepare: async (test) => {
        const session = await playedSession(test);
        const { sessionId } = session;
        return { session, fields: { sessionId, betTransactionUuid: 'bet-1', amount: '5' } };
      },
      changes: [
        ['betTransactionUuid', { betTransactionUuid: 'bet-2' }],
        ['amount', { amount: '6' }],
        ['roundId', { roundId: 'round-1' }],
      ],
    },
    {
      name: 'rollback',
      prepare: async (test) => {
        const session = await playedSession(test);
        return { session, fields: { sessionId: session.sessionId, betTransactionUuid: 'bet-1' } };
      },
      changes: [['betTransactionUuid', { betTransactionUuid: 'bet-2' }]],
    },
  ];

  const wordsOf = (change: Fields | (() => Promise<Fields>)) =>
    typeof change === 'function' ? 'a new one' : String(Object.values(change)[0] ?? 'none');
  let keysMade = 0;
  const newKey = () => {
    keysMade += 1;
    return `key-${keysMade}`;
  };
  const changeOf = async (change: Fields | (() => Promise<Fields>)) =>
    typeof change === 'function' ? change() : change;

  for (const { name, prepare, changes } of writes) {
    describe(name, () => {
      for (const [field, change] of changes) {
        it(`refuses another ${field}, one after the other: ${wordsOf(change)}`, async () => {
          const { test, refused, replays } = ledger;
          const { session, fields } = await prepare(test);
          const transactionUuid = newKey();
          const original = { ...fields, transactionUuid };
          const first = await test[name](original);
          expect(first.status, first.text).to.be.within(200, 201);

          const changed = { ...original, ...(await changeOf(change)) };
          await refused(session, () => test[name](changed), CONFLICT, { transactionUuid, field });
          await replays(first, () => test[name](original));
        });

        it(`lets one content act when two with their own ${field} come at once`, async () => {
          const { test } = ledger;
          const { fields } = await prepare(test);
          const transactionUuid = newKey();
          const original = { ...fields, transactionUuid };
          const changed = { ...original, ...(await changeOf(change)) };
          const contents = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? original : changed));
          const answers = await Promise.all(contents.map((content) => test[name](content)));

          const acted = answers.findIndex(({ status, replayed }) => status < 300 && !replayed);
          const [winning, losing] = [contents[acted], contents[acted + 1] ?? contents[acted - 1]];
          expect(winning, answers.map(verdict).join()).not.to.equal(undefined);
          for (const [index, answer] of answers.entries()) {
            if (index === acted) continue;
            if (contents[index] === winning) {
              expect([answer.text, answer.replayed]).to.deep.equal([answers[acted]?.text, true]);
            } else {
              expect(verdict(answer)).to.equal(CONFLICT);
              expect(answer.json.details).to.deep.equal({ transactionUuid, field });
            }
          }
          await expectOneHold(winning, losing);
        });
      }
    });
  }

  /** Of two opens under one key, the winner's lock is held; whatever the loser held has been given back. */
  async function expectOneHold(winning: Fields | undefined, losing: Fields | undefined): Promise<void> {
    if (winning?.lockAmount === undefined || losing === undefined) return;
    const { test } = ledger;
    const heldBy = async ({ userId, currency }: Fields) =>
      (await test.funds(String(userId), String(currency))).held;
    expect(await heldBy(winning)).to.equal(winning.lockAmount);
    if (winning.userId === losing.userId && winning.currency === losing.currency) return;
    expect(await test.funds(String(losing.userId), String(losing.currency))).to.deep.equal({
      available: '500',
      held: '0',
    });
  }

  it('first names the operation', async () => {
    const { test, refused } = ledger;
    const session = await playedSession(test);
    const { sessionId } = session;
    await test.win({ sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '1' });
    await test.rollback({ sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-2' });
    const details = (transactionUuid: string) => ({ transactionUuid, field: 'operation' });

    for (const transactionUuid of ['win-1', 'back-2']) {
      const bet = { sessionId, transactionUuid, amount: '999' };
      await refused(session, () => test.bet(bet), CONFLICT, details(transactionUuid));
    }
    for (const transactionUuid of ['bet-1', 'back-2']) {
      const win = { sessionId, transactionUuid, betTransactionUuid: 'bet-9', amount: '999' };
      await refused(session, () => test.win(win), CONFLICT, details(transactionUuid));
    }
    for (const transactionUuid of ['bet-1', 'win-1']) {
      const rollback = { sessionId, transactionUuid, betTransactionUuid: 'bet-9' };
      await refused(session, () => test.rollback(rollback), CONFLICT, details(transactionUuid));
    }
    for (const transactionUuid of ['bet-1', 'win-1', 'back-2']) {
      const settle = { sessionId, transactionUuid };
      await refused(session, () => test.settle(settle), CONFLICT, details(transactionUuid));
    }
  });

  it('then names the fields in the order of the request', async () => {
    const { test, refused } = ledger;
    const session = await playedSession(test);
    const { sessionId } = session;
    const win = { sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '1' };
    requireStatus(await test.win(win), 200);
    const others: readonly (readonly [string, Fields])[] = [
      ['betTransactionUuid', { betTransactionUuid: 'bet-2', amount: '2', roundId: 'round-2' }],
      ['amount', { amount: '2', roundId: 'round-2' }],
      ['roundId', { roundId: 'round-2' }],
    ];
    for (const [field, change] of others) {
      await refused(session, () => test.win({ ...win, ...change }), CONFLICT, {
        transactionUuid: 'win-1',
        field,
      });
    }
  });
});
