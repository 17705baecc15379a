/**
 * Whether a run has one order of operations: the order of the log. Each event is given to the executable model, which
 * must do exactly what the event says; each answer must be the model's at a state that the log had while the request
 * was under way. A state is past for every request sent after an answer that needed it, and in the future for every
 * request answered before its cause was sent: no clock is needed. A run in one process records with each answer exactly
 * how long the log was.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { accountEvents, parseAccountStream, postingsOf } from '@coffer/accounts';
import { poolEvents } from '@coffer/custody/testing';
import type { StreamEvent } from '@coffer/event-store';
import { decodeMetadata, idFromParts, messageOf, parseStreamName } from '@coffer/kernel';
import { earningsEvents } from '@coffer/referrals/testing';
import { z } from 'zod';
import {
  type Asked,
  type Attempt,
  operationsOf,
  type Place,
  type Received,
  type Run,
  receivedOf,
} from './attempts.ts';
import { type KnownStakes, logOperationOf } from './logOperations.ts';
import { createModel, type Model } from './model/model.ts';
import type { Answer, Books, Operation, Step } from './operations.ts';
import { storyOfClaim, storyOfEvent } from './story.ts';

/** An event of the ledger, and what the model makes of it. */
export interface Applied {
  /** From 1, counting all events in the log. */
  readonly ordinal: number;
  readonly event: StreamEvent;
  readonly place: Place;
  readonly operation: Operation | Step;
  readonly change: Books;
}

export interface Explained {
  readonly applied: readonly Applied[];
  readonly models: ReadonlyMap<Place, Model>;
  /** How often each `<operation> <verdict>` was answered: whether the run covered much. */
  readonly verdicts: ReadonlyMap<string, number>;
}

/** An attempt that was answered with what the rules say, or one currency of it. */
interface Claim {
  readonly attempt: Attempt & { readonly received: NonNullable<Attempt['received']> };
  readonly parts: readonly { readonly asked: Operation; readonly given: Given }[];
  /** Numbers of the parts for which the next event must be theirs, one for each way to explain the whole. */
  waiting: readonly number[];
  /** An open first looks up its session, a lock its pool, a withdrawal its key, and then the funds: what it saw first. */
  sawNoSession: boolean;
  /** Explained, except for the money that must have reached the player before the answer. */
  isMatched: boolean;
  /** What the model would have answered, for the report of a failure. */
  readonly possible: { readonly ordinal: number; readonly answer: string }[];
}

interface Given extends Omit<Received, 'replayed'> {
  /** Undefined if the answer does not say. */
  readonly replayed: boolean | undefined;
}

