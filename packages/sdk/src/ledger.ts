/** The ledger group. Source: specification, Ledger; contract, Ledger. */
import { type Fields, fieldsOf } from './answers.ts';
import type * as api from './api.ts';
import type * as types from './ledgerTypes.ts';
import { bodyOf, pageOf, readerOf } from './resources.ts';
import type { CallOptions } from './retry.ts';
import { type Call, failureOf, queryOf, readBody, segment } from './transport.ts';

/**
 * Every call rejects with a `CofferError`. Every write is sent under one transactionUuid, generated if none
 * is given, until it is answered or the deadline passes.
 */
export interface LedgerClient {
  /** Holds `lockAmount` of the player's available funds for a play session. */
  readonly open: (
    request: api.OpenRequest,
    options?: CallOptions,
  ) => Promise<types.OpenedSession & types.Replayable>;
  readonly bet: (request: api.BetRequest, options?: CallOptions) => Promise<api.PlacedBet & types.Replayable>;
  readonly win: (
    request: api.WinRequest,
    options?: CallOptions,
  ) => Promise<api.CreditedWin & types.Replayable>;
  /**
   * Never refused for a temporary reason: repeat it until it is answered. A bet not seen yet is refused when
   * it arrives.
   */
  readonly rollback: (
    request: api.RollbackRequest,
    options?: CallOptions,
  ) => Promise<api.RolledBackBet & types.Replayable>;
  readonly balance: (sessionId: string, options?: CallOptions) => Promise<api.SessionBalance>;
  /** Open bets count as lost. Answered once the payout is in the player's available funds. */
  readonly settle: (
    request: api.SettleRequest,
    options?: CallOptions,
  ) => Promise<api.SettledSession & types.Replayable>;
  /**
   * Many writes of one session at the cost of one. Results are in the order of the operations; a refusal does
   * not stop the others.
   */
  readonly batch: (
    request: types.BatchRequest,
    options?: CallOptions,
  ) => Promise<readonly types.BatchResult[]>;
  readonly session: (sessionId: string, options?: CallOptions) => Promise<api.SessionDetails>;
  /** Newest first. */
  readonly sessions: (
    query?: types.SessionsQuery,
    options?: CallOptions,
  ) => Promise<types.Page<api.SessionDetails>>;
  /** Oldest first; includes every write that was answered. */
  readonly transactions: (
    sessionId: string,
    query?: types.PageQuery,
    options?: CallOptions,
  ) => Promise<types.Page<api.Transaction>>;
  /** The integrity report. Discrepancies are an answer (`ok: false`), not an error. */
  readonly reconcile: (options?: CallOptions) => Promise<types.ReconcileReport>;
}

