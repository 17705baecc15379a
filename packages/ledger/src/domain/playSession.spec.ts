/** Every row of the contract's table of edge cases, Ledger. */
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import {
  accepted,
  betPlaced,
  creditWin,
  type Figures,
  lost40,
  open,
  opened,
  openedWith100,
  owner,
  placeBet,
  remembered,
  reversed,
  rollBack,
  rolledBack,
  rolledBackLate,
  settle,
  settledOf100,
  settlement,
  unmoved,
  unplayed,
  winCredited,
  won,
} from '../testing/playSessionBuilders.ts';
import { type PlaySessionCommand, playSession, playSessionStream } from './playSession.ts';

const given = givenWhenThen(playSession);

describe('play session: open', () => {
  it('opens once', () => given().when(open()).thenHappened(opened(100n)).andAnswers(openedWith100));

  it('answers a repeat with the first answer, even after bets and the settlement', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40))
      .when(open({ openedAt: '2026-02-01T00:00:00.000Z' }))
      .thenNothingHappened()
      .andReplays(openedWith100));

  for (const [field, change] of [
    ['userId', { userId: 'usr_2', gameCode: 'slots', currency: 'CHIP', currencyId: 2, lockAmount: 1n }],
    ['gameCode', { gameCode: 'slots', currency: 'CHIP', currencyId: 2, lockAmount: 1n }],
    ['currency', { currency: 'CHIP', currencyId: 2, lockAmount: 1n }],
    ['lockAmount', { lockAmount: 1n }],
  ] as const) {
    it(`is lost if another request was first, naming ${field} as the first difference`, () =>
      given(opened(100n))
        .when(open(change))
        .thenNothingHappened()
        .andAnswers({ outcome: 'lost', field, owner }));
  }

  it('is not in the key space of its own writes', () =>
    given(opened(100n))
      .when(placeBet('open-1', 40n))
      .thenHappened(betPlaced('open-1', 40n, 60n))
      .andAnswers(accepted('open-1', 40n, 60n)));

  for (const command of [placeBet('b', 1n), creditWin('w', 'b', 1n), rollBack('r', 'b'), settle()]) {
    it(`knows no ${command.type} before it`, () =>
      given().when(command).thenRejects('ledger/session_not_found'));
  }

  it('has its own stream', () =>
    expect(playSessionStream('test', 'app_1', 'ses_1')).to.equal('playSession-test.app_1.ses_1'));
});

describe('play session: bet', () => {
  it('takes the stake from the balance, down to nothing', () =>
    given(opened(100n))
      .when(placeBet('b', 100n, 'round-1'))
      .thenHappened(betPlaced('b', 100n, 0n, 'round-1'))
      .andAnswers(accepted('b', 100n, 0n)));

  it('may be zero, on a balance of zero', () =>
    given(opened(0n))
      .when(placeBet('b', 0n))
      .thenHappened(betPlaced('b', 0n, 0n))
      .andAnswers(accepted('b', 0n, 0n)));

  it('refuses a bet larger than its balance', () =>
    given(opened(100n))
      .when(placeBet('b', 150n))
      .thenRejects('ledger/insufficient_balance', { balance: 100n, amount: 150n }));

  it('may come again under the same uuid after a refusal', () =>
    given(opened(100n), betPlaced('a', 60n, 40n), rolledBack('r', 'a', 60n, 100n))
      .when(placeBet('b', 100n))
      .thenHappened(betPlaced('b', 100n, 0n)));

  it('answers a repeat with the balance of the first time', () =>
    given(opened(100n), betPlaced('b', 40n, 60n, 'round-1'), winCredited('w', 'b', 90n, 150n))
      .when(placeBet('b', 40n, 'round-1'))
      .thenNothingHappened()
      .andReplays(accepted('b', 40n, 60n)));

  it('answers a repeat after the settlement', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40))
      .when(placeBet('b', 40n))
      .thenNothingHappened()
      .andReplays(accepted('b', 40n, 60n)));

  it('is refused again after its rollback, for a 200 would start an unpaid round', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n))
      .when(placeBet('b', 40n))
      .thenRejects('ledger/bet_rolled_back', { balance: 100n }));

  it('is refused if its rollback came first', () =>
    given(opened(100n), betPlaced('a', 1n, 99n), remembered('r', 'b', 99n))
      .when(placeBet('b', 40n))
      .thenRejects('ledger/bet_rolled_back', { balance: 99n }));

  it('is refused after the settlement', () =>
    given(opened(100n), settledOf100(unplayed))
      .when(placeBet('b', 40n))
      .thenRejects('ledger/session_settled'));
});

