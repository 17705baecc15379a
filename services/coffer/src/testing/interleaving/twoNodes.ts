/**
 * Two nodes of the ledger on one log in memory, whose store takes its time, is away or loses replies, and
 * whose requests may die between their steps: everything as the random source says.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAccounts } from '@coffer/accounts';
import {
  createCommandHandler,
  OutcomeUnknownError,
  type RecordedEvent,
  StoreUnreachableError,
} from '@coffer/event-store';
import { createMemoryEventStore, createMemoryLog, type MemoryLog } from '@coffer/event-store/memory';
import { idFromParts, newId, Rejection } from '@coffer/kernel';
import { answerBody, balanceBody, createPlaySessions, playSessionEvents } from '@coffer/ledger';
import type { KnownUser } from '@coffer/users';
import type { Random } from '../random.ts';

export const CURRENCY = { id: 1, code: 'CHIP' } as const;
const PLACE = { environment: 'test', appId: newId('app') } as const;

export type Request =
  | {
      readonly op: 'credit' | 'debit';
      readonly userId: string;
      readonly ref: string;
      readonly amount: bigint;
    }
  | { readonly op: 'figures'; readonly userId: string }
  | {
      readonly op: 'open';
      readonly userId: string;
      readonly gameCode: string;
      readonly lockAmount: bigint;
      readonly transactionUuid: string;
    }
  | {
      readonly op: 'bet';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly amount: bigint;
    }
  | {
      readonly op: 'win';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly betTransactionUuid: string;
      readonly amount: bigint;
    }
  | {
      readonly op: 'rollback';
      readonly sessionId: string;
      readonly transactionUuid: string;
      readonly betTransactionUuid: string;
    }
  | { readonly op: 'settle'; readonly sessionId: string; readonly transactionUuid: string | undefined }
  | { readonly op: 'balance'; readonly sessionId: string };

/** As on the wire. */
export type Answer =
  | { readonly accepted: true; readonly body: string }
  | { readonly accepted: false; readonly code: string; readonly details: string };

/** What a caller sees of a service that died, or does not know what became of a write. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The session that an open under this uuid leads to. */
export const sessionIdOf = (transactionUuid: string): string =>
  idFromParts('ses', 'playSession', PLACE.environment, PLACE.appId, transactionUuid);

export interface TwoNodes {
  readonly log: MemoryLog;
  readonly place: typeof PLACE;
  /** Throws `NoAnswer`. */
  readonly ask: (node: number, request: Request) => Promise<Answer>;
  /** What the hold process does, with everything that the log has owed so far. Throws `NoAnswer`. */
  readonly finish: (node: number) => Promise<void>;
  /** From here on nothing goes wrong any more. */
  readonly calmDown: () => void;
}

export function createTwoNodes(random: Random): TwoNodes {
  const log = createMemoryLog();
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
      currencyByCode: (_appId, code) => (code === CURRENCY.code ? CURRENCY : undefined),
    });
    return { accounts, playSessions };
  };
  // One of them remembers hardly anything and folds anew again and again.
  const nodes = [startNode(10_000_000), startNode(3_000)] as const;
  const nodeOf = (index: number) => nodes[index === 0 ? 0 : 1];

  async function answer(index: number, request: Request): Promise<object> {
    const { accounts, playSessions } = nodeOf(index);
    // Most callers give up at the first trouble; the others have the node try again for them.
    const deadlineMs = performance.now() + (happens(0.8) ? 0 : 1_000);
    const context = { requestId: 'request', actor: 'key:1', deadlineMs };
    const place = { ...PLACE, scopeId: 'scp_1' };
    switch (request.op) {
      case 'credit':
      case 'debit': {
        const key = { ...PLACE, userId: request.userId, currencyId: CURRENCY.id };
        const metadata = { correlationId: 'request', actor: 'operator', occurredAt: TIME };
        const outcome = await accounts[request.op](key, request, { metadata, deadlineMs });
        return figuresBody(outcome.answer);
      }
      case 'figures': {
        const key = { ...PLACE, userId: request.userId, currencyId: CURRENCY.id };
        return figuresBody(await accounts.figures(key, context));
      }
      case 'open': {
        const { op: _, ...terms } = request;
        const opened = await playSessions.open(place, { ...terms, currency: CURRENCY.code }, context);
        return answerBody(opened.answer);
      }
      case 'settle': {
        const { sessionId, transactionUuid } = request;
        return answerBody((await playSessions.settle(place, sessionId, transactionUuid, context)).answer);
      }
      case 'balance':
        return balanceBody(await playSessions.load(place, request.sessionId, context));
      default: {
        const command = writeCommandOf(request);
        const outcome = await playSessions.write(place, request.sessionId, command, context);
        if (outcome.answer.outcome === 'lost') throw new Error('A write was answered as an open.');
        return answerBody(outcome.answer);
      }
    }
  }

  return {
    log,
    place: PLACE,
    ask: (index, request) => refusalsAsAnswers(answer(index, request)),
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

export const figuresBody = ({ available, held }: { readonly available: bigint; readonly held: bigint }) => ({
  available: `${available}`,
  held: `${held}`,
});

/** What a bet, a win or a rollback asks of the session. */
export function writeCommandOf(request: Extract<Request, { op: 'bet' | 'win' | 'rollback' }>) {
  switch (request.op) {
    case 'bet': {
      const { op: _, sessionId: _of, ...bet } = request;
      return { type: 'PlaceBet', ...bet } as const;
    }
    case 'win': {
      const { op: _, sessionId: _of, ...win } = request;
      return { type: 'CreditWin', ...win } as const;
    }
    case 'rollback': {
      const { op: _, sessionId: _of, ...rollback } = request;
      return { type: 'RollBackBet', ...rollback } as const;
    }
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

async function refusalsAsAnswers(body: Promise<object>): Promise<Answer> {
  try {
    return { accepted: true, body: JSON.stringify(await passingTroubleAsNoAnswer(body)) };
  } catch (error) {
    if (error instanceof Rejection) return refusalOf(error);
    throw error;
  }
}

export function refusalOf({ code, details = {} }: Rejection): Answer {
  const text = JSON.stringify(details, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  return { accepted: false, code, details: text };
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
