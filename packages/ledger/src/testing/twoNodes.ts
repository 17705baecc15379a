/**
 * Two nodes of the ledger on one log in memory, whose store is slow, unavailable or loses replies, and whose requests
 * may die between their steps, all as the random source decides.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAccounts } from '@coffer/accounts';
import {
  createCommandHandler,
  type Outcome,
  OutcomeUnknownError,
  type RecordedEvent,
  StoreUnreachableError,
} from '@coffer/event-store';
import { createMemoryEventStore, createMemoryLog, type MemoryLog } from '@coffer/event-store/memory';
import { Rejection } from '@coffer/kernel';
import type { KnownUser } from '@coffer/users';
import { answerBody, balanceBody, type PlaySessionAnswer } from '../domain/playSession.answers.ts';
import { playSessionEvents } from '../domain/playSession.events.ts';
import { createPlaySessions, type WriteCommand } from '../playSessions.ts';
import { type Asked, type Attempt, type Received, receivedOf } from './attempts.ts';
import { CURRENCIES, PLACE } from './smallCasino.ts';

/** What a caller sees of a service that died, or that does not know whether a write succeeded. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface TwoNodes {
  readonly log: MemoryLog;
  /** Everything requested so far, and what was answered. */
  readonly attempts: readonly Attempt[];
  /** Throws `NoAnswer`. */
  readonly ask: (node: number, asked: Asked) => Promise<void>;
  /** Does what the hold process does, with everything that the log has owed so far. Throws `NoAnswer`. */
  readonly finish: (node: number) => Promise<void>;
  /** How often a node had an outline to decide on. */
  readonly outlineHits: () => number;
  /** From here on nothing goes wrong. */
  readonly calmDown: () => void;
}

export function createTwoNodes(random: () => number): TwoNodes {
  const log = createMemoryLog();
  const attempts: Attempt[] = [];
  let ticks = 0;
  let isCalm = false;
  const happens = (probability: number) => !isCalm && random() < probability;

  const startNode = (cacheBytes: number) => {
    const store = createMemoryEventStore({
      log,
      async faults() {
        while (happens(0.5)) await nextTurn();
        if (happens(0.05)) return 'fail';
        return happens(0.1) ? 'loseReply' : undefined;
      },
    });
    const handler = createCommandHandler({ store, cacheBytes });
    const accounts = createAccounts({ handler, store });
    let timeMs = Date.UTC(2026, 0, 31);
    const playSessions = createPlaySessions({
      handler,
      store,
      clock() {
        timeMs += 1_000;
        return new Date(timeMs);
      },
      failPoint(name) {
        if (happens(0.04)) throw new NoAnswer(`died at ${name}`);
      },
      accounts,
      users: { show: async ({ userId }) => activeUser(userId), requireActive: async () => undefined },
      currencyByCode: (_appId, code) => CURRENCIES.find((each) => each.code === code),
    });
    return { accounts, playSessions, stats: handler.stats };
  };
  // One of them caches hardly anything: it decides on outlines, and folds again and again.
  const nodes = [startNode(10_000_000), startNode(Math.round(3_000 + 6_000 * random()))] as const;
  const nodeOf = (index: number) => nodes[index === 0 ? 0 : 1];

  async function answer(index: number, requestId: string, asked: Asked): Promise<Answered> {
    const { accounts, playSessions } = nodeOf(index);
    // Most callers give up at the first trouble; the others let the node retry for them.
    const deadlineMs = performance.now() + (happens(0.8) ? 0 : 1_000);
    const context = { requestId, actor: 'key:1', deadlineMs };
    const place = { ...PLACE, scopeId: 'scp_1' };
    switch (asked.op) {
      case 'credit':
      case 'debit': {
        const { ref, amount, reason: note } = asked;
        const metadata = { correlationId: requestId, actor: 'operator', occurredAt: TIME };
        const adjustment = { ref, amount: BigInt(amount), note };
        const outcome = await accounts[asked.op](accountOf(asked), adjustment, { metadata, deadlineMs });
        return { body: figuresBody(outcome.answer), replayed: outcome.replayed };
      }
      case 'figures':
        return { body: figuresBody(await accounts.figures(accountOf(asked), context)), replayed: false };
      case 'open': {
        const terms = { ...asked, lockAmount: BigInt(asked.lockAmount) };
        return bodyOf(await playSessions.open(place, terms, context));
      }
      case 'settle':
        return bodyOf(await playSessions.settle(place, asked.sessionId, asked.transactionUuid, context));
      case 'balance':
        return {
          body: balanceBody(await playSessions.loadFacts(place, asked.sessionId, context)),
          replayed: false,
        };
      case 'bet':
      case 'win':
      case 'rollback':
        return bodyOf(await playSessions.write(place, asked.sessionId, writeCommandOf(asked), context));
      default:
        throw new Error(`not taught: ${asked.op} is played with the whole service`);
    }
  }

  return {
    log,
    attempts,
    outlineHits: () => nodes.reduce((sum, { stats }) => sum + stats().outlineHits, 0),
    async ask(index, operation) {
      const attempt = {
        id: `request-${attempts.length}`,
        place: PLACE,
        call: { kind: 'single', operation },
      } as const;
      ticks += 1;
      const sentAt = ticks;
      const from = log.events.length;
      const at = attempts.push({ ...attempt, sentAt, received: undefined }) - 1;
      const received = await receive(operation.op, answer(index, attempt.id, operation));
      ticks += 1;
      const to = log.events.length;
      attempts[at] = { ...attempt, sentAt, received: { ...received, at: ticks }, log: { from, to } };
    },
    async finish(index) {
      const { carryOut } = nodeOf(index).playSessions;
      const deadlineMs = performance.now() + (isCalm ? 1_000 : 0);
      for (const event of [...log.events]) {
        const act = owedFor(event);
        if (act) await passingTroubleAsNoAnswer<unknown>(carryOut[act](event, deadlineMs));
      }
    },
    calmDown() {
      isCalm = true;
    },
  };
}

