/** The deciders against the executable contract, on random histories. A failure prints the seed to repeat it. */
import { type Answer, createModel, type Operation } from '@coffer/ledger/model';
import { expect } from 'chai';
import fc from 'fast-check';
import { createDeciderWorld, type StateSource } from './deciderWorld.ts';
import { CURRENCIES, histories, USERS } from './operations.arbitrary.ts';

const known = { users: USERS, currencies: CURRENCIES };

const holds = (numRuns: number, property: (operations: readonly Operation[]) => void) =>
  fc.assert(fc.property(histories, property), { numRuns });

function answersOf(operations: readonly Operation[], source: StateSource = 'kept'): readonly Answer[] {
  const world = createDeciderWorld(known, source);
  return operations.map(world.apply);
}

describe('ledger: deciders and contract', () => {
  it('answer the same bytes and keep the same books', () =>
    holds(400, (operations) => {
      const model = createModel(known);
      const world = createDeciderWorld(known, 'kept');
      for (const operation of operations) {
        expect(JSON.stringify(world.apply(operation))).to.equal(JSON.stringify(model.apply(operation)));
      }
      for (const currency of CURRENCIES) {
        expect(world.books(currency)).to.deep.equal(model.books(currency));
      }
    }));

  it('never let a balance fall below zero, and lose or invent nothing', () =>
    holds(200, (operations) => {
      const world = createDeciderWorld(known, 'kept');
      for (const operation of operations) {
        world.apply(operation);
        expect(world.balances().filter((balance) => balance < 0n)).to.deep.equal([]);
        for (const currency of CURRENCIES) {
          const { available, held, house, adjustments } = world.books(currency);
          expect(available + held + house).to.equal(adjustments);
          expect(world.figures(currency)).to.deep.equal({ available, held });
        }
      }
    }));

  it('change no balance and no later answer by a refusal', () =>
    holds(200, (operations) => {
      const answers = answersOf(operations);
      const isAccepted = (index: number) => answers[index]?.accepted === true;
      const accepted = operations.filter((_, index) => isAccepted(index));
      expect(answersOf(accepted)).to.deep.equal(answers.filter((_, index) => isAccepted(index)));
    }));

  it('answer every operation that is sent twice as the first time, and move nothing more', () =>
    holds(200, (operations) => {
      const once = createDeciderWorld(known, 'kept');
      const twice = createDeciderWorld(known, 'kept');
      for (const operation of operations) {
        const first = once.apply(operation);
        expect(twice.apply(operation)).to.deep.equal(first);
        const second = twice.apply(operation);
        if (first.accepted && second.accepted) expect(second.body).to.deep.equal(first.body);
        else expect(second).to.deep.equal(first);
      }
      expect(twice.stored()).to.deep.equal(once.stored());
    }));

  for (const source of ['refolded', 'snapshot'] as const) {
    it(`decide the same on a state that is ${source === 'snapshot' ? 'out of a snapshot' : 'folded anew'}`, () =>
      holds(100, (operations) => {
        const kept = createDeciderWorld(known, 'kept');
        const other = createDeciderWorld(known, source);
        for (const operation of operations) {
          expect(other.apply(operation)).to.deep.equal(kept.apply(operation));
        }
        expect(other.stored()).to.deep.equal(kept.stored());
      }));
  }

  it('see histories that reach every answer of the contract', () => {
    const seen = new Set<string>();
    const sample = fc.sample(histories, { numRuns: 400, seed: 1 });
    for (const answer of sample.flatMap((operations) => answersOf(operations))) {
      seen.add(answer.accepted ? statusOf(answer) : answer.code);
    }
    expect([...seen].sort()).to.include.members([
      'accepted',
      'accepted, replayed',
      'accounts/idempotency_conflict',
      'accounts/insufficient_funds',
      'already_rolled_back',
      'ledger/bet_already_won',
      'ledger/bet_not_found',
      'ledger/bet_rolled_back',
      'ledger/insufficient_balance',
      'ledger/insufficient_funds',
      'ledger/not_a_bet',
      'ledger/session_not_found',
      'ledger/session_settled',
      'ledger/transaction_conflict',
      'ledger/unknown_currency',
      'open',
      'open, replayed',
      'remembered',
      'remembered, replayed',
      'rolled_back',
      'rolled_back, replayed',
      'settled',
      'settled, replayed',
    ]);
  });
});

function statusOf({ body, replayed }: Extract<Answer, { accepted: true }>): string {
  const status = 'status' in body ? String(body.status) : 'figures';
  return replayed ? `${status}, replayed` : status;
}
