/** A session that has taken all the writes it can hold. Source: contract, Ledger: more than 100,000 writes. */

import { requireStatus } from '@coffer/host/testing';
import { expect } from 'chai';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

const MAX_SESSION_WRITES = 100_000;
const BATCH_SIZE = 1_000;

describe('A play session of 100,000 writes', () => {
  const ledger = useLedger({ roles: ['api'] });
  let session: PlayedSession;

  before(async () => {
    const { test } = ledger;
    session = await test.newSession('100');
    const { sessionId } = session;
    requireStatus(await test.bet({ sessionId, transactionUuid: 'open', amount: '10' }), 200);
    requireStatus(await test.rollback({ sessionId, betTransactionUuid: 'remembered' }), 200);
    for (let first = 2; first < MAX_SESSION_WRITES; first += BATCH_SIZE) {
      const length = Math.min(BATCH_SIZE, MAX_SESSION_WRITES - first);
      const bets = Array.from({ length }, (_, index) => ({
        op: 'bet',
        transactionUuid: `n${first + index}`,
        amount: '0',
      }));
      requireStatus(await test.batch(sessionId, bets), 200);
    }
  });

  it('takes no new bet, and says so before it says that the bet exceeds the balance', async () => {
    const { test, refused } = ledger;
    const { sessionId } = session;
    const bet = { sessionId, amount: '999' };
    await refused(session, () => test.bet(bet), '409 ledger/session_full');
    const remembered = { ...bet, transactionUuid: 'remembered' };
    await refused(session, () => test.bet(remembered), '409 ledger/bet_rolled_back', { balance: '90' });
  });

  it('still pays wins, rolls back, replays and settles', async () => {
    const { test } = ledger;
    const { sessionId, userId } = session;
    const goesOn = [
      await test.bet({ sessionId, transactionUuid: 'n50000', amount: '0' }),
      await test.win({ sessionId, betTransactionUuid: 'n99999', amount: '5' }),
      await test.rollback({ sessionId, betTransactionUuid: 'open' }),
      await test.rollback({ sessionId, betTransactionUuid: 'unseen' }),
      await test.settle({ sessionId }),
    ];
    for (const answer of goesOn) requireStatus(answer, 200);
    expect(goesOn.map(({ replayed }) => replayed)).to.deep.equal([true, false, false, false, false]);
    expect(await test.funds(userId)).to.deep.equal({ available: '105', held: '0' });
  });
});
