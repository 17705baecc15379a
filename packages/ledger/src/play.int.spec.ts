/** The edge cases of bets, wins and rollbacks. Source: contract, Ledger, the table of edge cases. */

import { type Answer, requireStatus, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { useLedger } from './testing/useLedger.ts';

describe('The ledger, in play', () => {
  const ledger = useLedger();

  describe('a bet', () => {
    it('larger than the balance is refused with both figures, and the next one is accepted', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;

      const tooMuch = { sessionId, transactionUuid: 'bet-1', amount: '101' };
      await refused(session, () => test.bet(tooMuch), '409 ledger/insufficient_balance', {
        balance: '100',
        amount: '101',
      });
      expect((await test.bet({ ...tooMuch, amount: '100' })).json).to.deep.equal({
        sessionId,
        transactionUuid: 'bet-1',
        amount: '100',
        balance: '0',
        status: 'accepted',
      });
    });

    it('of "0" is accepted', async () => {
      const { test } = ledger;
      const { sessionId } = await test.newSession('0');
      expect((await test.bet({ sessionId, amount: '0' })).json).to.include({ amount: '0', balance: '0' });
    });

    it('again after its rollback is refused: a 200 would start an unpaid round', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      const bet = { sessionId, transactionUuid: 'bet-1', amount: '30' };
      await test.bet(bet);
      await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });

      await refused(session, () => test.bet(bet), '409 ledger/bet_rolled_back', { balance: '100' });
      await test.settle({ sessionId });
      await refused(session, () => test.bet(bet), '409 ledger/bet_rolled_back', { balance: '100' });
    });

    it('may carry the uuid that its session was opened with: the two keys have different scopes', async () => {
      const { test } = ledger;
      const userId = await test.newPlayer('100');
      const transactionUuid = 'shared-by-open-and-bet';
      const opened = requireStatus(
        await test.openSession({ userId, lockAmount: '100', transactionUuid }),
        201,
      );
      const { sessionId } = opened.json;
      expect((await test.bet({ sessionId, transactionUuid, amount: '1' })).status).to.equal(200);
    });

    it('may carry a uuid that another session of the app has used', async () => {
      const { test } = ledger;
      const [one, other] = [await test.newSession('10'), await test.newSession('10')];
      const bet = { transactionUuid: 'used-in-two-sessions', amount: '1' };
      expect((await test.bet({ ...bet, sessionId: one.sessionId })).status).to.equal(200);
      const second = await test.bet({ ...bet, sessionId: other.sessionId });
      expect([second.status, second.replayed]).to.deep.equal([200, false]);
    });
  });

  describe('a win', () => {
    it('for an unknown bet is refused and not recorded, so that a later retry succeeds', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      const win = { sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '50' };

      await refused(session, () => test.win(win), '404 ledger/bet_not_found');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' });
      expect((await test.win(win)).json).to.deep.equal({ ...win, balance: '140', status: 'accepted' });
    });

    it('is accepted several times for one bet, and of "0", each under its own uuid', async () => {
      const { test, news } = ledger;
      const { sessionId } = await test.newSession('100');
      const betTransactionUuid = 'bet-1';
      await test.bet({ sessionId, transactionUuid: betTransactionUuid, amount: '10' });
      await news();

      const balances = [];
      for (const amount of ['5', '0', '5']) {
        balances.push((await test.win({ sessionId, betTransactionUuid, amount })).json.balance);
      }
      expect(balances).to.deep.equal(['95', '95', '100']);
      expect(await news()).to.deep.equal(Array(3).fill('playSession WinCredited'));
    });

    it('may exceed the lock, and all of it can be bet again', async () => {
      const { test } = ledger;
      const { sessionId } = await test.newSession('10');
      const betTransactionUuid = 'bet-1';
      await test.bet({ sessionId, transactionUuid: betTransactionUuid, amount: '10' });
      const most = (2n ** 64n - 1n).toString();
      await test.win({ sessionId, betTransactionUuid, amount: most });
      const second = await test.win({ sessionId, betTransactionUuid, amount: most });
      expect(second.json.balance).to.equal((2n ** 65n - 2n).toString());
      expect((await test.bet({ sessionId, amount: most })).json.balance).to.equal(most);
    });

    it('for a bet that was rolled back, or whose rollback was remembered, is never paid', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' });
      await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });
      await test.rollback({ sessionId, betTransactionUuid: 'bet-2' });

      for (const betTransactionUuid of ['bet-1', 'bet-2']) {
        const win = { sessionId, betTransactionUuid, amount: '50' };
        await refused(session, () => test.win(win), '409 ledger/bet_rolled_back', { balance: '100' });
      }
      expect((await test.bet({ sessionId, transactionUuid: 'bet-3', amount: '100' })).status).to.equal(200);
    });

    it('naming a win or a rollback as its bet is refused', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' });
      await test.win({ sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '1' });
      await test.rollback({ sessionId, transactionUuid: 'back-1', betTransactionUuid: 'bet-2' });
      for (const betTransactionUuid of ['win-1', 'back-1']) {
        const win = { sessionId, betTransactionUuid, amount: '5' };
        await refused(session, () => test.win(win), '409 ledger/not_a_bet');
      }
    });
  });

  describe('a rollback', () => {
    it('of an accepted bet without a win gives the stake back once', async () => {
      const { test, news, replays } = ledger;
      const { sessionId } = await test.newSession('100');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      await news();

      const rollback = { sessionId, transactionUuid: 'back-1', betTransactionUuid: 'bet-1' };
      const first = await test.rollback(rollback);
      expect(first.json).to.deep.equal({
        ...rollback,
        amount: '30',
        balance: '100',
        status: 'rolled_back',
      });
      expect(await news()).to.deep.equal(['playSession BetRolledBack']);
      await replays(first, () => test.rollback(rollback));
      expect((await test.balance(sessionId)).json.balance).to.equal('100');
    });

    it('again under a new uuid is "already_rolled_back", records nothing and does not consume its uuid', async () => {
      const { test, news, view } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });
      await test.bet({ sessionId, amount: '60' });
      const again = { sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-1' };

      await news();
      const before = await view(session);
      for (let repeat = 0; repeat < 2; repeat++) {
        const answer = await test.rollback(again);
        expect([answer.status, answer.replayed]).to.deep.equal([200, false]);
        expect(answer.json).to.deep.equal({
          ...again,
          amount: '0',
          balance: '40',
          status: 'already_rolled_back',
        });
      }
      expect(await news()).to.deep.equal([]);
      expect(await view(session)).to.deep.equal(before);
      expect((await test.bet({ sessionId, transactionUuid: 'back-2', amount: '1' })).status).to.equal(200);
    });

    it('again under a new uuid after the settlement is "already_rolled_back" too', async () => {
      const { test, news } = ledger;
      const { sessionId, userId } = await test.newSession('100');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });
      await test.settle({ sessionId });
      await news();
      const again = await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });
      expect(again.json).to.include({ status: 'already_rolled_back', amount: '0', balance: '100' });
      expect(await news()).to.deep.equal([]);
      expect(await test.funds(userId)).to.deep.equal({ available: '100', held: '0' });
    });

    it('before its bet is remembered, and the bet is refused when it comes', async () => {
      const { test, news, refused, replays } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await news();

      const rollback = { sessionId, transactionUuid: 'back-1', betTransactionUuid: 'bet-1' };
      const first = await test.rollback(rollback);
      expect(first.json).to.deep.equal({ ...rollback, amount: '0', balance: '100', status: 'remembered' });
      expect(await news()).to.deep.equal(['playSession RollbackRemembered']);

      const late = { sessionId, transactionUuid: 'bet-1', amount: '10' };
      await refused(session, () => test.bet(late), '409 ledger/bet_rolled_back', { balance: '100' });
      await replays(first, () => test.rollback(rollback));
      expect((await test.bet({ sessionId, transactionUuid: 'bet-2', amount: '10' })).status).to.equal(200);
    });

    it('of a bet that has a win, of any amount, is refused', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      for (const [betTransactionUuid, amount] of [
        ['bet-1', '20'],
        ['bet-2', '0'],
      ]) {
        await test.bet({ sessionId, transactionUuid: betTransactionUuid, amount: '10' });
        await test.win({ sessionId, betTransactionUuid, amount });
        const rollback = { sessionId, betTransactionUuid };
        await refused(session, () => test.rollback(rollback), '409 ledger/bet_already_won');
      }
    });

    it('naming a win or a rollback is refused', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' });
      await test.win({ sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '1' });
      await test.bet({ sessionId, transactionUuid: 'bet-2', amount: '10' });
      await test.rollback({ sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-2' });
      await test.rollback({ sessionId, transactionUuid: 'back-3', betTransactionUuid: 'bet-3' });
      for (const betTransactionUuid of ['win-1', 'back-2', 'back-3']) {
        const rollback = { sessionId, betTransactionUuid };
        await refused(session, () => test.rollback(rollback), '409 ledger/not_a_bet');
      }
    });
  });

  it('refuses every write to an unknown session and to a malformed id, in the same words', async () => {
    const { test, news } = ledger;
    await news();
    for (const sessionId of [
      'ses_01h455vb4pex5vsknk084sn02q',
      'ses_1',
      'usr_01h455vb4pex5vsknk084sn02q',
      '',
      '..',
    ]) {
      const answers = await Promise.all([
        test.bet({ sessionId, amount: '1' }),
        test.win({ sessionId, betTransactionUuid: 'bet-1', amount: '1' }),
        test.rollback({ sessionId, betTransactionUuid: 'bet-1' }),
        test.balance(sessionId),
        test.settle({ sessionId }),
        test.batch(sessionId, [{ op: 'bet', transactionUuid: 'bet-1', amount: '1' }]),
      ]);
      expect(answers.map(verdict)).to.deep.equal(Array(6).fill('404 ledger/session_not_found'));
    }
    expect(await news()).to.deep.equal([]);
  });

  it('replays the same uuid with the same content, even after the settlement', async () => {
    const { test, replays } = ledger;
    const { sessionId } = await test.newSession('100');
    await test.bet({ sessionId, transactionUuid: 'bet-2', amount: '20' });
    const writes = [
      () => test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10', roundId: 'round-1' }),
      () => test.win({ sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '5' }),
      () => test.rollback({ sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-2' }),
      () => test.rollback({ sessionId, transactionUuid: 'back-3', betTransactionUuid: 'bet-3' }),
    ];
    const played: [() => Promise<Answer>, Answer][] = [];
    for (const write of writes) played.push([write, requireStatus(await write(), 200)]);

    const repeatAll = async () => {
      for (const [write, first] of played) await replays(first, write);
    };
    await repeatAll();
    await test.settle({ sessionId });
    await repeatAll();
  });
});
