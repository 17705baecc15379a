/** The SDK's ledger calls against the service over HTTP, and over connections that lose requests and replies. */

import { randomUUID } from 'node:crypto';
import { useLedger } from '@coffer/ledger/testing';
import { RECONCILED_CONTEXTS } from '@coffer/reconcile/testing';
import { eventually } from '@coffer/testing';
import { expect } from 'chai';
import { type BackendClient, createBackendClient, type Fetch } from './index.ts';
import { failureOf } from './testing/scriptedService.ts';

/** What happens to one attempt in transit. */
type Fate = 'arrives' | 'is lost' | 'is answered in vain';

/** Loses attempts as the fates prescribe, in order; all further ones arrive. */
function lossyFetch(fates: readonly Fate[]): Fetch {
  const ahead = [...fates];
  return async (url, init) => {
    const fate = ahead.shift() ?? 'arrives';
    if (fate === 'is lost') throw new TypeError('fetch failed');
    const response = await fetch(url, init);
    if (fate === 'arrives') return response;
    await response.arrayBuffer();
    throw new TypeError('terminated');
  };
}

describe('the SDK, against the service', () => {
  const ledger = useLedger({ contexts: RECONCILED_CONTEXTS });
  const clientWith = (fates: readonly Fate[] = [], secretKey = ledger.test.secretKey): BackendClient =>
    createBackendClient({
      baseUrl: ledger.client.baseUrl,
      secretKey,
      fetch: lossyFetch(fates),
      retry: { firstDelayMs: 1 },
    });
  const opened = async (lockAmount: bigint) => {
    const userId = await ledger.test.newPlayer(lockAmount.toString());
    return clientWith().ledger.open({ userId, gameCode: 'dice', currency: 'CHIP', lockAmount });
  };

  it('plays a session from open to settle', async () => {
    const client = clientWith();
    const { sessionId, userId, ...session } = await opened(100n);
    expect(session).to.deep.include({ balance: 100n, lockAmount: 100n, status: 'open', replayed: false });

    const bet = await client.ledger.bet({ sessionId, amount: 40n, roundId: 'round-1' });
    expect(bet).to.deep.include({ amount: 40n, balance: 60n, status: 'accepted', replayed: false });
    const win = await client.ledger.win({ sessionId, betTransactionUuid: bet.transactionUuid, amount: 90n });
    expect(win).to.deep.include({ betTransactionUuid: bet.transactionUuid, balance: 150n });
    const lost = await client.ledger.bet({ sessionId, amount: 70n });
    const back = await client.ledger.rollback({ sessionId, betTransactionUuid: lost.transactionUuid });
    expect(back).to.deep.include({ amount: 70n, balance: 150n, status: 'rolled_back' });
    expect(await client.ledger.balance(sessionId)).to.deep.include({ balance: 150n, status: 'open' });
    expect(await client.ledger.session(sessionId)).to.deep.include({
      totalBet: 40n,
      payout: null,
      net: null,
    });

    const settled = await client.ledger.settle({ sessionId });
    expect(settled).to.deep.include({
      totalBet: 40n,
      totalWin: 90n,
      payout: 150n,
      net: 50n,
      status: 'settled',
    });
    const [chip] = (await client.users.accounts(userId)).filter(({ currency }) => currency === 'CHIP');
    expect(chip).to.deep.equal({ currency: 'CHIP', currencyId: 2, available: 150n, held: 0n });
  });

  it('places one bet, however the connection fails on the way', async () => {
    for (const fates of [
      ['is lost'],
      ['is answered in vain'],
      ['is answered in vain', 'is lost', 'is answered in vain'],
    ] as const) {
      const { sessionId } = await opened(100n);
      const bet = await clientWith(fates).ledger.bet({ sessionId, amount: 40n });
      expect(bet.balance, fates.join()).to.equal(60n);
      expect(bet.replayed, fates.join()).to.equal(fates.some((fate) => fate === 'is answered in vain'));
      const { items } = await clientWith().ledger.transactions(sessionId);
      expect(items.map(({ transactionUuid }) => transactionUuid)).to.deep.equal([bet.transactionUuid]);
    }
  });

  it('opens one session and settles once, though every first reply is lost', async () => {
    const userId = await ledger.test.newPlayer('100');
    const inVain = () => clientWith(['is answered in vain']).ledger;
    const session = { userId, gameCode: 'dice', currency: 'CHIP', lockAmount: 60n };
    const { sessionId, replayed } = await inVain().open(session);
    expect(replayed).to.equal(true);
    expect((await inVain().settle({ sessionId })).replayed).to.equal(true);
    const { available, held } = await ledger.test.funds(userId);
    expect({ available, held }).to.deep.equal({ available: '100', held: '0' });
  });

  it('repeats a call whose outcome was unknown under the uuid that the error tells', async () => {
    const { sessionId } = await opened(100n);
    const cutOff = createBackendClient({
      baseUrl: ledger.client.baseUrl,
      secretKey: ledger.test.secretKey,
      fetch: lossyFetch(['is answered in vain']),
      // The first wait would already exceed the deadline.
      retry: { deadlineMs: 20_000, firstDelayMs: 60_000, longestDelayMs: 60_000 },
    });
    const failure = await failureOf(cutOff.ledger.bet({ sessionId, amount: 40n }));
    expect(failure).to.deep.include({ code: 'sdk/no_answer', outcome: 'unknown', retryable: true });
    const [transactionUuid = ''] = failure.transactionUuids;
    const again = await clientWith().ledger.bet({ sessionId, amount: 40n, transactionUuid });
    expect(again).to.deep.include({ balance: 60n, replayed: true });
  });

  it('hands out refusals as the service made them', async () => {
    const { sessionId } = await opened(100n);
    const tooMuch = await failureOf(clientWith().ledger.bet({ sessionId, amount: 101n }));
    expect(tooMuch).to.deep.include({
      code: 'ledger/insufficient_balance',
      status: 409,
      details: { balance: '100', amount: '101' },
      retryable: false,
      outcome: 'refused',
    });
    expect(tooMuch.requestId).to.match(/^[0-9a-f-]{36}$/);
    const elsewhere = clientWith([], ledger.live.secretKey).ledger;
    expect((await failureOf(elsewhere.balance(sessionId))).code).to.equal('ledger/session_not_found');
    const stranger = clientWith([], `sk_test_${'a'.repeat(43)}`).ledger;
    expect((await failureOf(stranger.balance(sessionId))).code).to.equal('auth/invalid_key');
  });

  it('sends a batch whose reply is lost, once in effect', async () => {
    const { sessionId } = await opened(100n);
    const bet = randomUUID();
    const results = await clientWith(['is answered in vain']).ledger.batch({
      sessionId,
      operations: [
        { op: 'bet', amount: 40n, transactionUuid: bet },
        { op: 'win', amount: 10n, betTransactionUuid: bet },
        { op: 'bet', amount: 71n },
        { op: 'rollback', betTransactionUuid: randomUUID() },
      ],
    });
    const told = results.map((result) => (result.ok ? result.answer.status : result.error.code));
    expect(told).to.deep.equal(['accepted', 'accepted', 'ledger/insufficient_balance', 'remembered']);
    expect((await clientWith().ledger.balance(sessionId)).balance).to.equal(70n);
  });

  it('pages through the sessions of a player and the writes of a session', async () => {
    const client = clientWith();
    const { sessionId, userId } = await opened(100n);
    for (const amount of [1n, 2n, 3n]) await client.ledger.bet({ sessionId, amount });
    const first = await client.ledger.transactions(sessionId, { limit: 2 });
    expect(first.items.map(({ amount }) => amount)).to.deep.equal([1n, 2n]);
    const rest = await client.ledger.transactions(sessionId, { limit: 2, cursor: first.nextCursor ?? '' });
    expect(rest.items.map(({ amount, kind }) => `${kind} ${amount}`)).to.deep.equal(['bet 3']);
    expect(rest.nextCursor).to.equal(null);
    const listed = await eventually('the session is listed', async () => {
      const { items } = await client.ledger.sessions({ userId, status: 'open' });
      return items.find((item) => item.sessionId === sessionId);
    });
    expect(listed.lockAmount).to.equal(100n);
  });

  it('reconciles the books', async () => {
    const report = await clientWith().ledger.reconcile();
    if (!report.ok) expect.fail('The books are in order.');
    for (const { currency, ...seven } of report.totals) {
      expect(
        Object.values(seven).reduce((sum, figure) => sum + figure, 0n),
        currency,
      ).to.equal(0n);
    }
    expect(report.totals.map(({ currency }) => currency)).to.include('CHIP');
  });
});
