/**
 * What several clients of a small casino do: races for the same funds and uuids are the rule and not the
 * exception.
 */
import fc from 'fast-check';
import { type Request, sessionIdOf } from './twoNodes.ts';

export const USERS = ['usr_00000000000000000000000001', 'usr_00000000000000000000000002'] as const;
const OPEN_UUIDS = ['o1', 'o2', 'o3'] as const;

const userId = fc.constantFrom(USERS[0], USERS[0], USERS[1]);
const sessionId = fc.constantFrom('o1', 'o1', ...OPEN_UUIDS).map(sessionIdOf);
const betUuid = fc.constantFrom('t1', 't1', 't2', 't2', 't3', 't4');
const otherUuid = fc.constantFrom('t1', 't4', 't5', 't6', 't7');
const amountUpTo = (max: number) => fc.bigInt({ min: 0n, max: BigInt(max) });
const namesABet = { sessionId, transactionUuid: otherUuid, betTransactionUuid: betUuid };
const namesAnother = (write: { transactionUuid: string; betTransactionUuid: string }) =>
  write.transactionUuid !== write.betTransactionUuid;

const anyRequest: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constantFrom('credit', 'credit', 'debit'),
      userId,
      ref: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      amount: fc.bigInt({ min: 1n, max: 12n }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('figures'), userId }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('open'),
      userId,
      gameCode: fc.constantFrom('dice', 'dice', 'dice', 'slots'),
      lockAmount: fc.constantFrom(5n, 5n, 6n, 0n),
      transactionUuid: fc.constantFrom('o1', ...OPEN_UUIDS),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('bet'),
      sessionId,
      transactionUuid: betUuid,
      amount: amountUpTo(3),
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({ op: fc.constant('win'), ...namesABet, amount: amountUpTo(3) })
      .filter(namesAnother),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constant('rollback'), ...namesABet }).filter(namesAnother) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('settle'),
      sessionId,
      transactionUuid: fc.constantFrom(undefined, 's1', 's2', 't2', 't3', 't5', 't6'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('balance'), sessionId }) },
);

/** What one of the clients does next; `finish` is the hold process. */
type Step = { readonly request: Request; readonly copies: 1 | 2 } | 'finish';

/** A script as it is made up: a request may be sent again, after the world has gone on. */
const draft = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ request: anyRequest, copies: fc.constantFrom<1 | 2>(1, 1, 2) }),
  },
  { weight: 5, arbitrary: fc.record({ repeatOneOfTheLast: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant('finish' as const) },
);

const script: fc.Arbitrary<readonly Step[]> = fc
  .array(draft, { maxLength: 16, size: 'max' })
  .map((drafts) => {
    const steps: Step[] = [];
    for (const next of drafts) {
      const isRepeat = typeof next === 'object' && 'repeatOneOfTheLast' in next;
      const step = isRepeat ? steps.at(-next.repeatOneOfTheLast) : next;
      if (step) steps.push(step);
    }
    return steps;
  });

export interface Scenario {
  /** Asked and answered before the others begin. */
  readonly beginnings: readonly Request[];
  /** One script for each client. */
  readonly scripts: readonly (readonly Step[])[];
}

/** Something to play with, so that most histories come beyond "not found". */
const BEGINNINGS: readonly Request[] = [
  { op: 'credit', userId: USERS[0], ref: 'begin', amount: 20n },
  { op: 'credit', userId: USERS[1], ref: 'begin', amount: 8n },
  { op: 'open', userId: USERS[0], gameCode: 'dice', lockAmount: 10n, transactionUuid: 'o1' },
];

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  beginnings: fc.constantFrom(BEGINNINGS, BEGINNINGS, BEGINNINGS, []),
  scripts: fc.array(script, { minLength: 2, maxLength: 4 }),
});
