/**
 * Requests, repeats and the process that finishes what others began, all at once on two nodes. Afterwards
 * each answer must be what the rules say of some state that the log had while the request was under way; the
 * executable model, told the operations in the order of the log, must give the same answers and books; and
 * nothing may be left half done.
 */
import assert from 'node:assert/strict';
import { account, accountEvents, postingsOf } from '@coffer/accounts';
import type { RecordedEvent } from '@coffer/event-store';
import { parseStreamName } from '@coffer/kernel';
import { playSession } from '@coffer/ledger';
import { createModel, type Operation } from '@coffer/ledger/model';
import { expect } from 'chai';
import fc from 'fast-check';
import { logOperationOf } from '../logOperations.ts';
import { type Random, randomFrom } from '../random.ts';
import { type Answered, explanations, show, statesOf } from './explanation.ts';
import { type Scenario, scenarios, USERS } from './scenarios.arbitrary.ts';
import { CURRENCY, createTwoNodes, NoAnswer, type Request, type TwoNodes } from './twoNodes.ts';

/** A run that comes across less than this would prove little. */
const REACHED: readonly string[] = [
  'credit accepted',
  'debit accepted',
  'debit accounts/insufficient_funds',
  'open accepted',
  'open ledger/insufficient_funds',
  'open ledger/transaction_conflict',
  'bet accepted',
  'bet ledger/bet_rolled_back',
  'bet ledger/insufficient_balance',
  'bet ledger/session_settled',
  'win accepted',
  'win ledger/bet_not_found',
  'rollback accepted',
  'rollback ledger/bet_already_won',
  'settle accepted',
  'balance accepted',
  'figures accepted',
];

const MOST_BATCHES = 5;

describe('ledger: two nodes at once', () => {
  it('give answers and books of one order, whatever is lost, repeated or killed', async () => {
    const seen = new Set<string>();
    const property = fc.asyncProperty(scenarios, fc.integer(), async (scenario, seed) => {
      const random = randomFrom(seed);
      const nodes = createTwoNodes(random);
      const answers = await play(nodes, scenario, random);
      answers.forEach(explanations(nodes));
      compareWithModel(nodes, answers);
      requireNothingHalfDone(nodes);
      for (const { request, answer } of answers) {
        seen.add(`${request.op} ${answer.accepted ? 'accepted' : answer.code}`);
      }
    });
    // Histories in which nothing happens would prove nothing. The rarest answer is missed by one batch in a
    // hundred or so, and chance alone must not decide over a build.
    for (let batch = 0; batch < MOST_BATCHES && !REACHED.every((name) => seen.has(name)); batch++) {
      await fc.assert(property, { numRuns: 400, endOnFailure: true });
    }
    expect([...seen].sort()).to.include.members(REACHED);
  });
});

const MOST_REPEATS = 50;

async function play(
  nodes: TwoNodes,
  { beginnings, scripts }: Scenario,
  random: Random,
): Promise<readonly Answered[]> {
  const answered: Answered[] = [];
  const anyNode = () => (random() < 0.5 ? 0 : 1);

  /** Until it is answered; some callers lose patience, or are killed themselves. */
  const askPatiently = async (request: Request, firstNode: number) => {
    for (let attempt = 0; attempt < MOST_REPEATS; attempt++) {
      const from = nodes.log.events.length;
      try {
        const answer = await nodes.ask(attempt === 0 ? firstNode : anyNode(), request);
        answered.push({ request, answer, from, to: nodes.log.events.length });
        return;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        if (random() < 0.1) return;
      }
    }
    throw new Error('Repeats do not come to an end.');
  };
  const finishWithTrouble = async () => {
    try {
      await nodes.finish(anyNode());
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  };

  for (const request of beginnings) await askPatiently(request, 0);
  await Promise.all(
    scripts.map(async (script) => {
      for (const next of script) {
        if (next === 'finish') {
          await finishWithTrouble();
        } else {
          const { request, copies } = next;
          const asked = copies === 2 ? [0, 1] : [anyNode()];
          await Promise.all(asked.map((node) => askPatiently(request, node)));
        }
      }
    }),
  );
  nodes.calmDown();
  await nodes.finish(anyNode());
  return answered;
}

function compareWithModel({ log }: TwoNodes, answers: readonly Answered[]): void {
  const model = createModel({ users: USERS, currencies: [CURRENCY.code] });
  const bodies = new Map<string, string>();
  for (const event of log.events) {
    const told = logOperationOf(event, () => CURRENCY.code);
    // The model moves the money with the operations themselves.
    if (told?.kind !== 'operation') continue;
    const { operation } = told;
    const answer = model.apply(operation);
    assert(
      answer.accepted && !answer.replayed,
      `the model does not accept ${show(operation)}: ${show(answer)}`,
    );
    if ('sessionId' in operation) bodies.set(keyOf(operation), JSON.stringify(answer.body));
  }
  // Account figures between the steps of other flows are nothing that the model knows; sessions are.
  for (const { request, answer } of answers) {
    if (!answer.accepted || !('sessionId' in request) || request.op === 'balance') continue;
    const body = bodies.get(keyOf(request));
    if (body !== undefined) expect(answer.body).to.equal(body);
  }
  expect(booksOf(log.events)).to.deep.equal(model.books(CURRENCY.code));
}

/** Of what a session keeps. A settlement is answered again under any other uuid. */
function keyOf(
  write: Pick<Request | Operation, 'op'> & {
    readonly sessionId: string;
    readonly transactionUuid?: string | undefined;
    readonly betTransactionUuid?: string;
  },
): string {
  const { op, sessionId, transactionUuid, betTransactionUuid } = write;
  if (op === 'settle') return `settle ${sessionId}`;
  return `${op} ${sessionId} ${transactionUuid} ${betTransactionUuid}`;
}

function booksOf(events: readonly RecordedEvent[]) {
  const totals = { available: 0n, held: 0n, house: 0n, adjustments: 0n };
  for (const event of events) {
    if (parseStreamName(event.stream)?.category !== account.category) continue;
    for (const { account: name, amount } of postingsOf(accountEvents.decode(event))) {
      assert(name in totals, `${name} has no place in these books`);
      totals[name as keyof typeof totals] += name === 'adjustments' ? -amount : amount;
    }
  }
  return totals;
}

function requireNothingHalfDone({ log }: TwoNodes): void {
  const sessions = [...statesOf(playSession, log.events).values()].map((states) => states.at(-1)?.state);
  const open = sessions.flatMap((session) => (session?.status === 'open' ? [session.terms] : []));
  const accounts = [...statesOf(account, log.events)];
  const holds = accounts.flatMap(([stream, states]) =>
    [...(states.at(-1)?.state.openHolds.keys() ?? [])].map((holdId) => `${stream} ${holdId}`),
  );
  expect(holds).to.have.members(
    open.map(({ userId: owner, sessionId: id }) => {
      const [stream] = accounts.find(([name]) => name.includes(owner)) ?? [];
      return `${stream} session:${id}`;
    }),
  );
}
