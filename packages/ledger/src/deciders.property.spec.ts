/** The deciders against the executable contract, on random histories. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { Asked } from './testing/attempts.ts';
import { createDeciderWorld, type StateSource } from './testing/deciderWorld.ts';
import { histories } from './testing/requests.arbitrary.ts';
import { SEED } from './testing/seed.ts';
import { CURRENCIES, explainCasino } from './testing/smallCasino.ts';

const holds = (numRuns: number, property: (operations: readonly Asked[]) => void) =>
  fc.assert(fc.property(histories, property), { numRuns, seed: SEED });

function worldAfter(operations: readonly Asked[], source: StateSource = 'kept') {
  const world = createDeciderWorld(source);
  return { ...world, answers: operations.map(world.ask) };
}

describe('ledger: deciders and contract', () => {
  it('answer the same bytes, write the same events and keep the same books', () =>
    holds(400, (operations) => {
      const world = worldAfter(operations);
      const { models } = explainCasino(world);
      for (const { code } of CURRENCIES) {
        expect([...models.values()].map((model) => model.books(code))).to.deep.equal([world.books(code)]);
      }
      expect([...models.values()].flatMap((model) => model.owed())).to.deep.equal([]);
    }));

  it('never let a balance fall below zero, and neither lose nor invent anything', () =>
    holds(200, (operations) => {
      const world = createDeciderWorld('kept');
      for (const operation of operations) {
        world.ask(operation);
        expect(world.balances().filter((balance) => balance < 0n)).to.deep.equal([]);
        for (const { code: currency } of CURRENCIES) {
          const { available, held, house, adjustments } = world.books(currency);
          expect(available + held + house).to.equal(adjustments);
          expect(world.figures(currency)).to.deep.equal({ available, held });
        }
      }
    }));

  it('change no balance and no later answer when they refuse', () =>
    holds(200, (operations) => {
      const { answers } = worldAfter(operations);
      const isAccepted = (index: number) => answers[index]?.accepted === true;
      const accepted = operations.filter((_, index) => isAccepted(index));
      expect(worldAfter(accepted).answers).to.deep.equal(answers.filter((_, index) => isAccepted(index)));
    }));

  it('answer every operation sent twice as they did the first time, and move nothing more', () =>
    holds(200, (operations) => {
      const once = createDeciderWorld('kept');
      const twice = createDeciderWorld('kept');
      for (const operation of operations) {
        const first = once.ask(operation);
        expect(twice.ask(operation)).to.deep.equal(first);
        const second = twice.ask(operation);
        if (first.accepted && second.accepted) expect(second.body).to.deep.equal(first.body);
        else expect(second).to.deep.equal(first);
      }
      expect(twice.stored()).to.deep.equal(once.stored());
    }));

  for (const source of ['refolded', 'snapshot'] as const) {
    it(`decide the same on a state that is ${source === 'snapshot' ? 'from a snapshot' : 'folded anew'}`, () =>
      holds(100, (operations) => {
        const kept = createDeciderWorld('kept');
        const other = createDeciderWorld(source);
        for (const operation of operations) {
          expect(other.ask(operation)).to.deep.equal(kept.ask(operation));
        }
        expect(other.stored()).to.deep.equal(kept.stored());
      }));
  }

  it('are given histories that reach every answer of the contract', () => {
    const seen = new Set<string>();
    for (const operations of fc.sample(histories, { numRuns: 400, seed: 1 })) {
      for (const verdict of explainCasino(worldAfter(operations)).verdicts.keys()) seen.add(verdict);
    }
    expect([...seen].sort()).to.include.members([
      'credit answered',
      'credit replayed',
      'credit accounts/idempotency_conflict',
      'debit answered',
      'debit accounts/insufficient_funds',
      'open open',
      'open replayed',
      'open ledger/insufficient_funds',
      'open ledger/transaction_conflict',
      'open ledger/unknown_currency',
      'bet accepted',
      'bet replayed',
      'bet ledger/bet_rolled_back',
      'bet ledger/insufficient_balance',
      'bet ledger/session_not_found',
      'bet ledger/session_settled',
      'bet ledger/transaction_conflict',
      'win accepted',
      'win ledger/bet_not_found',
      'win ledger/not_a_bet',
      'rollback already_rolled_back',
      'rollback ledger/bet_already_won',
      'rollback remembered',
      'rollback replayed',
      'rollback rolled_back',
      'settle replayed',
      'settle settled',
    ]);
  });
});
