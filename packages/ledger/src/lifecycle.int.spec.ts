/** The edge cases of opening and settling, and what may still follow. Source: contract, Ledger. */

import { requireStatus, textOf, verdict } from '@coffer/host/testing';
import { expect } from 'chai';
import { setStanding } from './testing/standings.ts';
import { useLedger } from './testing/useLedger.ts';

describe('The ledger, from open to settle', () => {
  const ledger = useLedger();

  describe('an open', () => {
    it('holds the lock and answers the session', async () => {
      const { test, news } = ledger;
      const userId = await test.newPlayer('100');
      await news();
      const opened = await test.openSession({ userId, lockAmount: '60', gameCode: 'slots:v2' });
      expect(opened.status).to.equal(201);
      const { sessionId, openedAt, ...terms } = opened.json;
      expect(sessionId).to.match(/^ses_[0-9a-z]{26}$/);
      expect(openedAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(terms).to.deep.equal({
        userId,
        gameCode: 'slots:v2',
        currency: 'CHIP',
        lockAmount: '60',
        balance: '60',
        status: 'open',
      });
      expect(await news()).to.deep.equal(['account FundsHeld', 'playSession SessionOpened']);
      expect(await test.funds(userId)).to.deep.equal({ available: '40', held: '60' });
    });

    it('with less available than the lock is refused with both figures, and may succeed later', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { userId } = session;
      await test.credit(userId, '40');

      const open = { userId, lockAmount: '41', transactionUuid: 'open-too-dear' };
      await refused(session, () => test.openSession(open), '409 ledger/insufficient_funds', {
        available: '40',
        amount: '41',
      });
      await test.credit(userId, '1');
      const later = await test.openSession(open);
      expect([later.status, later.replayed]).to.deep.equal([201, false]);
      expect(await test.funds(userId)).to.deep.equal({ available: '0', held: '141' });
    });

    it('of "0" needs no funds, not even an account', async () => {
      const { test, replays } = ledger;
      const userId = await test.newUser();
      const open = { userId, lockAmount: '0', transactionUuid: 'open-of-nothing' };
      const opened = requireStatus(await test.openSession(open), 201);
      await replays(opened, () => test.openSession(open));
      const sessionId = textOf(opened, 'sessionId');
      expect((await test.settle({ sessionId })).json).to.include({ payout: '0', net: '0' });
    });

    it('for an unknown user or in an unknown currency is refused', async () => {
      const { test, news } = ledger;
      const userId = await test.newPlayer('100');
      await news();
      for (const unknown of ['usr_01h455vb4pex5vsknk084sn02q', 'usr_1', userId.toUpperCase(), '']) {
        const answer = await test.openSession({ userId: unknown, lockAmount: '1' });
        expect(verdict(answer)).to.equal('404 users/not_found');
      }
      for (const currency of ['GOLD', 'chip', '2', '']) {
        const answer = await test.openSession({ userId, lockAmount: '1', currency });
        expect(verdict(answer)).to.equal('404 ledger/unknown_currency');
      }
      expect(await news()).to.deep.equal([]);
    });

    it('takes the header Idempotency-Key as its transactionUuid if the body has none', async () => {
      const { test, replays } = ledger;
      const userId = await test.newPlayer('100');
      const body = { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: '10' };
      const headers = { 'idempotency-key': 'open-by-header' };
      const opened = requireStatus(await test.post('/ledger/sessions', body, { headers }), 201);

      await replays(opened, () => test.post('/ledger/sessions', body, { headers }));
      await replays(opened, () =>
        test.post('/ledger/sessions', { ...body, transactionUuid: 'open-by-header' }),
      );
      // If two keys differ, which one would a repeat send?
      const named = { ...body, transactionUuid: 'open-by-body' };
      expect(verdict(await test.post('/ledger/sessions', named, { headers }))).to.equal(
        '400 request/invalid',
      );
      const malformed = await test.post('/ledger/sessions', body, {
        headers: { 'idempotency-key': 'not a key' },
      });
      expect(verdict(malformed)).to.equal('400 request/invalid');
    });

    it('without a transactionUuid opens a new session each time', async () => {
      const { test } = ledger;
      const userId = await test.newPlayer('100');
      const open = { userId, lockAmount: '10', transactionUuid: undefined };
      const [one, other] = [await test.openSession(open), await test.openSession(open)];
      expect([one.status, other.status]).to.deep.equal([201, 201]);
      expect(one.json.sessionId).not.to.equal(other.json.sessionId);
      expect(await test.funds(userId)).to.deep.equal({ available: '80', held: '20' });
    });

    it('repeats its first answer even if the session has been played and settled since', async () => {
      const { test, replays } = ledger;
      const userId = await test.newPlayer('100');
      const open = { userId, lockAmount: '100', transactionUuid: 'open-played-on' };
      const opened = requireStatus(await test.openSession(open), 201);
      const sessionId = textOf(opened, 'sessionId');
      await test.bet({ sessionId, amount: '10' });
      await replays(opened, () => test.openSession(open));
      await test.settle({ sessionId });
      await replays(opened, () => test.openSession(open));
    });
  });

  describe('a suspended user', () => {
    it('opens no session, while a session already open continues', async () => {
      const { test, refused, replays } = ledger;
      const userId = await test.newPlayer('100');
      const open = { userId, lockAmount: '50', transactionUuid: 'open-before-suspension' };
      const opened = requireStatus(await test.openSession(open), 201);
      const sessionId = textOf(opened, 'sessionId');
      await setStanding(ledger, userId, 'suspend');

      const next = { userId, lockAmount: '50', transactionUuid: 'open-while-suspended' };
      await refused({ userId, sessionId }, () => test.openSession(next), '403 users/suspended');
      await replays(opened, () => test.openSession(open));
      const goesOn = [
        await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' }),
        await test.bet({ sessionId, transactionUuid: 'bet-2', amount: '10' }),
        await test.win({ sessionId, betTransactionUuid: 'bet-1', amount: '5' }),
        await test.rollback({ sessionId, betTransactionUuid: 'bet-2' }),
        await test.settle({ sessionId }),
      ];
      expect(goesOn.map(({ status }) => status)).to.deep.equal(Array(5).fill(200));
      expect(await test.funds(userId)).to.deep.equal({ available: '95', held: '0' });

      await setStanding(ledger, userId, 'reinstate');
      expect((await test.openSession(next)).status).to.equal(201);
    });
  });

  describe('a settlement', () => {
    it('nets the session, counts open bets as lost, and answers once the payout is available', async () => {
      const { test, news } = ledger;
      const { sessionId, userId } = await test.newSession('100');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      await test.win({ sessionId, betTransactionUuid: 'bet-1', amount: '45' });
      await test.bet({ sessionId, amount: '25' });
      await test.bet({ sessionId, transactionUuid: 'bet-3', amount: '7' });
      await test.rollback({ sessionId, betTransactionUuid: 'bet-3' });
      await news();

      const settled = await test.settle({ sessionId });
      expect(await test.funds(userId)).to.deep.equal({ available: '90', held: '0' });
      const { settledAt, ...figures } = settled.json;
      expect(settledAt).to.match(/Z$/);
      expect(figures).to.deep.equal({
        sessionId,
        userId,
        currency: 'CHIP',
        lockAmount: '100',
        totalBet: '55',
        totalWin: '45',
        payout: '90',
        net: '-10',
        status: 'settled',
      });
      expect(await news()).to.deep.equal(['playSession SessionSettled', 'account HoldClosed']);
      expect((await test.balance(sessionId)).json).to.deep.equal({
        sessionId,
        userId,
        currency: 'CHIP',
        balance: '90',
        status: 'settled',
      });
    });

    it('again, even under another unused uuid, is a replay', async () => {
      const { test, replays } = ledger;
      const { sessionId } = await test.newSession('100');
      const settled = requireStatus(await test.settle({ sessionId, transactionUuid: 'settle-1' }), 200);
      for (const transactionUuid of ['settle-1', undefined, 'settle-2']) {
        await replays(settled, () => test.settle({ sessionId, transactionUuid }));
      }
    });

    it('is followed by no bet and no win', async () => {
      const { test, refused } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '10' });
      await test.settle({ sessionId });
      await refused(session, () => test.bet({ sessionId, amount: '1' }), '409 ledger/session_settled');
      const win = { sessionId, betTransactionUuid: 'bet-1', amount: '1' };
      await refused(session, () => test.win(win), '409 ledger/session_settled');
    });

    it('leaves the rollback of an accepted bet without a win to the house: its own figures stay', async () => {
      const { test, news, replays } = ledger;
      const { sessionId, userId } = await test.newSession('100');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      const settled = requireStatus(await test.settle({ sessionId }), 200);
      expect(await test.funds(userId)).to.deep.equal({ available: '70', held: '0' });
      await news();

      const rollback = { sessionId, transactionUuid: 'back-1', betTransactionUuid: 'bet-1' };
      const first = await test.rollback(rollback);
      expect(first.json).to.deep.equal({
        ...rollback,
        amount: '30',
        balance: '70',
        status: 'rolled_back',
      });
      expect(await news()).to.deep.equal(['playSession BetRolledBack', 'account AccountCredited']);
      expect(await test.funds(userId)).to.deep.equal({ available: '100', held: '0' });
      await replays(first, () => test.rollback(rollback));
      await replays(settled, () => test.settle({ sessionId }));
      expect(await test.funds(userId)).to.deep.equal({ available: '100', held: '0' });
      const again = await test.rollback({ sessionId, betTransactionUuid: 'bet-1' });
      expect(again.json).to.include({ status: 'already_rolled_back', balance: '70' });
    });

    it('is followed by the rollback of a bet never seen: remembered, and the bet never counts', async () => {
      const { test, news, refused, replays } = ledger;
      const session = await test.newSession('100');
      const { sessionId } = session;
      await test.settle({ sessionId });
      await news();
      const rollback = { sessionId, transactionUuid: 'back-1', betTransactionUuid: 'bet-1' };
      const first = await test.rollback(rollback);
      expect(first.json).to.deep.equal({ ...rollback, amount: '0', balance: '100', status: 'remembered' });
      expect(await news()).to.deep.equal(['playSession RollbackRemembered']);
      await replays(first, () => test.rollback(rollback));
      const bet = { sessionId, transactionUuid: 'bet-1', amount: '1' };
      await refused(session, () => test.bet(bet), '409 ledger/bet_rolled_back', { balance: '100' });
    });
  });
});