describe('play session: win', () => {
  it('adds to the balance', () =>
    given(opened(100n), betPlaced('b', 40n, 60n))
      .when(creditWin('w', 'b', 90n, 'round-1'))
      .thenHappened(winCredited('w', 'b', 90n, 150n, 'round-1'))
      .andAnswers(won('w', 'b', 90n, 150n)));

  it('may be zero', () =>
    given(opened(100n), betPlaced('b', 40n, 60n))
      .when(creditWin('w', 'b', 0n))
      .thenHappened(winCredited('w', 'b', 0n, 60n))
      .andAnswers(won('w', 'b', 0n, 60n)));

  it('may come several times for one bet, each under its own uuid', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), winCredited('w1', 'b', 5n, 65n))
      .when(creditWin('w2', 'b', 5n))
      .thenHappened(winCredited('w2', 'b', 5n, 70n))
      .andAnswers(won('w2', 'b', 5n, 70n)));

  it('answers a repeat with the balance of the first time, even after the settlement', () =>
    given(
      opened(100n),
      betPlaced('b', 40n, 60n),
      winCredited('w', 'b', 5n, 65n),
      betPlaced('c', 5n, 60n),
      settledOf100({ totalBet: 45n, totalWin: 5n, payout: 60n, net: -40n }),
    )
      .when(creditWin('w', 'b', 5n))
      .thenNothingHappened()
      .andReplays(won('w', 'b', 5n, 65n)));

  it('finds no bet that was never seen', () =>
    given(opened(100n))
      .when(creditWin('w', 'b', 5n))
      .thenRejects('ledger/bet_not_found'));

  it('may come again under the same uuid once its bet has come', () =>
    given(opened(100n), betPlaced('b', 40n, 60n))
      .when(creditWin('w', 'b', 5n))
      .thenHappened(winCredited('w', 'b', 5n, 65n)));

  it('is never paid for a bet that was rolled back', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n))
      .when(creditWin('w', 'b', 5n))
      .thenRejects('ledger/bet_rolled_back', { balance: 100n }));

  it('is never paid for a bet whose rollback came first', () =>
    given(opened(100n), remembered('r', 'b', 100n))
      .when(creditWin('w', 'b', 5n))
      .thenRejects('ledger/bet_rolled_back', { balance: 100n }));

  it('is refused after the settlement', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40))
      .when(creditWin('w', 'b', 5n))
      .thenRejects('ledger/session_settled'));

  it('is for a bet, not for another write', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', 5n, 65n))
      .when(creditWin('w2', 'w', 5n))
      .thenRejects('ledger/not_a_bet'));
});

