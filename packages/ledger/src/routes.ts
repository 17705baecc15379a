/** The ledger group. Source: specification, Ledger; contract, Ledger. */
import type { Settled } from '@coffer/event-store';
import { type AppCaller, type Endpoint, endpoint, type RequestContext } from '@coffer/http';
import {
  answerBody,
  balanceBody,
  detailsBody,
  type PlaySessionAnswer,
} from './domain/playSession.answers.ts';
import * as schemas from './domain/playSession.resource.ts';
import type { PlaySessions, WriteCommand } from './playSessions.ts';
import type { ListSessions } from './sessionList.ts';
import type { ListTransactions } from './transactions.ts';

export interface LedgerRouteDependencies {
  readonly playSessions: PlaySessions;
  readonly listTransactions: ListTransactions;
  readonly listSessions: ListSessions;
  /** The error envelope of a refusal inside a batch. */
  readonly envelopeOf: (error: unknown) => { readonly status: number; readonly body: unknown };
}

/** Custody settle and the ledger batch may be large. Source: contract, Common rules. */
const BATCH_LIMIT_BYTES = 4 * 1024 * 1024;

const PLAY_ERRORS = ['ledger/session_not_found', 'ledger/transaction_conflict'] as const;
export const SETTLE_ERRORS = PLAY_ERRORS;
const BET_ERRORS = [
  ...PLAY_ERRORS,
  'ledger/bet_rolled_back',
  'ledger/session_settled',
  'ledger/session_full',
  'ledger/insufficient_balance',
] as const;
const WIN_ERRORS = [
  ...PLAY_ERRORS,
  'ledger/not_a_bet',
  'ledger/bet_rolled_back',
  'ledger/session_settled',
  'ledger/bet_not_found',
] as const;
const ROLLBACK_ERRORS = [...PLAY_ERRORS, 'ledger/not_a_bet', 'ledger/bet_already_won'] as const;

