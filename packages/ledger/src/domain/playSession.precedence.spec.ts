/** The order of state checks, and the rules about size. Source: contract, Ledger. */
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import {
  betPlaced,
  creditWin,
  lost40,
  opened,
  placeBet,
  remembered,
  rollBack,
  rolledBack,
  settle,
  settledOf100,
  unplayed,
  winCredited,
} from '../testing/playSessionBuilders.ts';
import type { PlaySessionEvent } from './playSession.events.ts';
import { MAX_SESSION_WRITES, type PlaySessionCommand, playSession } from './playSession.ts';

const given = givenWhenThen(playSession);

type Row = readonly [code: string, details: object, history: readonly PlaySessionEvent[]];

/** Sends one command to a series of sessions: each history breaks one rule less than the one above. */
function refusesInOrder(command: PlaySessionCommand, rows: readonly Row[]): void {
  for (const [code, details, history] of rows) {
    it(`${command.type}: ${code}`, () =>
      given(...history)
        .when(command)
        .thenRejects(code, { ...details }));
  }
}

describe('play session: order of checks', () => {
  const rolledBackUnseen = [opened(100n), remembered('r', 'b', 100n), settledOf100(unplayed)];
  /** A win has the uuid `b`, which was also rolled back before. */
  const winNamedB = [
    opened(100n),
    remembered('r', 'b', 100n),
    betPlaced('a', 0n, 100n),
    winCredited('b', 'a', 0n, 100n),
    settledOf100(unplayed),
  ];
  const bet = placeBet('b', 101n);
  const conflict = { transactionUuid: 'b', field: 'operation' };
  refusesInOrder(bet, [
    ['ledger/session_not_found', {}, []],
    ['ledger/transaction_conflict', conflict, winNamedB],
    ['ledger/bet_rolled_back', { balance: 100n }, rolledBackUnseen],
    ['ledger/session_settled', {}, [opened(100n), settledOf100(unplayed)]],
    ['ledger/insufficient_balance', { balance: 100n, amount: 101n }, [opened(100n)]],
  ]);

  const win = creditWin('w', 'b', 5n);
  refusesInOrder(win, [
    ['ledger/session_not_found', {}, []],
    [
      'ledger/transaction_conflict',
      { transactionUuid: 'w', field: 'operation' },
      [
        opened(100n),
        remembered('r', 'b', 100n),
        betPlaced('a', 0n, 100n),
        winCredited('b', 'a', 0n, 100n),
        betPlaced('w', 0n, 100n),
        settledOf100(unplayed),
      ],
    ],
    ['ledger/not_a_bet', {}, winNamedB],
    ['ledger/bet_rolled_back', { balance: 100n }, rolledBackUnseen],
    [
      'ledger/bet_rolled_back',
      { balance: 100n },
      [opened(100n), betPlaced('b', 40n, 60n), rolledBack('r', 'b', 40n, 100n), settledOf100(unplayed)],
    ],
    ['ledger/session_settled', {}, [opened(100n), settledOf100(unplayed)]],
    ['ledger/session_settled', {}, [opened(100n), betPlaced('b', 40n, 60n), settledOf100(lost40)]],
    ['ledger/bet_not_found', {}, [opened(100n)]],
  ]);

  const rollback = rollBack('r', 'b');
  refusesInOrder(rollback, [
    ['ledger/session_not_found', {}, []],
    [
      'ledger/transaction_conflict',
      { transactionUuid: 'r', field: 'operation' },
      [
        opened(100n),
        remembered('q', 'b', 100n),
        betPlaced('r', 0n, 100n),
        winCredited('b', 'r', 0n, 100n),
        settledOf100(unplayed),
      ],
    ],
    [
      'ledger/not_a_bet',
      {},
      [
        opened(100n),
        remembered('q', 'b', 100n),
        betPlaced('a', 0n, 100n),
        winCredited('b', 'a', 0n, 100n),
        settledOf100(unplayed),
      ],
    ],
    [
      'ledger/bet_already_won',
      {},
      [opened(100n), betPlaced('b', 40n, 60n), winCredited('w', 'b', 0n, 60n), settledOf100(lost40)],
    ],
  ]);
});

describe('play session: full', () => {
  /** Straight through evolve: a hundred thousand round trips through the codec prove nothing more. */
  function sessionWith(writes: number) {
    let session = playSession.evolve(playSession.initialState, opened(100n));
    for (let write = 0; write < writes; write++) {
      session = playSession.evolve(session, betPlaced(`b${write}`, 0n, 100n));
    }
    return session;
  }
  const full = sessionWith(MAX_SESSION_WRITES);

  it('takes its last write, and no bet after that', () => {
    const almostFull = sessionWith(MAX_SESSION_WRITES - 1);
    const { events } = playSession.decide(almostFull, placeBet('last', 0n));
    expect(events).to.have.length(1);
    const after = events.reduce(playSession.evolve, almostFull);
    expect(() => playSession.decide(after, placeBet('more', 0n))).to.throw('ledger/session_full');
  });

  it('refuses a bet because it is full before it looks at the balance', () =>
    expect(() => playSession.decide(full, placeBet('more', 101n))).to.throw('ledger/session_full'));

  it('still takes wins, rollbacks and the settlement, and repeats its bets', () => {
    expect(playSession.decide(full, creditWin('w', 'b0', 5n)).events).to.have.length(1);
    expect(playSession.decide(full, rollBack('r', 'b1')).events).to.have.length(1);
    expect(playSession.decide(full, rollBack('r', 'unseen')).events).to.have.length(1);
    expect(playSession.decide(full, settle()).events).to.have.length(1);
    expect(playSession.decide(full, placeBet('b2', 0n))).to.include({ replayed: true });
  });

  it('takes memory in proportion to its writes', () =>
    expect(playSession.sizeOf(full) / MAX_SESSION_WRITES).to.be.within(45, 64));
});