describe('play session: rollback', () => {
  it('gives the stake back once', () =>
    given(opened(100n), betPlaced('b', 40n, 60n))
      .when(rollBack('r', 'b'))
      .thenHappened(rolledBack('r', 'b', 40n, 100n))
      .andAnswers(reversed('r', 'b', 40n, 100n)));

  it('answers a repeat with the balance of the first time', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n), betPlaced('c', 100n, 0n))
      .when(rollBack('r', 'b'))
      .thenNothingHappened()
      .andReplays(reversed('r', 'b', 40n, 100n)));

  it('moves nothing under a new uuid, records nothing, and answers the current balance', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n), betPlaced('c', 10n, 90n))
      .when(rollBack('r2', 'b'))
      .thenNothingHappened()
      .andAnswers(unmoved('already_rolled_back', 'r2', 'b', 90n)));

  it('moves nothing under a new uuid after the settlement', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n), settledOf100(unplayed))
      .when(rollBack('r2', 'b'))
      .thenNothingHappened()
      .andAnswers(unmoved('already_rolled_back', 'r2', 'b', 100n)));

  it('does not consume the uuid of a rollback that moved nothing', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n), betPlaced('c', 10n, 90n))
      .when(rollBack('r2', 'c'))
      .thenHappened(rolledBack('r2', 'c', 10n, 100n)));

  it('is remembered before its bet', () =>
    given(opened(100n))
      .when(rollBack('r', 'b'))
      .thenHappened(remembered('r', 'b', 100n))
      .andAnswers(unmoved('remembered', 'r', 'b', 100n)));

  it('answers a repeat of a remembered one with the balance of the first time', () =>
    given(opened(100n), remembered('r', 'b', 100n), betPlaced('c', 10n, 90n))
      .when(rollBack('r', 'b'))
      .thenNothingHappened()
      .andReplays(unmoved('remembered', 'r', 'b', 100n)));

  it('records nothing for a second one of a remembered bet', () =>
    given(opened(100n), remembered('r', 'b', 100n), betPlaced('c', 10n, 90n))
      .when(rollBack('r2', 'b'))
      .thenNothingHappened()
      .andAnswers(unmoved('remembered', 'r2', 'b', 90n)));

  for (const amount of [0n, 5n]) {
    it(`is refused for a bet that has a win of ${amount}`, () =>
      given(opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', amount, 60n + amount))
        .when(rollBack('r', 'b'))
        .thenRejects('ledger/bet_already_won'));
  }

  it('is refused if it names a win, a rollback, a remembered rollback or the settlement', () => {
    const history = [
      opened(100n),
      betPlaced('b', 40n, 60n),
      winCredited('w', 'b', 0n, 60n),
      betPlaced('c', 10n, 50n),
      rolledBack('r', 'c', 10n, 60n),
      remembered('m', 'x', 60n),
      settledOf100(lost40, 's'),
    ];
    for (const other of ['w', 'r', 'm', 's']) {
      given(...history)
        .when(rollBack('new', other))
        .thenRejects('ledger/not_a_bet');
    }
  });

  it('after the settlement has the house pay the stake, and leaves the balance and the figures', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40))
      .when(rollBack('r', 'b'))
      .thenHappened(rolledBackLate('r', 'b', 40n, 60n))
      .andAnswers(reversed('r', 'b', 40n, 60n, 3)));

  it('answers a repeat of a late one with what remains to be paid, so that the payment can be finished', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40), rolledBackLate('r', 'b', 40n, 60n))
      .when(rollBack('r', 'b'))
      .thenNothingHappened()
      .andReplays(reversed('r', 'b', 40n, 60n, 3)));

  it('of zero after the settlement leaves nothing to be paid, even when repeated', () => {
    const history = [opened(100n), betPlaced('b', 0n, 100n), settledOf100(unplayed)];
    const answer = { ...reversed('r', 'b', 0n, 100n), late: undefined };
    given(...history)
      .when(rollBack('r', 'b'))
      .thenHappened(rolledBackLate('r', 'b', 0n, 100n))
      .andAnswers(answer);
    given(...history, rolledBackLate('r', 'b', 0n, 100n))
      .when(rollBack('r', 'b'))
      .thenNothingHappened()
      .andReplays(answer);
  });

  it('after the settlement is refused for a bet that has a win', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', 0n, 60n), settledOf100(lost40))
      .when(rollBack('r', 'b'))
      .thenRejects('ledger/bet_already_won'));

  it('after the settlement is remembered for a bet that was never seen', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40))
      .when(rollBack('r', 'x'))
      .thenHappened(remembered('r', 'x', 60n))
      .andAnswers(unmoved('remembered', 'r', 'x', 60n)));

  it('of a bet repeated after a late rollback: the bet is refused', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40), rolledBackLate('r', 'b', 40n, 60n))
      .when(placeBet('b', 40n))
      .thenRejects('ledger/bet_rolled_back', { balance: 60n }));
});

