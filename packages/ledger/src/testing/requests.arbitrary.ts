/**
 * Requests of the small casino's clients, drawn so that repeats, conflicts and races for the same funds are the rule
 * and not the exception.
 */
import fc from 'fast-check';
import type { Asked } from './attempts.ts';
import { sessionIdOf, USERS } from './smallCasino.ts';

const OPEN_UUIDS = ['o1', 'o2', 'o3'] as const;

const userId = fc.constantFrom(USERS[0], USERS[0], USERS[1]);
const currency = fc.constantFrom('SOL', 'SOL', 'SOL', 'CHIP');
/** Most bets use the first three and most other writes the rest, but any write can use any of them. */
const betUuid = fc.constantFrom('t1', 't1', 't2', 't2', 't3', 't3', 't4', 't5', 't6');
const otherUuid = fc.constantFrom('t1', 't2', 't3', 't4', 't4', 't5', 't5', 't6', 't6', 't7');
const sessionId = fc.constantFrom(...OPEN_UUIDS, 'o1', 'o1', 'o1').map(sessionIdOf);
const amountUpTo = (max: number) => fc.nat({ max }).map(String);
const roundId = fc.constantFrom(undefined, undefined, undefined, undefined, undefined, 'r1', 'r2');
const namesABet = { sessionId, transactionUuid: otherUuid, betTransactionUuid: betUuid };
const namesAnother = (write: { transactionUuid: string; betTransactionUuid: string }) =>
  write.transactionUuid !== write.betTransactionUuid;

const adjustment = fc.record({
  op: fc.constantFrom('credit', 'credit', 'debit'),
  userId,
  currency,
  ref: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  amount: fc.integer({ min: 1, max: 12 }).map(String),
  reason: fc.constantFrom(undefined, undefined, undefined, 'promotion'),
});
const open = fc.record({
  op: fc.constant('open'),
  userId,
  gameCode: fc.constantFrom('dice', 'dice', 'dice', 'slots'),
  currency: fc.constantFrom('SOL', 'SOL', 'SOL', 'SOL', 'SOL', 'CHIP', 'NONE'),
  lockAmount: fc.constantFrom('5', '5', '6', '10', '0'),
  transactionUuid: fc.constantFrom('o1', ...OPEN_UUIDS),
});
const bet = fc.record({
  op: fc.constant('bet'),
  sessionId,
  transactionUuid: betUuid,
  amount: amountUpTo(4),
  roundId,
});
const win = fc
  .record({ op: fc.constant('win'), ...namesABet, amount: amountUpTo(4), roundId })
  .filter(namesAnother);
const rollback = fc.record({ op: fc.constant('rollback'), ...namesABet }).filter(namesAnother);
const settle = fc.record({
  op: fc.constant('settle'),
  sessionId,
  transactionUuid: fc.option(otherUuid, { nil: undefined }),
});

const anyRequest: fc.Arbitrary<Asked> = fc.oneof(
  { weight: 4, arbitrary: adjustment },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('figures'), userId, currency }) },
  { weight: 4, arbitrary: open },
  { weight: 10, arbitrary: bet },
  { weight: 6, arbitrary: win },
  { weight: 6, arbitrary: rollback },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('balance'), sessionId }) },
  { weight: 1, arbitrary: settle },
);

/** Something to play with, so that most histories get past "not found". */
const BEGINNINGS: readonly Asked[] = [
  { op: 'credit', userId: USERS[0], currency: 'SOL', ref: 'begin', amount: '20' },
  { op: 'credit', userId: USERS[1], currency: 'SOL', ref: 'begin', amount: '8' },
  {
    op: 'open',
    userId: USERS[0],
    gameCode: 'dice',
    currency: 'SOL',
    lockAmount: '10',
    transactionUuid: 'o1',
  },
];
const beginnings = fc.constantFrom(BEGINNINGS, BEGINNINGS, BEGINNINGS, []);

interface Again {
  readonly repeatOneOfTheLast: number;
}

/** Steps, some of which repeat earlier ones: the same bytes, perhaps after the world has changed. */
function withRepeats<Step extends object>(step: fc.Arbitrary<Step>, maxLength: number) {
  const again: fc.Arbitrary<Again> = fc.record({ repeatOneOfTheLast: fc.integer({ min: 1, max: 12 }) });
  const draft = fc.oneof({ weight: 4, arbitrary: step }, { weight: 1, arbitrary: again });
  return fc.array(draft, { maxLength, size: 'max' }).map((drafts) => {
    const steps: Step[] = [];
    for (const next of drafts) {
      const found = 'repeatOneOfTheLast' in next ? steps.at(-next.repeatOneOfTheLast) : next;
      if (found) steps.push(found);
    }
    return steps;
  });
}

/** One request after the other. */
export const histories: fc.Arbitrary<readonly Asked[]> = fc
  .tuple(beginnings, withRepeats(anyRequest, 60))
  .map(([first, steps]) => [...first, ...steps]);

/** What one of several clients does next; `finish` is the hold process. */
interface ClientStep {
  readonly ask: Asked | 'finish';
  readonly copies: 1 | 2;
}

const clientStep: fc.Arbitrary<ClientStep> = fc.record({
  ask: fc.oneof(
    { weight: 15, arbitrary: anyRequest },
    { weight: 1, arbitrary: fc.constant('finish' as const) },
  ),
  copies: fc.constantFrom<1 | 2>(1, 1, 2),
});

export interface Scenario {
  /** Requested and answered before the others begin. */
  readonly beginnings: readonly Asked[];
  /** One script for each client. */
  readonly scripts: readonly (readonly ClientStep[])[];
}

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  beginnings,
  scripts: fc.array(withRepeats(clientStep, 16), { minLength: 2, maxLength: 4 }),
});