export function ledgerEndpoints(dependencies: LedgerRouteDependencies): readonly Endpoint[] {
  const { playSessions, listTransactions, listSessions, envelopeOf } = dependencies;

  const write = async (
    caller: AppCaller,
    sessionId: string,
    command: WriteCommand,
    context: RequestContext,
  ) => {
    const { answer, replayed } = await playSessions.write(caller, sessionId, command, context);
    return { status: 200, body: bodyOf(answer), replayed };
  };

  return [
    endpoint({
      method: 'POST',
      path: '/ledger/sessions',
      credential: 'sk',
      summary: 'Open a play session with a lock',
      description:
        'Holds lockAmount of the available funds. With a transactionUuid, a repeat gets the first answer; without one, each call opens a new session.',
      body: schemas.openSessionBody,
      idempotencyHeader: { insteadOf: 'transactionUuid' },
      links: {
        'POST /ledger/bet': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/batch': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/balance': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/settle': { sessionId: '$response.body#/sessionId' },
        'GET /ledger/sessions/:sessionId': { sessionId: '$response.body#/sessionId' },
        'GET /ledger/sessions/:sessionId/transactions': { sessionId: '$response.body#/sessionId' },
      },
      success: { status: 201, schema: schemas.openedSession },
      errors: [
        'users/not_found',
        'users/suspended',
        'ledger/unknown_currency',
        'ledger/transaction_conflict',
        'ledger/insufficient_funds',
      ],
      handle: async ({ caller, body, context }) => {
        const { answer, replayed } = await playSessions.open(caller, body, context);
        return { status: 201, body: answerBody(answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/bet',
      credential: 'sk',
      summary: 'Place a bet against the session balance',
      body: schemas.betBody,
      links: {
        'POST /ledger/win': {
          sessionId: '$response.body#/sessionId',
          betTransactionUuid: '$response.body#/transactionUuid',
        },
        'POST /ledger/rollback': {
          sessionId: '$response.body#/sessionId',
          betTransactionUuid: '$response.body#/transactionUuid',
        },
        'POST /ledger/balance': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/settle': { sessionId: '$response.body#/sessionId' },
      },
      success: { status: 200, schema: schemas.placedBet },
      errors: BET_ERRORS,
      handle: ({ caller, body: { sessionId, ...bet }, context }) =>
        write(caller, sessionId, { type: 'PlaceBet', ...bet }, context),
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/win',
      credential: 'sk',
      summary: 'Credit a win, referencing its bet',
      body: schemas.winBody,
      links: {
        'POST /ledger/balance': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/settle': { sessionId: '$response.body#/sessionId' },
      },
      success: { status: 200, schema: schemas.creditedWin },
      errors: WIN_ERRORS,
      handle: ({ caller, body: { sessionId, ...win }, context }) =>
        write(caller, sessionId, { type: 'CreditWin', ...win }, context),
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/rollback',
      credential: 'sk',
      summary: 'Reverse a bet; remembered if the bet is not yet seen',
      description: 'Safe to repeat until it is answered: it is never refused for a passing reason.',
      body: schemas.rollbackBody,
      links: {
        'POST /ledger/balance': { sessionId: '$response.body#/sessionId' },
        'POST /ledger/settle': { sessionId: '$response.body#/sessionId' },
      },
      success: { status: 200, schema: schemas.rolledBackBet },
      errors: ROLLBACK_ERRORS,
      handle: ({ caller, body: { sessionId, ...rollback }, context }) =>
        write(caller, sessionId, { type: 'RollBackBet', ...rollback }, context),
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/balance',
      credential: 'sk',
      summary: 'Current session balance',
      body: schemas.sessionBody,
      success: { status: 200, schema: schemas.sessionBalance },
      errors: ['ledger/session_not_found'],
      handle: async ({ caller, body, context }) => {
        const session = await playSessions.loadFacts(caller, body.sessionId, context);
        return { status: 200, body: balanceBody(session) };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/settle',
      credential: 'sk',
      summary: 'Settle the session and net the payout',
      description: "Answered once the payout is in the player's available funds. Open bets count as lost.",
      body: schemas.settleBody,
      links: {
        'GET /ledger/sessions/:sessionId': { sessionId: '$response.body#/sessionId' },
        'GET /ledger/sessions/:sessionId/transactions': { sessionId: '$response.body#/sessionId' },
      },
      success: { status: 200, schema: schemas.settledSession },
      errors: SETTLE_ERRORS,
      handle: async ({ caller, body, context }) => {
        const { sessionId, transactionUuid } = body;
        const { answer, replayed } = await playSessions.settle(caller, sessionId, transactionUuid, context);
        return { status: 200, body: answerBody(answer), replayed };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/ledger/batch',
      credential: 'sk',
      summary: 'Bets, wins and rollbacks of one session, in order, in one append',
      description: 'Each result is what the single call would have answered; a refusal stops nothing.',
      body: schemas.batchBody,
      bodyLimitBytes: BATCH_LIMIT_BYTES,
      success: { status: 200, schema: schemas.batchResults },
      errors: ['ledger/session_not_found'],
      handle: async ({ caller, body, context }) => {
        const commands = body.operations.map(commandOf);
        const results = await playSessions.writeAll(caller, body.sessionId, commands, context);
        return { status: 200, body: { results: results.map((result) => resultOf(result, envelopeOf)) } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/ledger/sessions',
      credential: 'sk',
      summary: 'List play sessions, newest first',
      query: schemas.sessionsQuery,
      links: {
        'GET /ledger/sessions': { cursor: '$response.body#/nextCursor' },
        'GET /ledger/sessions/:sessionId': { sessionId: '$response.body#/items/0/sessionId' },
      },
      success: { status: 200, schema: schemas.sessionPage },
      errors: [],
      handle: async ({ caller, query }) => {
        return { status: 200, body: await listSessions(caller, query) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/ledger/sessions/:sessionId',
      credential: 'sk',
      summary: 'A play session with its totals',
      success: { status: 200, schema: schemas.sessionDetails },
      errors: ['ledger/session_not_found'],
      handle: async ({ caller, params, context }) => {
        const session = await playSessions.loadFacts(caller, params.sessionId, context);
        return { status: 200, body: detailsBody(session) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/ledger/sessions/:sessionId/transactions',
      credential: 'sk',
      summary: 'The bets, wins and rollbacks of a session, oldest first',
      query: schemas.transactionsQuery,
      links: {
        'GET /ledger/sessions/:sessionId/transactions': {
          sessionId: '$request.path.sessionId',
          cursor: '$response.body#/nextCursor',
        },
      },
      success: { status: 200, schema: schemas.transactionPage },
      errors: ['ledger/session_not_found'],
      handle: async ({ caller, params, query, context }) => {
        const session = await playSessions.load(caller, params.sessionId, context);
        return { status: 200, body: await listTransactions(caller, session, query) };
      },
    }),
  ];
}

function commandOf(operation: schemas.BatchOperation): WriteCommand {
  switch (operation.op) {
    case 'bet': {
      const { op: _, ...bet } = operation;
      return { type: 'PlaceBet', ...bet };
    }
    case 'win': {
      const { op: _, ...win } = operation;
      return { type: 'CreditWin', ...win };
    }
    case 'rollback': {
      const { op: _, ...rollback } = operation;
      return { type: 'RollBackBet', ...rollback };
    }
  }
}

function resultOf(
  result: Settled<PlaySessionAnswer>,
  envelopeOf: LedgerRouteDependencies['envelopeOf'],
): { readonly status: number; readonly body: unknown } {
  if (result.status === 'refused') return envelopeOf(result.reason);
  return { status: 200, body: bodyOf(result.answer) };
}

function bodyOf(answer: PlaySessionAnswer) {
  // Only an open is answered `lost`, and it turns that into a conflict.
  if (answer.outcome === 'lost') throw new Error('A write was answered as an open.');
  return answerBody(answer);
}