/** Throws a report of the first thing that does not fit. */
export function explain(run: Run): Explained {
  const { events, attempts, places, users, currencies } = run;
  const codes = currencies.map(({ code }) => code);
  const models = new Map(
    places.map((place) => [
      place,
      createModel({ users, currencies: codes, codes: new Map(currencies.map(({ id, code }) => [id, code])) }),
    ]),
  );
  const stakes: KnownStakes = new Map();
  const codeOf = (currencyId: number | undefined) =>
    currencies.find(({ id }) => id === currencyId)?.code ?? `currency ${currencyId}`;
  const currencyOf = ({ stream }: StreamEvent) => codeOf(parseAccountStream(stream)?.currencyId);
  const modelOf = (place: Place) => models.get(place) ?? assert.fail('a place of the run');
  const attemptsById = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  const applied: Applied[] = [];
  const verdicts = new Map<string, number>();
  let unexplained = attempts
    .flatMap((attempt) => claimsOf(attempt, currencies))
    .sort((left, right) => left.attempt.sentAt - right.attempt.sentAt);
  for (const { parts } of unexplained) {
    for (const { asked, given } of parts) {
      const verdict = `${asked.op} ${verdictOf(given)}`;
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
  }

  explainAtThisState(0);
  for (const [index, event] of events.entries()) follow(event, index + 1);
  const [left] = unexplained;
  if (left) assert.fail(storyOfClaim(run, left, 'Nothing in the log explains this answer'));
  return { applied, models, verdicts };

  function follow(event: StreamEvent, ordinal: number): void {
    const told = logOperationOf(event, codeOf, stakes);
    if (!told) return;
    const { operation } = told;
    const name = parseStreamName(event.stream);
    const place = places.find((each) => each.name === `${name?.environment}.${name?.owner}`);
    if (!place) unfit(ordinal, 'The stream belongs to no app and environment of the run');
    const cause = attemptsById.get(decodeMetadata(event.metadata).correlationId);
    if (cause?.place !== place) unfit(ordinal, 'No request led to this event');
    if (told.kind === 'operation') {
      const isAsked = operationsOf(cause).some((asked) => isSame(asked, operation));
      if (!isAsked) unfit(ordinal, `${cause.id} asked for something else`);
      const refused = cause.received && saysThatNothingWasDone(cause.received);
      if (refused) unfit(ordinal, `${cause.id} was answered that nothing was done`);
    }
    const stale = unexplained.find(
      ({ attempt: { received, log } }) => received.at < cause.sentAt || (log && log.to < ordinal),
    );
    if (stale) {
      const what = `No state of the log explains this answer, up to ${ordinal - 1}, before the next event, of ${cause.id}`;
      assert.fail(storyOfClaim(run, stale, what));
    }

    const model = modelOf(place);
    const currency =
      'currency' in operation
        ? operation.currency
        : 'currencyId' in operation
          ? codeOf(operation.currencyId)
          : currencyOf(event);
    const before = model.books(currency);
    const answer = applyOrTell(() => model.apply(operation), ordinal);
    if (!answer.accepted || answer.replayed) {
      unfit(ordinal, `The model answers ${JSON.stringify(answer)}`);
    }
    const after = model.books(currency);
    const change = {
      available: after.available - before.available,
      held: after.held - before.held,
      pools: after.pools - before.pools,
      referrals: after.referrals - before.referrals,
      house: after.house - before.house,
      adjustments: after.adjustments - before.adjustments,
    };
    applyOrTell(() => requireSameEffect(event, answer.body, change), ordinal);
    applied.push({ ordinal, event, place, operation, change });

    for (const claim of unexplained) {
      if (claim.waiting.length === 0) continue;
      const { attempt } = claim;
      const goesOn = claim.waiting.filter((number) => {
        const part = claim.parts[number];
        // Both nodes write the very same opening, so each may say that it did.
        const isItsOwn = operation.op === 'open' || operation.op === 'lock' || cause.id === attempt.id;
        return (
          part &&
          isItsOwn &&
          place === attempt.place &&
          isSame(part.asked, operation) &&
          agrees(answer, part.asked.op, { ...part.given, replayed: undefined }) &&
          part.given.replayed !== true
        );
      });
      claim.waiting = [];
      for (const number of goesOn) walk(claim, number + 1, ordinal);
    }
    explainAtThisState(ordinal);
  }

  function unfit(ordinal: number, what: string): never {
    assert.fail(storyOfEvent(run, ordinal, what));
  }

  function applyOrTell<Result>(act: () => Result, ordinal: number): Result {
    try {
      return act();
    } catch (error) {
      unfit(ordinal, messageOf(error));
    }
  }

  /** Finds everything that the state after that many events explains, which may let later requests begin. */
  function explainAtThisState(ordinal: number): void {
    for (;;) {
      const begun = claimsUnderWay();
      for (const claim of begun) {
        const { from } = claim.attempt.log ?? { from: 0 };
        if (!claim.isMatched && from <= ordinal) walk(claim, 0, ordinal);
      }
      const isExplained = (claim: Claim) =>
        claim.isMatched && !isOwedMoney(modelOf(claim.attempt.place), claim);
      if (!begun.some(isExplained)) return;
      const explained = new Set(begun.filter(isExplained));
      unexplained = unexplained.filter((claim) => !explained.has(claim));
    }
  }

  /** Those sent before the first of the claims still to be explained was answered. */
  function claimsUnderWay(): readonly Claim[] {
    const begun: Claim[] = [];
    let firstAnswerAt = Number.POSITIVE_INFINITY;
    for (const claim of unexplained) {
      if (claim.attempt.sentAt > firstAnswerAt) break;
      begun.push(claim);
      firstAnswerAt = Math.min(firstAnswerAt, claim.attempt.received.at);
    }
    return begun;
  }

  /** Explains the parts from `start` on by this state, up to one that needs its own event. */
  function walk(claim: Claim, start: number, ordinal: number): void {
    const model = modelOf(claim.attempt.place);
    for (let number = start; number < claim.parts.length; number++) {
      const { asked, given } = claim.parts[number] ?? assert.fail();
      const { answer, acts } = model.ask(asked);
      note(claim, ordinal, number, answer);
      if (acts) {
        if (!claim.waiting.includes(number)) claim.waiting = [...claim.waiting, number];
        if (!explainsSecondLook(claim, asked, given)) return;
      } else if (!agrees(answer, asked.op, given) && !explainsSecondLook(claim, asked, given)) return;
    }
    claim.isMatched = true;
  }

  function explainsSecondLook(claim: Claim, asked: Operation, given: Given): boolean {
    const model = modelOf(claim.attempt.place);
    if (asked.op === 'lock') {
      const { answer: look } = model.ask(asked);
      claim.sawNoSession ||= look.accepted ? !look.replayed : look.code === 'custody/insufficient_funds';
      if (!claim.sawNoSession) return false;
      const { answer, acts } = model.ask({ ...asked, op: 'holdStake' });
      return !acts && !answer.accepted && agrees(answer, asked.op, given);
    }
    if (asked.op === 'withdraw') {
      const { answer: look } = model.ask(asked);
      claim.sawNoSession ||= look.accepted ? !look.replayed : look.code === 'referrals/insufficient_earnings';
      if (!claim.sawNoSession) return false;
      const { answer, acts } = model.ask({ ...asked, op: 'setAside' });
      return !acts && !answer.accepted && agrees(answer, asked.op, given);
    }
    if (asked.op !== 'open') return false;
    const { sessionId } = asked.chosen;
    claim.sawNoSession ||= !model.ask({ op: 'balance', sessionId }).answer.accepted;
    if (!claim.sawNoSession) return false;
    const { answer, acts } = model.ask({ ...asked, op: 'hold' });
    return !acts && !answer.accepted && agrees(answer, asked.op, given);
  }
}

function note({ possible }: Claim, ordinal: number, number: number, answer: Answer): void {
  const text = `${number === 0 ? '' : `${number}: `}${JSON.stringify(answer)}`;
  if (possible.at(-1)?.answer !== text) possible.push({ ordinal, answer: text });
}

const batchText = z.strictObject({
  results: z.array(z.strictObject({ status: z.int(), body: z.unknown() })),
});
const accountsText = z.strictObject({
  items: z.array(
    z.strictObject({
      currency: z.string(),
      currencyId: z.int(),
      available: z.string(),
      held: z.string(),
    }),
  ),
});

function claimsOf(attempt: Attempt, currencies: Run['currencies']): readonly Claim[] {
  const { call, received } = attempt;
  if (!received || received.status === 503) return [];
  const claim = (parts: Claim['parts']): Claim => ({
    attempt: { ...attempt, received },
    parts,
    waiting: [],
    sawNoSession: false,
    isMatched: false,
    possible: [],
  });
  const isRefused = received.status >= 400;
  switch (call.kind) {
    case 'single':
    case 'keyInHeader':
      return [claim([{ asked: withChosen(attempt, call.operation), given: received }])];
    case 'batch': {
      if (isRefused) {
        // An absent session is one error instead of one for each.
        return [claim([{ asked: { op: 'balance', sessionId: call.sessionId }, given: received }])];
      }
      const { results } = batchText.parse(JSON.parse(received.text));
      assert.equal(results.length, call.operations.length, received.text);
      assert.equal(received.text, JSON.stringify({ results }), 'a batch answers nothing else');
      return [
        claim(
          call.operations.map((asked, index) => {
            const { status, body } = results[index] ?? assert.fail();
            const given = { status, text: JSON.stringify(body), replayed: undefined };
            return { asked: withChosen(attempt, asked), given };
          }),
        ),
      ];
    }
    case 'accounts': {
      const { items } = accountsText.parse(JSON.parse(received.text));
      assert.equal(received.text, JSON.stringify({ items }), 'the accounts of a player and nothing else');
      assert.equal(items.length, currencies.length, 'an item for each currency');
      return currencies.map(({ id, code }, index) => {
        const { currency, currencyId, ...figures } = items[index] ?? assert.fail();
        assert.deepEqual({ currency, currencyId }, { currency: code, currencyId: id });
        const given = { ...received, text: JSON.stringify(figures) };
        return claim([{ asked: { op: 'figures', userId: call.userId, currency: code }, given }]);
      });
    }
  }
}

/** The ids and times of what is created are compared where it is created; here they only have to be present. */
function withChosen({ place, received }: Attempt, asked: Asked): Operation {
  if (asked.op === 'settle') return { ...asked, chosen: { settledAt: '' } };
  if (asked.op === 'lock') {
    const confirmBy: string = received?.status === 201 ? JSON.parse(received.text).confirmBy : '';
    return { ...asked, chosen: { lockedAt: '', confirmBy } };
  }
  if (asked.op !== 'open') return asked;
  const { transactionUuid } = asked;
  const answered: string =
    received?.status === 201 ? JSON.parse(received.text).sessionId : 'ses_of_a_refusal';
  const sessionId =
    transactionUuid === undefined
      ? answered
      : idFromParts('ses', 'playSession', place.environment, place.appId, transactionUuid);
  return { ...asked, chosen: { sessionId, openedAt: '' } };
}

function isSame(asked: Asked, operation: Operation | Step): boolean {
  const fields = (of: object) =>
    Object.entries(of).filter(([name, value]) => name !== 'chosen' && value !== undefined);
  return isDeepStrictEqual(Object.fromEntries(fields(asked)), Object.fromEntries(fields(operation)));
}

/** Compares byte for byte. */
function agrees(answer: Answer, op: Operation['op'], given: Given): boolean {
  const { status, text, replayed } = receivedOf(answer, op);
  if (answer.accepted ? given.replayed === !replayed : given.replayed === true) return false;
  return given.status === status && given.text === text;
}

function saysThatNothingWasDone({ status, text }: Received): boolean {
  return status >= 400 && JSON.parse(text).code !== 'service/outcome_unknown';
}

function verdictOf({ status, text, replayed }: Given): string {
  const body = JSON.parse(text);
  if (status >= 400) return String(body.code);
  return replayed ? 'replayed' : String(body.status ?? body.reason ?? 'answered');
}

const PAID_LATER: ReadonlySet<Operation['op']> = new Set(['settle', 'rollback', 'distribute', 'withdraw']);

/** Settlements, late rollbacks, distributions and withdrawals are answered once the money is where it belongs. */
function isOwedMoney(model: Model, { parts }: Claim): boolean {
  const paidLater = parts.filter(({ asked, given }) => given.status === 200 && PAID_LATER.has(asked.op));
  if (paidLater.length === 0) return false;
  const owed = model.owed();
  if (owed.length === 0) return false;
  return paidLater.some(({ asked, given }) => {
    if (asked.op === 'distribute' || asked.op === 'withdraw') {
      return owed.some(({ sessionId }) => sessionId === `commission:${asked.idemKey}`);
    }
    if (asked.op !== 'settle' && asked.op !== 'rollback') return false;
    const ofSession = owed.filter(({ sessionId }) => sessionId === asked.sessionId);
    if (asked.op === 'rollback') {
      return ofSession.some(({ transactionUuid }) => transactionUuid === asked.transactionUuid);
    }
    const { userId } = JSON.parse(given.text);
    return ofSession.some((each) => each.transactionUuid === undefined && each.userId === userId);
  });
}

/** What the model made of an event must be what the event says, field by field and posting by posting. */
function requireSameEffect(event: StreamEvent, body: object, change: Books): void {
  const data: unknown = JSON.parse(event.data);
  assert(typeof data === 'object' && data !== null);
  const stored = new Map<string, unknown>(Object.entries(data));
  for (const [field, value] of Object.entries(body)) {
    // The payouts of a pool are stored by the numbers of stakes; the request that they lead back to names them.
    if (typeof value === 'object' && field !== 'distributed') continue;
    if (stored.has(field)) assert.deepEqual(stored.get(field), value, `${field} differs`);
  }
  const status = 'status' in body ? body.status : undefined;
  assert.equal(event.type === 'BetRolledBack', status === 'rolled_back', `the status is ${status}`);
  assert.equal(event.type === 'RollbackRemembered', status === 'remembered', `the status is ${status}`);
  const { available, held, pools, referrals, house, adjustments } = change;
  const posted = { available: 0n, held: 0n, pools: 0n, referrals: 0n, house: 0n, adjustments: 0n };
  if (event.type === 'PoolSettled') {
    const settled = poolEvents.decode(event);
    assert(settled.type === 'PoolSettled');
    posted.house += settled.data.rake;
    posted.pools -= settled.data.rake;
  }
  if (event.type === 'EarningsAccrued') {
    const accrued = earningsEvents.decode(event);
    posted.referrals += accrued.data.amount;
    posted.house -= accrued.data.amount;
  }
  if (parseAccountStream(event.stream)) {
    for (const { account, amount } of postingsOf(accountEvents.decode(event))) {
      assert(account in posted, `${account} has no place in these books`);
      // The line above has found it among the keys.
      posted[account as keyof typeof posted] += amount;
    }
  }
  // What is credited to the player is debited to the operator.
  assert.deepEqual(
    { ...posted, adjustments: -posted.adjustments },
    { available, held, pools, referrals, house, adjustments },
  );
}
