/**
 * The books: each player's account, each hold, every posting, and the balances of the book accounts. One projection
 * keeps them together, because one event changes all of them. Source: contract, Money model.
 */
import assert from 'node:assert/strict';
import { inTurns, type Projection } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import type { Environment } from '@coffer/kernel';
import { createRowCache, type RowCache } from './rowCache.ts';
import { isNewTo } from './rowProjection.ts';
import {
  column,
  hidden,
  ROWS_A_STATEMENT,
  type RowOf,
  type RowTable,
  rowTable,
  type StoredRow,
} from './rowTable.ts';

/** One player's funds in one currency. Amounts in base units. */
const accountColumns = {
  stream: column.text(),
  revision: column.integer,
  appId: column.text(),
  environment: column.text<Environment>(),
  userId: column.text(),
  currencyId: column.integer,
  available: column.amount,
  held: column.amount,
};

export type AccountRow = RowOf<typeof accountColumns>;

/** The effect of an account's event. */
export interface BookEntry {
  /** The account after the event, according to the event itself. */
  readonly account: AccountRow;
  /** The hold or entry that it concerns. */
  readonly subject: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly occurredAt: string;
  readonly opens?: { readonly holdId: string; readonly purpose: string; readonly amount: bigint };
  readonly closes?: { readonly holdId: string; readonly amount: bigint; readonly payout: bigint };
  /** They sum to zero. */
  readonly postings: readonly { readonly account: string; readonly amount: bigint }[];
}

/** Postings of an event that changes no player's funds, such as the rake of a pool. */
interface OtherEntry extends Pick<BookEntry, 'subject' | 'occurredAt' | 'postings'> {
  readonly appId: string;
  readonly environment: Environment;
  readonly currencyId: number;
}

/** Pure; undefined for an event without such postings. */
export type OtherPostings = (event: RecordedEvent) => OtherEntry | undefined;

export interface BooksProjection {
  readonly concerns: (event: RecordedEvent) => boolean;
  /** Pure; throws on an event that it cannot understand or that breaks a rule of the account. */
  readonly entryOf: (account: AccountRow | undefined, event: RecordedEvent) => BookEntry;
}

const accountTable: RowTable<AccountRow> = rowTable('accounts', 'stream', accountColumns);

/** One of the seven book accounts of an app, an environment and a currency. */
const trialBalanceColumns = {
  /** `<environment>.<appId>.<currencyId>.<account>` */
  book: column.text(),
  appId: column.text(),
  environment: column.text<Environment>(),
  currencyId: column.integer,
  account: column.text(),
  balance: column.amount,
};

type TrialBalanceRow = RowOf<typeof trialBalanceColumns>;

const trialBalanceTable = rowTable('trial_balances', 'book', trialBalanceColumns);

export function projectBooks(
  schema: string,
  books: BooksProjection,
  otherPostings: readonly OtherPostings[] = [],
): Projection {
  const accountRows = createRowCache(schema, accountTable);
  const balanceRows = createRowCache(schema, trialBalanceTable);

  return {
    forget() {
      accountRows.forget();
      balanceRows.forget();
    },
    async apply(db, events, before) {
      const numbered = events.map((event, index) => ({ event, logOrdinal: before + index + 1 }));
      const others = await newOnes(db, schema, otherEntriesIn(numbered, otherPostings));
      const concerned = numbered.filter(
        ({ event, logOrdinal }) => books.concerns(event) || others.has(logOrdinal),
      );
      if (concerned.length === 0) return;

      const streams = new Set(
        concerned.filter(({ event }) => books.concerns(event)).map(({ event }) => event.stream),
      );
      const accounts = running(await accountRows.read(db, [...streams]), ({ stream }) => stream);
      const entries: NumberedEntry[] = [];
      for await (const part of inTurns(concerned)) {
        for (const { event, logOrdinal } of part) {
          const other = others.get(logOrdinal);
          if (other) {
            entries.push(other);
            continue;
          }
          const previous = accounts.get(event.stream);
          if (!isNewTo(previous, event)) continue;
          const entry = books.entryOf(previous, event);
          checkEntry(previous, entry);
          accounts.set(entry.account);
          entries.push({ ...entry, owner: entry.account, previous, logOrdinal });
        }
      }
      const balances = await trialBalancesOf(db, balanceRows, entries);
      const postings: unknown[] = [];
      for await (const part of inTurns(entries)) {
        postings.push(...part.flatMap((entry) => postingRows(entry, balances)));
      }

      await accounts.save(db, accountRows);
      await balances.save(db, balanceRows);
      await insertRows(db, `${schema}.postings`, postings);
      await writeHolds(db, schema, entries);
    },
    async pass(db, event) {
      if (!books.concerns(event)) return;
      const before = await accountRows.read(db, [event.stream]);
      const row = before.get(event.stream)?.row;
      if (row && row.revision < event.revision) {
        await accountRows.write(db, before, [{ ...row, revision: event.revision }]);
      }
    },
  };
}

