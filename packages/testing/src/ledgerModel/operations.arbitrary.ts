/**
 * Random histories of a small casino: few players, keys and amounts, so that repeats, conflicts and races for
 * the same funds are the rule and not the exception.
 */
import type { Operation } from '@coffer/ledger/model';
import fc from 'fast-check';

export const USERS = ['usr_1', 'usr_2'] as const;
export const CURRENCIES = ['SOL', 'CHIP'] as const;

const openUuids = ['o1', 'o2', 'o3'] as const;
const sessionIdOf = (transactionUuid: string) => `ses_${transactionUuid}`;

const user = fc.constantFrom(...USERS);
const currency = fc.constantFrom('SOL', 'SOL', 'SOL', 'CHIP');
/** Most bets are under the first three and most other writes under the rest, but any may meet any. */
const betUuid = fc.constantFrom('t1', 't1', 't2', 't2', 't3', 't3', 't4', 't5', 't6');
const otherUuid = fc.constantFrom('t1', 't2', 't3', 't4', 't4', 't5', 't5', 't6', 't6');
const sessionId = fc.constantFrom(...[...openUuids, 'o1', 'o1', 'o1'].map(sessionIdOf));
const amountUpTo = (maximum: number) => fc.nat({ max: maximum }).map(String);
const round = fc.constantFrom(undefined, undefined, undefined, 'r1', 'r2');

const adjustment = fc.record({
  op: fc.constantFrom('credit', 'credit', 'debit'),
  userId: user,
  currency,
  ref: fc.constantFrom('a', 'b', 'c', 'd'),
  amount: fc.integer({ min: 1, max: 12 }).map(String),
  reason: fc.constantFrom(undefined, undefined, 'promotion'),
});
const figures = fc.record({ op: fc.constant('figures'), userId: user, currency });
const open = fc
  .record({
    userId: user,
    gameCode: fc.constantFrom('dice', 'dice', 'slots'),
    currency: fc.constantFrom('SOL', 'SOL', 'SOL', 'CHIP', 'NONE'),
    lockAmount: amountUpTo(10),
    transactionUuid: fc.constantFrom(...openUuids),
  })
  .map((request) => ({
    op: 'open' as const,
    ...request,
    chosen: { sessionId: sessionIdOf(request.transactionUuid), openedAt: '2026-01-31T12:00:00.000Z' },
  }));
const bet = fc.record({
  op: fc.constant('bet'),
  sessionId,
  transactionUuid: betUuid,
  amount: amountUpTo(4),
  roundId: round,
});
const namesABet = { sessionId, transactionUuid: otherUuid, betTransactionUuid: betUuid };
const namesAnother = (write: { transactionUuid: string; betTransactionUuid: string }) =>
  write.transactionUuid !== write.betTransactionUuid;
const win = fc
  .record({ op: fc.constant('win'), ...namesABet, amount: amountUpTo(4), roundId: round })
  .filter(namesAnother);
const rollback = fc.record({ op: fc.constant('rollback'), ...namesABet }).filter(namesAnother);
const balance = fc.record({ op: fc.constant('balance'), sessionId });
const settle = fc.record({
  op: fc.constant('settle'),
  sessionId,
  transactionUuid: fc.option(otherUuid, { nil: undefined }),
  chosen: fc.constant({ settledAt: '2026-01-31T13:00:00.000Z' }),
});

const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 3, arbitrary: adjustment },
  { weight: 1, arbitrary: figures },
  { weight: 3, arbitrary: open },
  { weight: 10, arbitrary: bet },
  { weight: 6, arbitrary: win },
  { weight: 6, arbitrary: rollback },
  { weight: 1, arbitrary: balance },
  { weight: 1, arbitrary: settle },
);

/** Something to play with, so that most histories come beyond "not found". */
const beginnings: readonly Operation[] = [
  { op: 'credit', userId: 'usr_1', currency: 'SOL', ref: 'a', amount: '12' },
  {
    op: 'open',
    userId: 'usr_1',
    gameCode: 'dice',
    currency: 'SOL',
    lockAmount: '10',
    transactionUuid: 'o1',
    chosen: { sessionId: sessionIdOf('o1'), openedAt: '2026-01-31T12:00:00.000Z' },
  },
];

/** A retry of what was sent some operations ago: the same bytes again, perhaps after the world has changed. */
const step = fc.oneof(
  { weight: 4, arbitrary: anyOperation },
  { weight: 1, arbitrary: fc.record({ repeatOneOfTheLast: fc.integer({ min: 1, max: 12 }) }) },
);

export const histories: fc.Arbitrary<readonly Operation[]> = fc
  .tuple(fc.boolean(), fc.array(step, { maxLength: 60, size: 'max' }))
  .map(([fromNothing, steps]) => {
    const history = fromNothing ? [] : [...beginnings];
    for (const next of steps) {
      const operation = 'op' in next ? next : history.at(-next.repeatOneOfTheLast);
      if (operation) history.push(operation);
    }
    return history;
  });
