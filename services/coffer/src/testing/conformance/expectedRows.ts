/** Every row of the read models, according to the executable model and the order of the log. */
import assert from 'node:assert/strict';
import { accountStreamOf } from '@coffer/accounts';
import { poolStream } from '@coffer/custody/testing';
import type { Queryable } from '@coffer/database';
import { decodeMetadata } from '@coffer/kernel';
import { playSessionStream } from '@coffer/ledger';
import type { Applied, Books, Explained, Operation, Place, Run, Step } from '@coffer/ledger/testing';
import { referralRows } from './referralRows.ts';
import { placeCells, placesOf, type Row, rowOf, streamsOf } from './rows.ts';

/** The rows of each table of the read models, in no particular order. */
export const expectedRows: Readonly<Record<string, (run: Run, explained: Explained) => readonly Row[]>> = {
  accounts: accountRows,
  holds: holdRows,
  // Play moves nothing on a chain.
  moves: () => [],
  play_sessions: playSessionRows,
  pool_stakes: stakeRows,
  pools: poolRows,
  postings: postingRows,
  trial_balances: trialBalanceRows,
  ...referralRows,
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

const currencyIdOf = ({ currencies }: Run, currency: string): number =>
  currencies.find(({ code }) => code === currency)?.id ?? assert.fail(`${currency} is none of the run`);

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

function poolRows(_run: Run, explained: Explained): readonly Row[] {
  const placeOf = streamsOf(explained, 'pool');
  return placesOf(explained).flatMap(({ place, pools }) =>
    pools.map(({ poolId, currencyId, status, rake, openedAt, stakes }) => {
      const stream = poolStream(place.environment, place.appId, poolId);
      const sumOf = (standing: string) =>
        stakes.reduce((sum, stake) => (stake.status === standing ? sum + stake.amount : sum), 0n);
      const last = status === 'open' ? undefined : stakes.at(-1);
      const end = explained.applied.find(
        ({ event }) => event.stream === stream && /^Pool(Settled|Refunded)$/.test(event.type),
      );
      // Everything that is owed has been done in the end.
      const credits = explained.applied.filter(
        ({ event, operation }) =>
          end !== undefined &&
          operation.op === 'closeStake' &&
          decodeMetadata(event.metadata).causationId === end.event.id,
      );
      return rowOf({
        stream,
        ...placeOf(stream),
        ...placeCells(place),
        pool_id: poolId,
        currency_id: currencyId,
        status,
        locked: sumOf('locked'),
        confirmed: sumOf('confirmed'),
        rake,
        credits: status === 'open' ? 0 : stakes.length,
        last_credit: last && Object.values(holdOf(place, poolId, currencyId, last)).join(' '),
        credits_done: credits.length,
        credits_done_at: credits.at(-1)?.ordinal ?? 0,
        ended_by: end?.event.id,
        opened_at: openedAt,
        closed_at: end && decodeMetadata(end.event.metadata).occurredAt,
      });
    }),
  );
}

function stakeRows(_run: Run, explained: Explained): readonly Row[] {
  return placesOf(explained).flatMap(({ place, pools }) =>
    pools.flatMap(({ poolId, currencyId, status, stakes }) =>
      stakes.map((stake, index) => {
        const { account, hold } = holdOf(place, poolId, currencyId, stake);
        return rowOf({
          stream: poolStream(place.environment, place.appId, poolId),
          number: index + 1,
          ...placeCells(place),
          bet_id: stake.betId,
          user_id: stake.userId,
          currency_id: currencyId,
          account,
          hold_id: hold,
          amount: stake.amount,
          status: status === 'open' || stake.status === 'released' ? stake.status : status,
          payout: status === 'open' || stake.status === 'released' ? null : stake.credit,
          credit_due: status !== 'open' ? 'true' : 'false',
          confirm_by: stake.confirmBy,
        });
      }),
    ),
  );
}

const holdOf = (
  place: Place,
  poolId: string,
  currencyId: number,
  { betId, userId }: { readonly betId: string; readonly userId: string },
) => ({
  account: accountStreamOf({ ...place, userId, currencyId }),
  hold: `stake:${poolId}/${betId}`,
});

function holdRows(run: Run, explained: Explained): readonly Row[] {
  const revisionOf = (op: Applied['operation']['op'], stream: string, id: string) =>
    explained.applied.find(
      ({ event, operation }) => operation.op === op && event.stream === stream && holderIn(operation) === id,
    )?.event.revision;
  return placesOf(explained).flatMap(({ place, accounts }) =>
    accounts.flatMap(({ userId, currency, holds, stakes }) => {
      const currencyId = currencyIdOf(run, currency);
      const stream = accountStreamOf({ ...place, userId, currencyId });
      const ofSessions = holds.map(({ sessionId: id, ...hold }) => {
        return { id, purpose: 'session', opens: 'hold', closes: 'closeHold', ...hold } as const;
      });
      const ofStakes = stakes.map(({ stakeId: id, ...hold }) => {
        return { id, purpose: 'stake', opens: 'holdStake', closes: 'closeStake', ...hold } as const;
      });
      return [...ofSessions, ...ofStakes].map(({ id, purpose, opens, closes, amount, payout }) =>
        rowOf({
          stream,
          hold_id: `${purpose}:${id}`,
          ...placeCells(place),
          user_id: userId,
          currency_id: currencyId,
          purpose,
          amount,
          payout,
          held_at_revision: revisionOf(opens, stream, id),
          closed_at_revision: revisionOf(closes, stream, id),
        }),
      );
    }),
  );
}

/** The session or the stake that a hold is for. */
function holderIn(operation: Operation | Step): string | undefined {
  if ('betId' in operation) return `${operation.poolId}/${operation.betId}`;
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
  holdStake: ['available', 'held'],
  closeStake: ['held', 'available', 'pools'],
  settlePool: ['pools', 'house'],
  creditRollback: ['available', 'house'],
  payout: ['house', 'referrals'],
  accrue: ['house', 'referrals'],
  creditEarnings: ['available', 'referrals'],
};

/** A pool without a rake books nothing as it is settled. */
const accountsBookedBy = (operation: Operation | Step): readonly BookAccount[] =>
  operation.op === 'settlePool' && operation.rake === '0' ? [] : (BOOKED_ON[operation.op] ?? []);

interface Posting {
  readonly applied: Applied;
  readonly number: number;
  readonly account: BookAccount;
  readonly amount: bigint;
}

function postingsOf({ applied }: Explained): readonly Posting[] {
  return applied.flatMap((each) =>
    accountsBookedBy(each.operation).map((account, index) => {
      const change = each.change[account];
      // The books owe the operator what the operator has put in.
      const amount = account === 'adjustments' ? -change : change;
      return { applied: each, number: index + 1, account, amount };
    }),
  );
}

/** The subject of the posting's event, and the owner of the account. */
function subjectOf({ event, operation }: Applied) {
  if (operation.op === 'settlePool') {
    return { subject: `pool:${operation.poolId}`, userId: null, currencyId: `${operation.currencyId}` };
  }
  if (operation.op === 'payout' || operation.op === 'accrue') {
    return {
      subject: `commission:${operation.idemKey}`,
      userId: null,
      currencyId: `${operation.currencyId}`,
    };
  }
  const [, , userId = '', currencyId = ''] = event.stream.split('.');
  const subject = (() => {
    switch (operation.op) {
      case 'credit':
      case 'debit':
        return `adjust:${operation.ref}`;
      case 'creditEarnings':
        return `earnings:${operation.idemKey}`;
      case 'creditRollback':
        return `rollback:${operation.sessionId}/${operation.transactionUuid}`;
      case 'holdStake':
      case 'closeStake':
        return `stake:${holderIn(operation)}`;
      default:
        return `session:${holderIn(operation)}`;
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
