/**
 * Requests, repeats and the process that finishes what others began, all at once on two nodes. Afterwards the log,
 * replayed on the executable model event by event, must explain every answer, and nothing may be left half done.
 */
import { randomFrom } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Asked } from './testing/attempts.ts';
import { type Scenario, scenarios } from './testing/requests.arbitrary.ts';
import { SEED } from './testing/seed.ts';
import { explainCasino } from './testing/smallCasino.ts';
import { createTwoNodes, NoAnswer, type TwoNodes } from './testing/twoNodes.ts';

/** A run that covers less than this would prove little. */
const REACHED: readonly string[] = [
  'credit answered',
  'debit answered',
  'debit accounts/insufficient_funds',
  'open open',
  'open ledger/insufficient_funds',
  'open ledger/transaction_conflict',
  'bet accepted',
  'bet ledger/bet_rolled_back',
  'bet ledger/insufficient_balance',
  'bet ledger/session_settled',
  'win accepted',
  'win ledger/bet_not_found',
  'rollback rolled_back',
  'rollback ledger/bet_already_won',
  'settle settled',
  'balance open',
  'figures answered',
];

describe('ledger: two nodes at once', () => {
  it('give answers and books that fit one order, whatever is lost, repeated or killed', async () => {
    const seen = new Set<string>();
    let outlineHits = 0;
    const property = fc.asyncProperty(scenarios, fc.integer(), async (scenario, seed) => {
      const random = randomFrom(seed);
      const nodes = createTwoNodes(random);
      await play(nodes, scenario, random);
      const { models, verdicts } = explainCasino({ events: nodes.log.events, attempts: nodes.attempts });
      expect(
        [...models.values()].flatMap((model) => model.owed()),
        'half done',
      ).to.deep.equal([]);
      for (const verdict of verdicts.keys()) seen.add(verdict);
      outlineHits += nodes.outlineHits();
    });
    await fc.assert(property, { numRuns: 600, endOnFailure: true, seed: SEED });
    expect([...seen].sort()).to.include.members([...REACHED]);
    expect(outlineHits).to.be.above(300);
  });
});

const MOST_REPEATS = 50;

async function play(nodes: TwoNodes, { beginnings, scripts }: Scenario, random: () => number): Promise<void> {
  const anyNode = () => (random() < 0.5 ? 0 : 1);

  /** Until it is answered; some callers lose patience, or are killed themselves. */
  const askPatiently = async (request: Asked, firstNode: number) => {
    for (let attempt = 0; attempt < MOST_REPEATS; attempt++) {
      if (await isDone(nodes.ask(attempt === 0 ? firstNode : anyNode(), request))) return;
      if (random() < 0.1) return;
    }
    throw new Error('Repeats do not come to an end.');
  };

  for (const request of beginnings) await askPatiently(request, 0);
  await Promise.all(
    scripts.map(async (script) => {
      for (const { ask, copies } of script) {
        if (ask === 'finish') await isDone(nodes.finish(anyNode()));
        else {
          const asked = copies === 2 ? [0, 1] : [anyNode()];
          await Promise.all(asked.map((node) => askPatiently(ask, node)));
        }
      }
    }),
  );
  nodes.calmDown();
  await nodes.finish(anyNode());
}

/** False if whoever was to do it died, or does not know. */
async function isDone(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof NoAnswer) return false;
    throw error;
  }
}
