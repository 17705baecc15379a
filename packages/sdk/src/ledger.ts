/** The ledger group. Source: specification, Ledger; contract, Ledger. */
import { encodeAmount } from './amounts.ts';
import { type Fields, fieldsOf } from './answers.ts';
import * as read from './ledgerAnswers.ts';
import type * as types from './ledgerTypes.ts';
import type { CallOptions } from './retry.ts';
import { type Call, failureOf, queryOf, readBody, segment } from './transport.ts';

/**
 * Every call rejects with a `CofferError`. Every write is sent under one transactionUuid, made when it is not given,
 * until it is answered or the deadline comes.
 */
export interface LedgerClient {
  /** Holds `lockAmount` of the player's available funds for a play session. */
  readonly open: (
    request: types.OpenRequest,
    options?: CallOptions,
  ) => Promise<types.OpenedSession & types.Replayable>;
  readonly bet: (
    request: types.BetRequest,
    options?: CallOptions,
  ) => Promise<types.PlacedBet & types.Replayable>;
  readonly win: (
    request: types.WinRequest,
    options?: CallOptions,
  ) => Promise<types.CreditedWin & types.Replayable>;
  /** Never refused for a passing reason: repeat it until it is answered. A bet not seen yet is refused when it comes. */
  readonly rollback: (
    request: types.RollbackRequest,
    options?: CallOptions,
  ) => Promise<types.RolledBackBet & types.Replayable>;
  readonly balance: (sessionId: string, options?: CallOptions) => Promise<types.SessionBalance>;
  /** Open bets count as lost. Answered once the payout is in the player's available funds. */
  readonly settle: (
    request: types.SettleRequest,
    options?: CallOptions,
  ) => Promise<types.SettledSession & types.Replayable>;
  /** Many writes of one session at the price of one. Results are in the order of the operations; a refusal stops none. */
  readonly batch: (
    request: types.BatchRequest,
    options?: CallOptions,
  ) => Promise<readonly types.BatchResult[]>;
  readonly session: (sessionId: string, options?: CallOptions) => Promise<types.SessionDetails>;
  /** Newest first. */
  readonly sessions: (
    query?: types.SessionsQuery,
    options?: CallOptions,
  ) => Promise<types.Page<types.SessionDetails>>;
  /** Oldest first; shows every write that was answered. */
  readonly transactions: (
    sessionId: string,
    query?: types.PageQuery,
    options?: CallOptions,
  ) => Promise<types.Page<types.Transaction>>;
  /** The integrity report. Discrepancies are an answer (`ok: false`), not an error. */
  readonly reconcile: (options?: CallOptions) => Promise<types.ReconcileReport>;
}

export function createLedgerClient(call: Call): LedgerClient {
  /** Sends a write under the key in its body. */
  const write = async <Answer>(
    path: string,
    body: { readonly transactionUuid: string } & Readonly<Record<string, unknown>>,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer & types.Replayable> => {
    const key = { transactionUuids: [body.transactionUuid] };
    const reply = await call({ method: 'POST', path, body, key }, options);
    return { ...readBody(reply, readAnswer), replayed: reply.replayed };
  };

  const fetchOf = async <Answer>(
    path: string,
    readAnswer: (fields: Fields) => Answer,
    options: CallOptions | undefined,
  ): Promise<Answer> => readBody(await call({ method: 'GET', path }, options), readAnswer);

  return {
    open: async ({ userId, gameCode, currency, lockAmount, transactionUuid = newUuid() }, options) => {
      const body = { userId, gameCode, currency, lockAmount: encodeAmount(lockAmount), transactionUuid };
      return { ...(await write('/ledger/sessions', body, read.readOpened, options)), transactionUuid };
    },
    bet: async ({ sessionId, ...bet }, options) =>
      write('/ledger/bet', { sessionId, ...betBody(bet) }, read.readBet, options),
    win: async ({ sessionId, ...win }, options) =>
      write('/ledger/win', { sessionId, ...winBody(win) }, read.readWin, options),
    rollback: async ({ sessionId, ...rollback }, options) =>
      write('/ledger/rollback', { sessionId, ...rollbackBody(rollback) }, read.readRollback, options),
    settle: async ({ sessionId, transactionUuid = newUuid() }, options) =>
      write('/ledger/settle', { sessionId, transactionUuid }, read.readSettled, options),
    balance: async (sessionId, options) => {
      const reply = await call({ method: 'POST', path: '/ledger/balance', body: { sessionId } }, options);
      return readBody(reply, read.readBalance);
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
      fetchOf(`/ledger/sessions/${segment(sessionId)}`, read.readDetails, options),
    sessions: async ({ userId, status, limit, cursor } = {}, options) =>
      fetchOf(
        `/ledger/sessions${queryOf({ userId, status, limit, cursor })}`,
        read.readPage(read.readDetails),
        options,
      ),
    transactions: async (sessionId, { limit, cursor } = {}, options) =>
      fetchOf(
        `/ledger/sessions/${segment(sessionId)}/transactions${queryOf({ limit, cursor })}`,
        read.readPage(read.readTransaction),
        options,
      ),
    reconcile: async (options) => {
      const reply = await call({ method: 'GET', path: '/ledger/reconcile', answers: [409] }, options);
      if (reply.status === 200) return readBody(reply, read.readReport);
      const error = failureOf({ ...reply.known, body: reply.body });
      if (error.code !== 'ledger/integrity_failed') throw error;
      return readBody(reply, (answer) => read.readDiscrepancies(answer.object('details')));
    },
  };
}

const newUuid = () => crypto.randomUUID();

function betBody({ amount, roundId, transactionUuid = newUuid() }: Omit<types.BetRequest, 'sessionId'>) {
  return { transactionUuid, amount: encodeAmount(amount), ...(roundId !== undefined && { roundId }) };
}

function winBody({ betTransactionUuid, ...win }: Omit<types.WinRequest, 'sessionId'>) {
  return { ...betBody(win), betTransactionUuid };
}

function rollbackBody({
  betTransactionUuid,
  transactionUuid = newUuid(),
}: Omit<types.RollbackRequest, 'sessionId'>) {
  return { transactionUuid, betTransactionUuid };
}

function operationBody(operation: types.BatchOperation) {
  switch (operation.op) {
    case 'bet':
      return { op: operation.op, ...betBody(operation) };
    case 'win':
      return { op: operation.op, ...winBody(operation) };
    case 'rollback':
      return { op: operation.op, ...rollbackBody(operation) };
  }
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
      return { op, ok: true, answer: read.readBet(answer) };
    case 'win':
      return { op, ok: true, answer: read.readWin(answer) };
    case 'rollback':
      return { op, ok: true, answer: read.readRollback(answer) };
  }
}
