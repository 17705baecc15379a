/** What can be read about sessions and funds, page by page. Source: contract, Ledger, the additional endpoints. */

import { type Answer, requireStatus, textOf, verdict } from '@coffer/host/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

type Items = readonly Readonly<Record<string, unknown>>[];
const ABSENT_SESSION = 'ses_01h455vb4pex5vsknk084sn02q';
const ABSENT_USER = 'usr_01h455vb4pex5vsknk084sn02q';

const itemsOf = (answer: Answer) => requireStatus(answer, 200).json.items as Items;

describe('The reads of the ledger', () => {
  const ledger = useLedger();
  const transactionsOf = (sessionId: string, query = '') =>
    ledger.test.get(`/ledger/sessions/${sessionId}/transactions${query}`);

  /** Every page of a list, as the items of each. */
  async function pagesOf(path: string, limit: number): Promise<readonly Items[]> {
    const pages: Items[] = [];
    let cursor: unknown;
    do {
      const next = typeof cursor === 'string' ? `&cursor=${encodeURIComponent(cursor)}` : '';
      const answer = await ledger.test.get(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${next}`);
      pages.push(itemsOf(answer));
      cursor = answer.json.nextCursor;
    } while (cursor !== null);
    return pages;
  }

  describe('the transactions of a session', () => {
    let session: PlayedSession;

    before(async () => {
      const { test } = ledger;
      session = await test.newSession('100');
      const { sessionId } = session;
      const writes = [
        test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30', roundId: 'round-1' }),
        test.win({ sessionId, transactionUuid: 'win-1', betTransactionUuid: 'bet-1', amount: '5' }),
        test.bet({ sessionId, transactionUuid: 'bet-2', amount: '20' }),
        test.rollback({ sessionId, transactionUuid: 'back-2', betTransactionUuid: 'bet-2' }),
        test.rollback({ sessionId, transactionUuid: 'back-2b', betTransactionUuid: 'bet-2' }),
        test.rollback({ sessionId, transactionUuid: 'back-9', betTransactionUuid: 'bet-9' }),
        test.bet({ sessionId, transactionUuid: 'bet-3', amount: '75' }),
        test.settle({ sessionId, transactionUuid: 'settle-1' }),
        test.rollback({ sessionId, transactionUuid: 'back-3', betTransactionUuid: 'bet-3' }),
      ];
      for (const write of writes) requireStatus(await write, 200);
    });

    it('are its bets, wins and rollbacks, oldest first, remembered rollbacks included', async () => {
      const listed = itemsOf(await transactionsOf(session.sessionId)).map(({ at, ...item }) => {
        expect(at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        return Object.values(item);
      });
      expect(listed).to.deep.equal([
        ['bet-1', 'bet', '30', null, 'round-1', 'accepted', '70'],
        ['win-1', 'win', '5', 'bet-1', null, 'accepted', '75'],
        ['bet-2', 'bet', '20', null, null, 'rolled_back', '55'],
        ['back-2', 'rollback', '20', 'bet-2', null, 'rolled_back', '75'],
        ['back-9', 'rollback', '0', 'bet-9', null, 'remembered', '75'],
        ['bet-3', 'bet', '75', null, null, 'rolled_back', '0'],
        ['back-3', 'rollback', '75', 'bet-3', null, 'rolled_back', '0'],
      ]);
    });

    it('come in pages of any size, none missed and none twice', async () => {
      const path = `/ledger/sessions/${session.sessionId}/transactions`;
      const whole = itemsOf(await ledger.test.get(path));
      for (const limit of [1, 2, 3, 6, 7, 200]) {
        const pages = await pagesOf(path, limit);
        expect(pages.flat()).to.deep.equal(whole);
        expect(pages.length).to.equal(Math.ceil(whole.length / limit));
      }
    });

    it('come 50 at a time by default, and include what was written a moment ago', async () => {
      const { test } = ledger;
      const { sessionId } = await test.newSession('100');
      const bets = Array.from({ length: 51 }, (_, index) => ({
        op: 'bet',
        transactionUuid: `bet-${index}`,
        amount: '1',
      }));
      await test.batch(sessionId, bets);
      const page = await transactionsOf(sessionId);
      expect(itemsOf(page).length).to.equal(50);
      await test.bet({ sessionId, transactionUuid: 'just-now', amount: '1' });
      const next = await transactionsOf(sessionId, `?cursor=${textOf(page, 'nextCursor')}`);
      expect(itemsOf(next).map(({ transactionUuid }) => transactionUuid)).to.deep.equal([
        'bet-50',
        'just-now',
      ]);
      expect(next.json.nextCursor).to.equal(null);
    });

    it('refuse the cursor of another list, and one that was never issued', async () => {
      const { test } = ledger;
      const other = await test.newSession('100');
      for (const amount of ['1', '2']) await test.bet({ sessionId: other.sessionId, amount });
      const ofOther = textOf(await transactionsOf(other.sessionId, '?limit=1'), 'nextCursor');
      await eventually('two sessions are listed', async () => {
        const listed = itemsOf(await test.get('/ledger/sessions'));
        return listed.length > 1 ? listed : undefined;
      });
      const ofSessions = textOf(await test.get('/ledger/sessions?limit=1'), 'nextCursor');
      for (const cursor of [ofOther, ofSessions, '', '0', '1', '-1', 'x', '9'.repeat(300)]) {
        const answer = await transactionsOf(session.sessionId, `?cursor=${cursor}`);
        expect(verdict(answer), cursor).to.equal('400 request/invalid');
      }
    });
  });

  describe('a session', () => {
    it('shows its terms and totals, open and settled', async () => {
      const { test } = ledger;
      const { sessionId, userId } = await test.newSession('100');
      await test.bet({ sessionId, transactionUuid: 'bet-1', amount: '30' });
      await test.win({ sessionId, betTransactionUuid: 'bet-1', amount: '10' });
      const path = `/ledger/sessions/${sessionId}`;
      const { openedAt, ...open } = (await test.get(path)).json;
      expect(openedAt).to.match(/Z$/);
      const terms = { sessionId, userId, gameCode: 'dice', currency: 'CHIP', lockAmount: '100' };
      const totals = { totalBet: '30', totalWin: '10' };
      expect(open).to.deep.equal({
        ...terms,
        ...totals,
        balance: '80',
        status: 'open',
        payout: null,
        net: null,
        settledAt: null,
      });
      const { settledAt } = (await test.settle({ sessionId })).json;
      expect((await test.get(path)).json).to.deep.equal({
        ...open,
        openedAt,
        status: 'settled',
        payout: '80',
        net: '-20',
        settledAt,
      });
    });

    it('that is absent, or has a malformed id, is 404', async () => {
      const { test } = ledger;
      for (const sessionId of [ABSENT_SESSION, 'ses_1', 'x', '%20', '%00', ABSENT_USER]) {
        const answers = [await test.get(`/ledger/sessions/${sessionId}`), await transactionsOf(sessionId)];
        for (const { status, json } of answers) {
          expect(status).to.equal(404);
          expect(json.code).to.be.oneOf(['ledger/session_not_found', 'request/not_found']);
        }
      }
    });
  });

  describe('the list of sessions', () => {
    let alice: string;
    let opened: string[];

    before(async () => {
      const { test } = ledger;
      alice = await test.newPlayer('100');
      opened = [];
      for (let count = 0; count < 5; count++) {
        opened.push(textOf(await test.openSession({ userId: alice, lockAmount: '10' }), 'sessionId'));
      }
      for (const sessionId of opened.slice(0, 2)) await test.settle({ sessionId });
      await eventually('the settlements are listed', async () => {
        const settled = itemsOf(await test.get(`/ledger/sessions?userId=${alice}&status=settled`));
        return settled.length === 2 ? settled : undefined;
      });
    });

    const idsOf = (items: Items) => items.map(({ sessionId }) => sessionId);

    it('has them newest first, in pages, and each as it is shown by itself', async () => {
      const { test } = ledger;
      const path = `/ledger/sessions?userId=${alice}`;
      const whole = itemsOf(await test.get(path));
      expect(idsOf(whole)).to.deep.equal(opened.toReversed());
      for (const item of whole) {
        expect((await test.get(`/ledger/sessions/${item.sessionId}`)).json).to.deep.equal(item);
      }
      for (const limit of [1, 2, 5]) expect((await pagesOf(path, limit)).flat()).to.deep.equal(whole);
    });

    it('is filtered by user and by status', async () => {
      const { test } = ledger;
      const ids = async (query: string) => idsOf(itemsOf(await test.get(`/ledger/sessions?${query}`)));
      expect(await ids(`userId=${alice}&status=settled`)).to.deep.equal(opened.slice(0, 2).toReversed());
      expect(await ids(`userId=${alice}&status=open`)).to.deep.equal(opened.slice(2).toReversed());
      expect(await ids(`userId=${ABSENT_USER}`)).to.deep.equal([]);
      expect(await ids('userId=nobody')).to.deep.equal([]);
      const all = itemsOf(await test.get('/ledger/sessions?status=settled&limit=200'));
      expect(all.every(({ status }) => status === 'settled')).to.equal(true);
    });

    it('refuses cursors of another filter or another list', async () => {
      const { test } = ledger;
      const path = `/ledger/sessions?userId=${alice}`;
      const cursor = textOf(await test.get(`${path}&limit=1`), 'nextCursor');
      expect(verdict(await test.get(`${path}&limit=1&cursor=${cursor}`))).to.equal('200');
      for (const query of [
        `${path}&status=open&cursor=${cursor}`,
        `/ledger/sessions?cursor=${cursor}`,
        `${path}&cursor=${Buffer.from('x.1').toString('base64url')}`,
        `${path}&cursor=`,
      ]) {
        expect(verdict(await test.get(query)), query).to.equal('400 request/invalid');
      }
      const elsewhere = await ledger.live.get(`${path}&cursor=${cursor}`);
      expect(verdict(elsewhere)).to.equal('400 request/invalid');
    });
  });

  it('refuses limits outside 1 to 200 and unknown parameters', async () => {
    const { test } = ledger;
    const { sessionId, userId } = await test.newSession('1');
    for (const path of ['/ledger/sessions', `/ledger/sessions/${sessionId}/transactions`]) {
      for (const limit of ['0', '201', '01', '1e2', '-1', '', '1.5', '%2B1', '1&limit=2']) {
        expect(verdict(await test.get(`${path}?limit=${limit}`)), limit).to.equal('400 request/invalid');
      }
      expect(verdict(await test.get(`${path}?limit=200`))).to.equal('200');
    }
    for (const path of [
      '/ledger/sessions?statuss=open',
      '/ledger/sessions?status=closed',
      `/ledger/sessions/${sessionId}?limit=1`,
      `/ledger/sessions/${sessionId}/transactions?status=open`,
      `/users/${userId}/accounts?currency=CHIP`,
    ]) {
      expect(verdict(await test.get(path)), path).to.equal('400 request/invalid');
    }
  });

  describe("a user's accounts", () => {
    it('are the available and held funds in each currency of the app, current at once', async () => {
      const { test } = ledger;
      const userId = await test.newUser();
      const accounts = async () => itemsOf(await test.get(`/users/${userId}/accounts`));
      const sol = { currency: 'SOL', currencyId: 1 };
      const chip = { currency: 'CHIP', currencyId: 2 };
      expect(await accounts()).to.deep.equal([
        { ...sol, available: '0', held: '0' },
        { ...chip, available: '0', held: '0' },
      ]);
      await test.credit(userId, '100');
      await test.credit(userId, '7', undefined, 'SOL');
      const opened = await test.openSession({ userId, lockAmount: '60' });
      expect(await accounts()).to.deep.equal([
        { ...sol, available: '7', held: '0' },
        { ...chip, available: '40', held: '60' },
      ]);
      const sessionId = textOf(opened, 'sessionId');
      await test.bet({ sessionId, amount: '10' });
      await test.settle({ sessionId });
      expect((await accounts())[1]).to.deep.equal({ ...chip, available: '90', held: '0' });
    });

    it('of an absent user are 404', async () => {
      for (const userId of [ABSENT_USER, 'usr_1', 'x']) {
        expect(verdict(await ledger.test.get(`/users/${userId}/accounts`))).to.equal('404 users/not_found');
      }
    });
  });
});