describe('play session: settle', () => {
  const won10: Figures = { totalBet: 40n, totalWin: 50n, payout: 110n, net: 10n };
  const history = [opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', 50n, 110n)];

  it('pays out the balance', () =>
    given(...history)
      .when(settle('s'))
      .thenHappened(settledOf100(won10, 's'))
      .andAnswers(settlement(won10, 3)));

  it('needs no uuid', () =>
    given(...history)
      .when(settle())
      .thenHappened(settledOf100(won10))
      .andAnswers(settlement(won10, 3)));

  it('counts open bets as lost', () =>
    given(opened(100n), betPlaced('b', 40n, 60n))
      .when(settle())
      .thenHappened(settledOf100(lost40))
      .andAnswers(settlement(lost40, 2)));

  it('does not count bets that were rolled back', () =>
    given(opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n))
      .when(settle())
      .thenHappened(settledOf100(unplayed))
      .andAnswers(settlement(unplayed, 3)));

  for (const uuid of ['s', 'another', undefined]) {
    it(`answers again, under ${uuid ?? 'no uuid'}`, () =>
      given(...history, settledOf100(won10, 's'), remembered('r', 'x', 110n))
        .when({ type: 'SettleSession', transactionUuid: uuid, at: '2026-02-01T00:00:00.000Z' })
        .thenNothingHappened()
        .andReplays(settlement(won10, 3)));
  }

  it('keeps its figures after a late rollback', () =>
    given(
      opened(100n),
      betPlaced('b', 40n, 60n),
      settledOf100(lost40, 's'),
      rolledBackLate('r', 'b', 40n, 60n),
    )
      .when(settle('s'))
      .thenNothingHappened()
      .andReplays(settlement(lost40, 2)));

  it('does not consume the other uuid that it was repeated under', () =>
    given(...history, settledOf100(won10, 's'))
      .when(rollBack('another', 'x'))
      .thenHappened(remembered('another', 'x', 110n)));
});

describe('play session: a uuid used before', () => {
  const history = [
    opened(100n),
    betPlaced('b', 40n, 60n, 'round-1'),
    betPlaced('c', 10n, 50n),
    winCredited('w', 'b', 5n, 55n, 'round-1'),
    rolledBack('r', 'c', 10n, 65n),
    remembered('m', 'x', 65n),
    settledOf100({ totalBet: 40n, totalWin: 5n, payout: 65n, net: -35n }, 's'),
  ];
  /** Within a kind, each row corrects the first difference of the row above. */
  const rows: readonly (readonly [uuid: string, field: string, command: PlaySessionCommand])[] = [
    ['b', 'amount', placeBet('b', 41n, 'round-2')],
    ['b', 'roundId', placeBet('b', 40n, 'round-2')],
    ['b', 'roundId', placeBet('b', 40n)],
    ['c', 'amount', placeBet('c', 11n)],
    ['c', 'roundId', placeBet('c', 10n, 'round-1')],
    ['w', 'betTransactionUuid', creditWin('w', 'c', 6n, 'round-2')],
    ['w', 'amount', creditWin('w', 'b', 6n, 'round-2')],
    ['w', 'roundId', creditWin('w', 'b', 5n, 'round-2')],
    ['w', 'roundId', creditWin('w', 'b', 5n)],
    ['r', 'betTransactionUuid', rollBack('r', 'b')],
    ['m', 'betTransactionUuid', rollBack('m', 'b')],
    ...['w', 'r', 'm', 's'].map((uuid) => [uuid, 'operation', placeBet(uuid, 1n)] as const),
    ...['b', 'r', 'm', 's'].map((uuid) => [uuid, 'operation', creditWin(uuid, 'x', 1n)] as const),
    ...['b', 'w', 's'].map((uuid) => [uuid, 'operation', rollBack(uuid, 'x')] as const),
    ...['b', 'w', 'r', 'm'].map((uuid) => [uuid, 'operation', settle(uuid)] as const),
  ];

  for (const [transactionUuid, field, command] of rows) {
    it(`${transactionUuid} for another ${command.type} names ${field}`, () =>
      given(...history)
        .when(command)
        .thenRejects('ledger/transaction_conflict', { transactionUuid, field }));
  }

  for (const [what, first, other] of [
    ['one bit', '00000000-0000-0000-8000-000000000010', '00000000-0000-0000-8000-000000000011'],
    ['the order', '00000001-0000-0000-8000-000000000000', '00000000-0000-0000-8000-000100000000'],
  ] as const) {
    it(`also conflicts for a round that differs in ${what}`, () => {
      given(opened(100n), betPlaced('b', 40n, 60n, first))
        .when(placeBet('b', 40n, other))
        .thenRejects('ledger/transaction_conflict', { transactionUuid: 'b', field: 'roundId' });
    });
  }

  it('also conflicts while the session is open', () => {
    given(...history.slice(0, -1))
      .when(settle('b'))
      .thenRejects('ledger/transaction_conflict', { transactionUuid: 'b', field: 'operation' });
  });
});
