/**
 * What moves no money makes no entry and leaves nothing due, and the books reconcile.
 * Source: contract, Common rules, Amounts.
 */
import { randomUUID } from 'node:crypto';
import { accountEvents, rollbackEntryId } from '@coffer/accounts';
import { type Answer, requireStatus, setUpApp, verdict } from '@coffer/host/testing';
import { encodeMetadata } from '@coffer/kernel';
import { RECONCILED_CONTEXTS } from '@coffer/reconcile/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

describe('Amounts of zero', () => {
  const ledger = useLedger({ contexts: RECONCILED_CONTEXTS });

  const accountOf = (userId: string) => `account-test.${ledger.app.appId}.${userId}.2`;
  const eventsOf = (stream: string) => ledger.client.lines(`/portal/streams/${stream}`);
  /** The result of an operator's long-running task. */
  const resultOf = async (path: string, body: unknown): Promise<unknown> => {
    const { text } = requireStatus(await ledger.client.post(path, body), 200);
    return JSON.parse(text.trim().split('\n').at(-1) ?? '').result;
  };

  /** First from what was verified before, then with everything derived again. */
  async function expectBooksReconciled(): Promise<void> {
    const { json } = requireStatus(await ledger.test.reconcile(), 200);
    expect(json).to.deep.include({ ok: true, inFlight: [] });
    const path = `/portal/app/${ledger.app.appId}/test/reconcile`;
    expect(await resultOf(path, { full: true })).to.deep.include({ ok: true, mode: 'full', inFlight: [] });
  }

  const accountEventsOf = async ({ userId }: PlayedSession): Promise<readonly string[]> =>
    (await eventsOf(accountOf(userId)))
      .map((line) =>
        accountEvents.decode({
          type: String(line.type),
          data: JSON.stringify(line.data),
          metadata: JSON.stringify(line.metadata),
        }),
      )
      .map(({ type, data }) => {
        if (type === 'HoldClosed') return `${type} ${data.held} -> ${data.payout}`;
        return `${type} ${data.amount}`;
      });

  const accepted = async (answer: Promise<Answer>) => requireStatus(await answer, 200).json;

  const histories: readonly {
    readonly of: string;
    readonly lock: string;
    readonly play: (session: PlayedSession) => Promise<void>;
    readonly booked: readonly string[];
    readonly funds: { readonly available: string; readonly held: string };
  }[] = [
    {
      of: 'a bet of zero, rolled back late',
      lock: '100',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b', amount: '0' }));
        await accepted(ledger.test.settle({ sessionId }));
        const rollback = { sessionId, transactionUuid: 'r', betTransactionUuid: 'b' };
        const first = requireStatus(await ledger.test.rollback(rollback), 200);
        expect(first.json).to.deep.include({ amount: '0', balance: '100', status: 'rolled_back' });
        await ledger.replays(first, () => ledger.test.rollback(rollback));
        const other = await accepted(ledger.test.rollback({ ...rollback, transactionUuid: 'r2' }));
        expect(other).to.deep.include({ amount: '0', status: 'already_rolled_back' });
      },
      booked: ['AccountCredited 100', 'FundsHeld 100', 'HoldClosed 100 -> 100'],
      funds: { available: '100', held: '0' },
    },
    {
      of: 'late rollbacks of zero and of more, in one batch',
      lock: '100',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b0', amount: '0' }));
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b5', amount: '5' }));
        await accepted(ledger.test.settle({ sessionId }));
        const rollback = (uuid: string) => ({
          op: 'rollback',
          transactionUuid: `r-${uuid}`,
          betTransactionUuid: uuid,
        });
        await accepted(ledger.test.batch(sessionId, [rollback('b0'), rollback('b5')]));
      },
      booked: ['AccountCredited 100', 'FundsHeld 100', 'HoldClosed 100 -> 95', 'AccountCredited 5'],
      funds: { available: '100', held: '0' },
    },
    {
      of: 'a bet of zero, rolled back in play',
      lock: '100',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b', amount: '0' }));
        await accepted(ledger.test.rollback({ sessionId, betTransactionUuid: 'b' }));
        await accepted(ledger.test.settle({ sessionId }));
      },
      booked: ['AccountCredited 100', 'FundsHeld 100', 'HoldClosed 100 -> 100'],
      funds: { available: '100', held: '0' },
    },
    {
      of: 'a win of zero',
      lock: '100',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b', amount: '40' }));
        await accepted(ledger.test.win({ sessionId, betTransactionUuid: 'b', amount: '0' }));
        await accepted(ledger.test.settle({ sessionId }));
      },
      booked: ['AccountCredited 100', 'FundsHeld 100', 'HoldClosed 100 -> 60'],
      funds: { available: '60', held: '0' },
    },
    {
      of: 'a settlement that pays out nothing',
      lock: '100',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b', amount: '100' }));
        const settled = await accepted(ledger.test.settle({ sessionId }));
        expect(settled).to.include({ payout: '0', net: '-100' });
      },
      booked: ['AccountCredited 100', 'FundsHeld 100', 'HoldClosed 100 -> 0'],
      funds: { available: '0', held: '0' },
    },
    {
      // The open is based on its hold, which is closed like every other.
      of: 'a session of zero in which every amount is zero',
      lock: '0',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b1', amount: '0' }));
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b2', amount: '0' }));
        await accepted(ledger.test.win({ sessionId, betTransactionUuid: 'b1', amount: '0' }));
        const settled = await accepted(ledger.test.settle({ sessionId }));
        expect(settled).to.include({ totalBet: '0', totalWin: '0', payout: '0', net: '0' });
        await accepted(ledger.test.rollback({ sessionId, betTransactionUuid: 'b2' }));
        await accepted(ledger.test.rollback({ sessionId, betTransactionUuid: 'never-seen' }));
      },
      booked: ['FundsHeld 0', 'HoldClosed 0 -> 0'],
      funds: { available: '0', held: '0' },
    },
    {
      of: 'a session of zero that was won',
      lock: '0',
      async play({ sessionId }) {
        await accepted(ledger.test.bet({ sessionId, transactionUuid: 'free-spin', amount: '0' }));
        await accepted(ledger.test.win({ sessionId, betTransactionUuid: 'free-spin', amount: '7' }));
        await accepted(ledger.test.settle({ sessionId }));
      },
      booked: ['FundsHeld 0', 'HoldClosed 0 -> 7'],
      funds: { available: '7', held: '0' },
    },
  ];

  for (const { of, lock, play, booked, funds } of histories) {
    it(`${of}: the account has what moved, and the books reconcile`, async () => {
      const session = await ledger.test.newSession(lock);
      await play(session);
      expect(await accountEventsOf(session)).to.deep.equal(booked);
      expect(await ledger.test.funds(session.userId)).to.deep.equal(funds);
      await expectBooksReconciled();
    });
  }

  it('an open session that locks zero reconciles while it is open', async () => {
    const session = await ledger.test.newSession('0');
    expect(await accountEventsOf(session)).to.deep.equal(['FundsHeld 0']);
    await expectBooksReconciled();
  });

  it('are refused where money has to move, and nothing is written', async () => {
    const { userId } = await ledger.test.newSession('1');
    const admin = `/portal/app/${ledger.app.appId}/test/users/${userId}/accounts`;
    const adjustment = { currency: 'CHIP', amount: '0', ref: 'nothing' };
    await ledger.news();
    for (const call of [
      () => ledger.client.post(`${admin}/credit`, adjustment),
      () => ledger.client.post(`${admin}/debit`, adjustment),
    ]) {
      expect(verdict(await call())).to.equal('400 request/invalid');
    }
    expect(await ledger.news()).to.deep.equal([]);
  });

  it('that an earlier release booked as entries still reconcile: incrementally, in full and after a rebuild', async () => {
    const session = await ledger.test.newSession('100');
    const { sessionId, userId } = session;
    const stream = accountOf(userId);
    await accepted(ledger.test.bet({ sessionId, transactionUuid: 'b', amount: '0' }));
    await accepted(ledger.test.settle({ sessionId }));
    await accepted(ledger.test.rollback({ sessionId, transactionUuid: 'r', betTransactionUuid: 'b' }));
    const { store } = ledger.world;
    const { type, data, schemaVersion } = accountEvents.encode({
      type: 'AccountCredited',
      data: {
        entryId: rollbackEntryId(sessionId, 'r'),
        amount: 0n,
        reason: 'rollback',
        available: 100n,
        held: 0n,
      },
    });
    const metadata = { correlationId: 'c', actor: 'spec', occurredAt: '2026-01-31T12:00:00.000Z' };
    await store.append({
      stream,
      expectedRevision: (await eventsOf(stream)).length - 1,
      events: [{ id: randomUUID(), type, data, metadata: encodeMetadata(metadata, schemaVersion) }],
    });
    await expectBooksReconciled();
    await ledger.test.credit(userId, '5');
    expect(await ledger.test.funds(userId)).to.deep.equal({ available: '105', held: '0' });
    expect(await accountEventsOf(session)).to.include('AccountCredited 0');
    const rebuilt = await resultOf('/portal/projections/rebuild', { verify: true });
    expect(rebuilt).to.include({ equal: true, moved: true });
    await expectBooksReconciled();
  });

  describe('in whatever order they come', () => {
    const uuid = fc.constantFrom('b1', 'b2', 'b3');
    const amount = fc.constantFrom('0', '0', '3');
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ op: fc.constant('bet' as const), transactionUuid: uuid, amount }) },
      {
        weight: 2,
        arbitrary: fc.record({ op: fc.constant('win' as const), betTransactionUuid: uuid, amount }),
      },
      { weight: 4, arbitrary: fc.record({ op: fc.constant('rollback' as const), betTransactionUuid: uuid }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constant('settle' as const) }) },
    );

    it('leave books that reconcile, and no entry of zero', async () => {
      const { test } = await setUpApp(ledger.client);
      const property = fc.asyncProperty(
        fc.constantFrom('0', '6'),
        fc.array(step, { minLength: 2, maxLength: 10 }),
        async (lock, steps) => {
          const { userId, sessionId } = await test.newSession(lock);
          for (const { op, ...fields } of steps) {
            const answer = await test[op]({ sessionId, ...fields });
            expect(answer.status, answer.text).to.be.oneOf([200, 404, 409]);
          }
          const booked = await eventsOf(`account-test.${test.appId}.${userId}.2`);
          const entries = booked.filter(({ type }) => String(type).startsWith('Account'));
          for (const { data } of entries) expect(data).not.to.include({ amount: '0' });
          const { json } = requireStatus(await test.reconcile(), 200);
          expect(json).to.deep.include({ ok: true, inFlight: [] });
        },
      );
      await fc.assert(property, { numRuns: 20 });
    });
  });
});
