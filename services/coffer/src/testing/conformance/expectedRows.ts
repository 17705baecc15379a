/** Every row of the read models, according to the executable model and the order of the log. */
import assert from 'node:assert/strict';
import { accountStreamOf } from '@coffer/accounts';
import type { Queryable } from '@coffer/database';
import { decodeMetadata } from '@coffer/kernel';
import { playSessionStream } from '@coffer/ledger';
import type {
  Applied,
  Books,
  Contents,
  Explained,
  Operation,
  Place,
  Run,
  Step,
} from '@coffer/ledger/testing';

/** By column, as text. */
export type Row = Readonly<Record<string, string | null>>;

type Cell = string | number | bigint | null | undefined;

/** The rows of each table of the read models, in no particular order. */
export const expectedRows: Readonly<Record<string, (run: Run, explained: Explained) => readonly Row[]>> = {
  accounts: accountRows,
  holds: holdRows,
  // Play moves nothing on a chain.
  moves: () => [],
  play_sessions: playSessionRows,
  postings: postingRows,
  trial_balances: trialBalanceRows,
};

/** The rows of a table, each value as text and times in ISO 8601. */
export async function storedRows(db: Queryable, schema: string, table: string): Promise<readonly Row[]> {
  const { rows } = await db.query<Record<string, unknown>>(`select * from ${schema}.${table}`);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([column, value]) => [
        column,
        value === null ? null : value instanceof Date ? value.toISOString() : String(value),
      ]),
    ),
  );
}

const rowOf = (cells: Readonly<Record<string, Cell>>): Row =>
  Object.fromEntries(
    Object.entries(cells).map(([column, value]) => [column, value == null ? null : String(value)]),
  );

/** A place with the model's data for it. */
const placesOf = ({ models }: Explained): readonly (Contents & { readonly place: Place })[] =>
  [...models].map(([place, model]) => ({ place, ...model.contents() }));

const currencyIdOf = ({ currencies }: Run, currency: string): number =>
  currencies.find(({ code }) => code === currency)?.id ?? assert.fail(`${currency} is none of the run`);

const placeCells = ({ appId, environment }: Place) => ({ app_id: appId, environment });

/** The number of each stream among those of its kind, from 1, and the revision of its last event. */
function streamsOf({ applied }: Explained, kind: 'account' | 'playSession') {
  const streams = new Map<string, { readonly ordinal: number; revision: number }>();
  for (const { event } of applied) {
    if (!event.stream.startsWith(`${kind}-`)) continue;
    const known = streams.get(event.stream) ?? { ordinal: streams.size + 1, revision: -1 };
    streams.set(event.stream, known);
    known.revision += 1;
  }
  return (stream: string) => streams.get(stream) ?? assert.fail(`${stream} has no event`);
}

function accountRows(run: Run, explained: Explained): readonly Row[] {
  const placeOf = streamsOf(explained, 'account');
  return placesOf(explained).flatMap(({ place, accounts }) =>
    accounts.map(({ userId, currency, available, held }) => {
      const currencyId = currencyIdOf(run, currency);
      const stream = accountStreamOf({ ...place, userId, currencyId });
      return rowOf({
        stream,
        ...placeOf(stream),
        ...placeCells(place),
        user_id: userId,
        currency_id: currencyId,
        available,
        held,
      });
    }),
  );
}

function playSessionRows(run: Run, explained: Explained): readonly Row[] {
  const placeOf = streamsOf(explained, 'playSession');
  return placesOf(explained).flatMap(({ place, sessions }) =>
    sessions.map((session) => {
      const { sessionId, currency, lockAmount, balance, settledAt } = session;
      const isSettled = settledAt !== undefined;
      return rowOf({
        session_id: sessionId,
        ...placeOf(playSessionStream(place.environment, place.appId, sessionId)),
        ...placeCells(place),
        user_id: session.userId,
        game_code: session.gameCode,
        currency,
        currency_id: currencyIdOf(run, currency),
        lock_amount: lockAmount,
        balance,
        total_bet: session.totalBet,
        total_win: session.totalWin,
        payout: isSettled ? balance : null,
        net: isSettled ? balance - lockAmount : null,
        late_rolled_back: session.lateRolledBack,
        status: isSettled ? 'settled' : 'open',
        opened_at: session.openedAt,
        settled_at: settledAt,
      });
    }),
  );
}