/** Whose postings they are: a player's, or nobody's. */
type Owner = Pick<AccountRow, 'stream' | 'revision' | 'appId' | 'environment' | 'currencyId'> & {
  readonly userId: string | null;
};

interface NumberedEntry extends Omit<BookEntry, 'account'> {
  readonly owner: Owner;
  /** The player's account before it. */
  readonly previous: AccountRow | undefined;
  readonly logOrdinal: number;
}

/** By the event's number in the log. */
function otherEntriesIn(
  numbered: readonly { readonly event: RecordedEvent; readonly logOrdinal: number }[],
  otherPostings: readonly OtherPostings[],
): ReadonlyMap<number, NumberedEntry> {
  const entries = new Map<number, NumberedEntry>();
  for (const { event, logOrdinal } of numbered) {
    for (const postingsOf of otherPostings) {
      const other = postingsOf(event);
      if (!other) continue;
      assertBalanced(other);
      const { appId, environment, currencyId, ...entry } = other;
      const { stream, revision } = event;
      const owner = { stream, revision, appId, environment, currencyId, userId: null };
      entries.set(logOrdinal, { ...entry, owner, previous: undefined, logOrdinal });
    }
  }
  return entries;
}

/** Without those that are there already: no row of the books tells how far their streams were read. */
async function newOnes(
  db: Queryable,
  schema: string,
  entries: ReadonlyMap<number, NumberedEntry>,
): Promise<ReadonlyMap<number, NumberedEntry>> {
  if (entries.size === 0) return entries;
  const { rows } = await db.query<{ log_ordinal: string }>(
    `select distinct log_ordinal from ${schema}.postings where log_ordinal = any($1)`,
    [[...entries.keys()]],
  );
  const known = new Set(rows.map(({ log_ordinal }) => Number(log_ordinal)));
  return new Map([...entries].filter(([ordinal]) => !known.has(ordinal)));
}

function assertBalanced({ subject, postings }: Pick<BookEntry, 'subject' | 'postings'>): void {
  const sum = postings.reduce((total, { amount }) => total + amount, 0n);
  assert.equal(sum, 0n, `the postings of ${subject} sum to zero`);
}

/** Computes the figures in two ways: from what the event says of its account, and from its postings. */
function checkEntry(previous: AccountRow | undefined, entry: BookEntry): void {
  const { account, subject, postings } = entry;
  const change = (name: string) =>
    postings.reduce((sum, posting) => (posting.account === name ? sum + posting.amount : sum), 0n);
  assert.equal(account.available, (previous?.available ?? 0n) + change('available'), `available: ${subject}`);
  assert.equal(account.held, (previous?.held ?? 0n) + change('held'), `held: ${subject}`);
  assertBalanced(entry);
}

function bookOf({ environment, appId, currencyId }: Owner, account: string): string {
  return `${environment}.${appId}.${currencyId}.${account}`;
}

async function trialBalancesOf(
  db: Queryable,
  cache: RowCache<TrialBalanceRow>,
  entries: readonly NumberedEntry[],
) {
  const books = entries.flatMap(({ owner, postings }) => postings.map((p) => bookOf(owner, p.account)));
  return running(await cache.read(db, [...new Set(books)]), ({ book }) => book);
}