const TIME = '2026-01-31T12:00:00.000Z';

interface Answered {
  readonly body: object;
  readonly replayed: boolean;
}

const figuresBody = ({ available, held }: { readonly available: bigint; readonly held: bigint }) => ({
  available: `${available}`,
  held: `${held}`,
});

function bodyOf({ answer, replayed }: Outcome<PlaySessionAnswer>): Answered {
  if (answer.outcome === 'lost') throw new Error('A request was answered that another one won.');
  return { body: answerBody(answer), replayed };
}

function accountOf({ userId, currency }: Extract<Asked, { op: 'figures' | 'credit' | 'debit' }>) {
  const currencyId = CURRENCIES.find(({ code }) => code === currency)?.id;
  if (currencyId === undefined) throw new Error(`${currency} is unknown.`);
  return { ...PLACE, userId, currencyId };
}

function writeCommandOf(asked: Extract<Asked, { op: 'bet' | 'win' | 'rollback' }>): WriteCommand {
  switch (asked.op) {
    case 'bet':
      return { ...asked, type: 'PlaceBet', amount: BigInt(asked.amount) };
    case 'win':
      return { ...asked, type: 'CreditWin', amount: BigInt(asked.amount) };
    case 'rollback':
      return { ...asked, type: 'RollBackBet' };
  }
}

const activeUser = (userId: string): KnownUser => ({
  userId,
  appId: PLACE.appId,
  registeredAt: TIME,
  status: 'active',
  identities: [],
  revision: 0,
});

function owedFor(event: RecordedEvent): 'open' | 'close' | 'creditLateRollback' | undefined {
  if (event.type === 'FundsHeld') return 'open';
  if (event.type === 'SessionSettled') return 'close';
  if (event.type !== 'BetRolledBack') return undefined;
  const rolledBack = playSessionEvents.decode(event);
  if (rolledBack.type !== 'BetRolledBack') return undefined;
  const { late, amount } = rolledBack.data;
  return late && amount > 0n ? 'creditLateRollback' : undefined;
}

async function receive(op: Asked['op'], answered: Promise<Answered>): Promise<Received> {
  try {
    return receivedOf({ accepted: true, ...(await passingTroubleAsNoAnswer(answered)) }, op);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const { code, details = {} } = error;
    const text = JSON.stringify(details, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    return receivedOf({ accepted: false, code, details: JSON.parse(text) }, op);
  }
}

async function passingTroubleAsNoAnswer<Result>(work: PromiseLike<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof OutcomeUnknownError || error instanceof StoreUnreachableError) {
      throw new NoAnswer(error.message);
    }
    throw error;
  }
}
