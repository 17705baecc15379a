import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  confirm,
  fail,
  recordExpired,
  recordSigned,
  recordSubmitted,
  request,
} from '../testing/moveBuilders.ts';
import type { MoveEvent } from './move.events.ts';
import { type Move, type MoveCommand, move } from './move.ts';

/**
 * Many drivers at once, each acting on what it read a while ago. Expiry and execution are facts of a chain that the
 * drivers learn late: what expired is never executed, and what was executed never expires.
 */
describe('moves with random commands', () => {
  it('have at most one attempt that may land, and one end', () =>
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = randomFrom(seed);
        const events: MoveEvent[] = [];
        let state: Move = move.decide(move.initialState, request()).answer;
        const expiredOnChain = new Set<string>();
        let executed: { readonly signature: string; readonly fails: boolean } | undefined;

        for (let step = 0; step < 60; step++) {
          const attempt = Math.ceil(random() * 4);
          const mayLand = landing(events);
          // Now and then the chain decides about the attempt in flight.
          if (mayLand && !executed && !expiredOnChain.has(mayLand) && random() < 0.2) {
            if (random() < 0.6) expiredOnChain.add(mayLand);
            else executed = { signature: mayLand, fails: random() < 0.5 };
          }
          const command = randomCommand(attempt);
          if (!command) continue;
          const decision = move.decide(state, command);
          for (const event of decision.events) {
            events.push(event);
            state = move.evolve(state, event);
          }
          if (state.status !== 'unknown') expect(decision.answer, 'the state told').to.deep.equal(state);
          check(events, events.map(({ type }) => type).join(' '));
        }

        function randomCommand(attempt: number): MoveCommand | undefined {
          const roll = random();
          if (roll < 0.4) return recordSigned(attempt, `signature-${attempt}`);
          if (roll < 0.5) return recordSubmitted(attempt);
          if (roll < 0.7)
            return expiredOnChain.has(`signature-${attempt}`) ? recordExpired(attempt) : undefined;
          if (roll < 0.73) return fail('moves/source_frozen');
          if (executed?.signature !== `signature-${attempt}`) return undefined;
          return executed.fails ? fail('moves/failed_on_chain', attempt) : confirm(attempt);
        }
      }),
      { numRuns: 400 },
    ));
});

/** The signature that may land, according to the events alone. */
function landing(events: readonly MoveEvent[]): string | undefined {
  let signature: string | undefined;
  for (const event of events) {
    if (event.type === 'TransactionSigned') signature = event.data.signature;
    else if (event.type !== 'TransactionSubmitted') signature = undefined;
  }
  return signature;
}

function check(events: readonly MoveEvent[], history: string): void {
  const inFlight = new Set<string>();
  events.forEach((event, index) => {
    if (event.type === 'TransactionSigned') inFlight.add(event.data.signature);
    if (event.type === 'TransactionExpired') inFlight.delete(event.data.signature);
    expect(inFlight.size, history).to.be.at.most(1);
    const ends = event.type === 'MoveConfirmed' || event.type === 'MoveFailed';
    if (ends) expect(index, history).to.equal(events.length - 1);
    // What may still land is never reported as failed.
    if (event.type === 'MoveFailed' && event.data.signature === null) {
      expect(inFlight.size, history).to.equal(0);
    }
  });
}