/** Each posting with the balance of its account before and after: the player's own, or the book account. */
function postingRows(
  { owner, previous, subject, occurredAt, postings, logOrdinal }: NumberedEntry,
  balances: Running<TrialBalanceRow>,
) {
  const { stream, revision, appId, environment, userId, currencyId } = owner;
  const own =
    userId === null
      ? new Map<string, bigint>()
      : new Map([
          ['available', previous?.available ?? 0n],
          ['held', previous?.held ?? 0n],
        ]);
  return postings.map((posting, index) => {
    const book = bookOf(owner, posting.account);
    const total = balances.get(book)?.balance ?? 0n;
    balances.set({
      book,
      appId,
      environment,
      currencyId,
      account: posting.account,
      balance: total + posting.amount,
    });
    const before = own.get(posting.account) ?? total;
    if (own.has(posting.account)) own.set(posting.account, before + posting.amount);
    return {
      log_ordinal: logOrdinal,
      number: index + 1,
      stream,
      revision,
      app_id: appId,
      environment,
      user_id: userId,
      currency_id: currencyId,
      account: posting.account,
      subject,
      amount: posting.amount.toString(),
      previous_balance: before.toString(),
      current_balance: (before + posting.amount).toString(),
      occurred_at: occurredAt,
    };
  });
}

async function writeHolds(db: Queryable, schema: string, entries: readonly NumberedEntry[]): Promise<void> {
  const opened = new Map<string, Record<string, unknown>>();
  const closed: Record<string, unknown>[] = [];
  for (const { owner, opens, closes } of entries) {
    const { stream, revision, appId, environment, userId, currencyId } = owner;
    if (opens) {
      opened.set(`${stream} ${opens.holdId}`, {
        stream,
        hold_id: opens.holdId,
        app_id: appId,
        environment,
        user_id: userId,
        currency_id: currencyId,
        purpose: opens.purpose,
        amount: opens.amount.toString(),
        held_at_revision: revision,
      });
    }
    if (closes) {
      const closing = { payout: closes.payout.toString(), closed_at_revision: revision };
      const inPage = opened.get(`${stream} ${closes.holdId}`);
      const amount = closes.amount.toString();
      if (!inPage) closed.push({ stream, hold_id: closes.holdId, amount, ...closing });
      else if (inPage.amount === amount) Object.assign(inPage, closing);
      else throw new Error(`${closes.holdId} of ${stream} closes a different amount than it holds.`);
    }
  }
  await insertRows(db, `${schema}.holds`, [...opened.values()]);
  await closeHolds(db, schema, closed);
}

async function closeHolds(db: Queryable, schema: string, rows: readonly unknown[]): Promise<void> {
  for await (const part of inTurns(rows, ROWS_A_STATEMENT)) {
    const { rowCount } = await db.query({
      name: `close ${schema}.holds`,
      text: `update ${schema}.holds hold
                set payout = closed.payout, closed_at_revision = closed.closed_at_revision
               from json_populate_recordset(null::${schema}.holds, $1) closed
              where hold.stream = closed.stream and hold.hold_id = closed.hold_id
                and hold.amount = closed.amount and ${hidden('hold.payout::text')} = ''`,
      values: [JSON.stringify(part)],
    });
    assert.equal(rowCount, part.length, 'every hold that closes is open, with that amount');
  }
}

async function insertRows(db: Queryable, table: string, rows: readonly unknown[]): Promise<void> {
  for await (const part of inTurns(rows, ROWS_A_STATEMENT)) {
    await db.query({
      name: `insert ${table}`,
      text: `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`,
      values: [JSON.stringify(part)],
    });
  }
}

type Running<Row> = ReturnType<typeof running<Row>>;

/** Rows as they change within a page. */
function running<Row>(stored: ReadonlyMap<string, StoredRow<Row>>, keyOf: (row: Row) => string) {
  const changed = new Map<string, Row>();
  return {
    get: (key: string): Row | undefined => changed.get(key) ?? stored.get(key)?.row,
    set: (row: Row): void => void changed.set(keyOf(row), row),
    save: (db: Queryable, cache: RowCache<Row>): Promise<void> =>
      cache.write(db, stored, [...changed.values()]),
  };
}
