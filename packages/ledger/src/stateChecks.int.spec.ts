/** Which refusal is answered if several apply. Source: contract, Ledger, Order of state checks. */
import type { Answer, Fields } from '@coffer/host/testing';
import { requireStatus } from '@coffer/host/testing';
import { type PlayedSession, useLedger } from './testing/useLedger.ts';

describe('The order of state checks', () => {
  const ledger = useLedger();
  let session: PlayedSession;

  const write = (operation: 'bet' | 'win' | 'rollback', fields: Fields) => (): Promise<Answer> =>
    ledger.test[operation]({ sessionId: session.sessionId, ...fields });

  /** A session with a bet of each fate, followed by the given requests. */
  async function playASession(): Promise<void> {
    session = await ledger.test.newSession('100');
    const steps = [
      write('bet', { transactionUuid: 'won', amount: '10' }),
      write('win', { transactionUuid: 'win-of-won', betTransactionUuid: 'won', amount: '10' }),
      write('bet', { transactionUuid: 'open', amount: '10' }),
      write('bet', { transactionUuid: 'rolled-back', amount: '10' }),
      write('rollback', { transactionUuid: 'back', betTransactionUuid: 'rolled-back' }),
      write('rollback', { transactionUuid: 'back-first', betTransactionUuid: 'remembered' }),
    ];
    for (const step of steps) requireStatus(await step(), 200);
  }

  function expectTable(rows: readonly (readonly [string, string, () => Promise<Answer>])[]): void {
    for (const [refusal, what, call] of rows) {
      it(`${refusal.slice('409 '.length)}: ${what}`, () => ledger.refused(session, call, refusal));
    }
  }

  const CONFLICT = '409 ledger/transaction_conflict';
  const NOT_A_BET = '409 ledger/not_a_bet';
  const ROLLED_BACK = '409 ledger/bet_rolled_back';
  const ALREADY_WON = '409 ledger/bet_already_won';
  const SETTLED = '409 ledger/session_settled';
  const NOT_FOUND = '404 ledger/bet_not_found';
  const INSUFFICIENT = '409 ledger/insufficient_balance';

  describe('while the session is open', () => {
    before(playASession);
    expectTable([
      [
        CONFLICT,
        'a bet under the uuid of a rollback',
        write('bet', { transactionUuid: 'back', amount: '999' }),
      ],
      [
        CONFLICT,
        'a win under the uuid of a bet, for a win',
        write('win', { transactionUuid: 'open', betTransactionUuid: 'win-of-won', amount: '1' }),
      ],
      [
        CONFLICT,
        'a bet rolled back, again with another amount',
        write('bet', { transactionUuid: 'rolled-back', amount: '11' }),
      ],
      [NOT_A_BET, 'a win for a win', write('win', { betTransactionUuid: 'win-of-won', amount: '1' })],
      [
        NOT_A_BET,
        'a rollback of a remembered rollback',
        write('rollback', { betTransactionUuid: 'back-first' }),
      ],
      [
        ROLLED_BACK,
        'a bet whose rollback was remembered, larger than the balance',
        write('bet', { transactionUuid: 'remembered', amount: '999' }),
      ],
      [ALREADY_WON, 'a rollback of a won bet', write('rollback', { betTransactionUuid: 'won' })],
      [NOT_FOUND, 'a win for a bet never seen', write('win', { betTransactionUuid: 'unseen', amount: '1' })],
      [INSUFFICIENT, 'a bet larger than the balance', write('bet', { amount: '999' })],
    ]);
  });

  describe('after the settlement', () => {
    before(async () => {
      await playASession();
      requireStatus(
        await ledger.test.settle({ sessionId: session.sessionId, transactionUuid: 'settled' }),
        200,
      );
    });
    expectTable([
      [
        CONFLICT,
        'a bet under the uuid of the settlement',
        write('bet', { transactionUuid: 'settled', amount: '1' }),
      ],
      [NOT_A_BET, 'a win for a rollback', write('win', { betTransactionUuid: 'back', amount: '1' })],
      [NOT_A_BET, 'a win for the settlement', write('win', { betTransactionUuid: 'settled', amount: '1' })],
      [NOT_A_BET, 'a rollback of the settlement', write('rollback', { betTransactionUuid: 'settled' })],
      [
        ROLLED_BACK,
        'a win for a bet rolled back',
        write('win', { betTransactionUuid: 'rolled-back', amount: '1' }),
      ],
      [
        ROLLED_BACK,
        'a win for a remembered bet',
        write('win', { betTransactionUuid: 'remembered', amount: '1' }),
      ],
      [ROLLED_BACK, 'the remembered bet', write('bet', { transactionUuid: 'remembered', amount: '1' })],
      [ALREADY_WON, 'a rollback of a won bet', write('rollback', { betTransactionUuid: 'won' })],
      [SETTLED, 'a win for a won bet', write('win', { betTransactionUuid: 'won', amount: '1' })],
      [SETTLED, 'a win for a bet never seen', write('win', { betTransactionUuid: 'unseen', amount: '1' })],
      [SETTLED, 'a bet larger than the payout', write('bet', { amount: '999' })],
    ]);
    it('settles under the uuid of a bet: a conflict', () =>
      ledger.refused(
        session,
        () => ledger.test.settle({ sessionId: session.sessionId, transactionUuid: 'open' }),
        CONFLICT,
        { transactionUuid: 'open', field: 'operation' },
      ));
  });
});