export function createLedgerClient(call: Call): LedgerClient {
  /** Sends a write under the key in its body. */
  const write = async <Answer>(
    path: string,
    transactionUuid: string,
    body: Readonly<Record<string, unknown>>,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer & types.Replayable> => {
    const key = { transactionUuids: [transactionUuid] };
    const reply = await call({ method: 'POST', path, body, key }, options);
    return { ...readBody(reply, readAnswer), replayed: reply.replayed };
  };

  const fetchOf = async <Answer>(
    path: string,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> => readBody(await call({ method: 'GET', path }, options), readAnswer);

  return {
    open: async ({ transactionUuid = newUuid(), ...request }, options) => {
      const body = bodyOf('OpenRequest', { ...request, transactionUuid });
      return {
        ...(await write('/ledger/sessions', transactionUuid, body, readOpened, options)),
        transactionUuid,
      };
    },
    bet: async ({ transactionUuid = newUuid(), ...bet }, options) => {
      const body = bodyOf('BetRequest', { ...bet, transactionUuid });
      return write('/ledger/bet', transactionUuid, body, readBet, options);
    },
    win: async ({ transactionUuid = newUuid(), ...win }, options) => {
      const body = bodyOf('WinRequest', { ...win, transactionUuid });
      return write('/ledger/win', transactionUuid, body, readWin, options);
    },
    rollback: async ({ transactionUuid = newUuid(), ...rollback }, options) => {
      const body = bodyOf('RollbackRequest', { ...rollback, transactionUuid });
      return write('/ledger/rollback', transactionUuid, body, readRollback, options);
    },
    settle: async ({ transactionUuid = newUuid(), ...settle }, options) => {
      const body = bodyOf('SettleRequest', { ...settle, transactionUuid });
      return write('/ledger/settle', transactionUuid, body, readSettled, options);
    },
    balance: async (sessionId, options) => {
      const reply = await call({ method: 'POST', path: '/ledger/balance', body: { sessionId } }, options);
      return readBody(reply, readBalance);
    },
    batch: async ({ sessionId, operations }, options) => {
      const bodies = operations.map(operationBody);
      const key = { transactionUuids: bodies.map(({ transactionUuid }) => transactionUuid) };
      const body = { sessionId, operations: bodies };
      const reply = await call({ method: 'POST', path: '/ledger/batch', body, key }, options);
      return readBody(reply, (answer) => {
        const results = answer.list('results', (result) => result);
        return bodies.map((operation, index) =>
          batchResult(operation, results[index] ?? fieldsOf(undefined, `results[${index}]`)),
        );
      });
    },
    session: async (sessionId, options) =>
      fetchOf(`/ledger/sessions/${segment(sessionId)}`, readDetails, options),
    sessions: async ({ userId, status, limit, cursor } = {}, options) =>
      fetchOf(`/ledger/sessions${queryOf({ userId, status, limit, cursor })}`, pageOf(readDetails), options),
    transactions: async (sessionId, { limit, cursor } = {}, options) =>
      fetchOf(
        `/ledger/sessions/${segment(sessionId)}/transactions${queryOf({ limit, cursor })}`,
        pageOf(readTransaction),
        options,
      ),
    reconcile: async (options) => {
      const reply = await call({ method: 'GET', path: '/ledger/reconcile', answers: [409] }, options);
      if (reply.status === 200) return readBody(reply, (answer) => ({ ...readReport(answer), ok: true }));
      const error = failureOf({ ...reply.known, body: reply.body });
      if (error.code !== 'ledger/integrity_failed') throw error;
      return readBody(reply, (answer) => readDiscrepancies(answer.object('details')));
    },
  };
}

const newUuid = () => crypto.randomUUID();

const readOpened = readerOf('Opened');
const readBet = readerOf('PlacedBet');
const readWin = readerOf('CreditedWin');
const readRollback = readerOf('RolledBackBet');
const readBalance = readerOf('SessionBalance');
const readSettled = readerOf('SettledSession');
const readDetails = readerOf('SessionDetails');
const readTransaction = readerOf('Transaction');
const readReport = readerOf('Reconciled');
const readCheck = readerOf('ReconcileCheck');

/** From the details of `ledger/integrity_failed`. */
const readDiscrepancies = (details: Fields): types.ReconcileReport => ({
  ok: false,
  position: details.text('position'),
  checks: details.list('checks', readCheck),
  discrepancies: details.list('discrepancies', (item) => ({
    check: item.text('check'),
    subject: item.text('subject'),
    expected: item.raw.expected ?? null,
    actual: item.raw.actual ?? null,
  })),
});

const REQUESTS = { bet: 'BetRequest', win: 'WinRequest', rollback: 'RollbackRequest' } as const;

function operationBody({ op, transactionUuid = newUuid(), ...operation }: types.BatchOperation) {
  // The session is named once, for all of them.
  return {
    op,
    transactionUuid,
    ...bodyOf(REQUESTS[op], { ...operation, transactionUuid, sessionId: undefined }),
  };
}

function batchResult(
  { op, transactionUuid }: { readonly op: types.BatchOperation['op']; readonly transactionUuid: string },
  result: Fields,
): types.BatchResult {
  const status = result.number('status');
  const answer = result.object('body');
  if (status !== 200) {
    const error = failureOf({ status, body: answer.raw, transactionUuids: [transactionUuid] });
    return { op, ok: false, error };
  }
  switch (op) {
    case 'bet':
      return { op, ok: true, answer: readBet(answer) };
    case 'win':
      return { op, ok: true, answer: readWin(answer) };
    case 'rollback':
      return { op, ok: true, answer: readRollback(answer) };
  }
}