function holdRows(run: Run, explained: Explained): readonly Row[] {
  const revisionOf = (op: 'hold' | 'closeHold', stream: string, sessionId: string) =>
    explained.applied.find(
      ({ event, operation }) =>
        operation.op === op && event.stream === stream && sessionIdIn(operation) === sessionId,
    )?.event.revision;
  return placesOf(explained).flatMap(({ place, accounts }) =>
    accounts.flatMap(({ userId, currency, holds }) => {
      const currencyId = currencyIdOf(run, currency);
      const stream = accountStreamOf({ ...place, userId, currencyId });
      return holds.map(({ sessionId, amount, payout }) =>
        rowOf({
          stream,
          hold_id: `session:${sessionId}`,
          ...placeCells(place),
          user_id: userId,
          currency_id: currencyId,
          purpose: 'session',
          amount,
          payout,
          held_at_revision: revisionOf('hold', stream, sessionId),
          closed_at_revision: revisionOf('closeHold', stream, sessionId),
        }),
      );
    }),
  );
}

function sessionIdIn(operation: Operation | Step): string | undefined {
  if ('sessionId' in operation) return operation.sessionId;
  return operation.op === 'hold' || operation.op === 'open' ? operation.chosen.sessionId : undefined;
}

type BookAccount = keyof Books;

/** The accounts that an operation books on, in this order, even if nothing moves on one of them. */
const BOOKED_ON: Readonly<Partial<Record<(Operation | Step)['op'], readonly BookAccount[]>>> = {
  credit: ['available', 'adjustments'],
  debit: ['available', 'adjustments'],
  hold: ['available', 'held'],
  closeHold: ['held', 'available', 'house'],
  creditRollback: ['available', 'house'],
};

interface Posting {
  readonly applied: Applied;
  readonly number: number;
  readonly account: BookAccount;
  readonly amount: bigint;
}

function postingsOf({ applied }: Explained): readonly Posting[] {
  return applied.flatMap((each) =>
    (BOOKED_ON[each.operation.op] ?? []).map((account, index) => {
      const change = each.change[account];
      // The books owe the operator what the operator has put in.
      const amount = account === 'adjustments' ? -change : change;
      return { applied: each, number: index + 1, account, amount };
    }),
  );
}

/** The subject of the posting's event, and the owner of the account. */
function subjectOf({ event, operation }: Applied) {
  const [, , userId = '', currencyId = ''] = event.stream.split('.');
  const subject = (() => {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return `adjust:${operation.ref}`;
      case 'creditRollback':
        return `rollback:${operation.sessionId}/${operation.transactionUuid}`;
      default:
        return `session:${sessionIdIn(operation)}`;
    }
  })();
  return { subject, userId, currencyId };
}

function postingRows(_run: Run, explained: Explained): readonly Row[] {
  const balances = new Map<string, bigint>();
  return postingsOf(explained).map(({ applied, number, account, amount }) => {
    const { ordinal, event, place } = applied;
    const { subject, userId, currencyId } = subjectOf(applied);
    // The player's own, or the books'.
    const isOwn = account === 'available' || account === 'held';
    const key = isOwn ? `${event.stream} ${account}` : `${place.name}.${currencyId}.${account}`;
    const before = balances.get(key) ?? 0n;
    balances.set(key, before + amount);
    return rowOf({
      log_ordinal: ordinal,
      number,
      stream: event.stream,
      revision: event.revision,
      ...placeCells(place),
      user_id: userId,
      currency_id: currencyId,
      account,
      subject,
      amount,
      previous_balance: before,
      current_balance: before + amount,
      occurred_at: decodeMetadata(event.metadata).occurredAt,
    });
  });
}

function trialBalanceRows(run: Run, explained: Explained): readonly Row[] {
  const books = new Map<string, { place: Place; currencyId: string; account: BookAccount }>();
  for (const { applied, account } of postingsOf(explained)) {
    const { currencyId } = subjectOf(applied);
    const book = `${applied.place.name}.${currencyId}.${account}`;
    if (!books.has(book)) books.set(book, { place: applied.place, currencyId, account });
  }
  return [...books].map(([book, { place, currencyId, account }], index) => {
    const currency = run.currencies.find(({ id }) => String(id) === currencyId)?.code ?? assert.fail(book);
    const model = explained.models.get(place) ?? assert.fail(book);
    const balance = model.books(currency)[account];
    return rowOf({
      book,
      ordinal: index + 1,
      ...placeCells(place),
      currency_id: currencyId,
      account,
      balance: account === 'adjustments' ? -balance : balance,
    });
  });
}
