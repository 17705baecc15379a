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
import { column, hidden, type RowOf, type RowTable, rowTable, type StoredRow } from './rowTable.ts';
import { type InsertRows, ROWS_A_STATEMENT, rowInserts, sent } from './sentRows.ts';

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
  const insertPostings = rowInserts(`${schema}.postings`, postingColumns);
  const insertHolds = rowInserts(`${schema}.holds`, holdColumns);

  return {
    forget() {
      accountRows.forget();
      balanceRows.forget();
    },
    async apply(db, events, before) {
      accountRows.passed(events.length);
      balanceRows.passed(events.length);
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
      const postings: NumberedPosting[] = [];
      for await (const part of inTurns(entries)) {
        for (const entry of part) addPostings(postings, entry, balances);
      }

      await accounts.save(db, accountRows);
      await balances.save(db, balanceRows);
      await insertPostings(db, postings);
      await writeHolds(db, schema, entries, insertHolds);
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

interface NumberedPosting {
  readonly entry: NumberedEntry;
  /** In its entry, from 1. */
  readonly number: number;
  readonly account: string;
  readonly amount: bigint;
  /** The balance of the account before it: of the player's own, or of the book account. */
  readonly previous: bigint;
}

const postingColumns = {
  log_ordinal: sent.bigint(({ entry }: NumberedPosting) => entry.logOrdinal),
  number: sent.integer(({ number }: NumberedPosting) => number),
  stream: sent.text(({ entry }: NumberedPosting) => entry.owner.stream),
  revision: sent.integer(({ entry }: NumberedPosting) => entry.owner.revision),
  app_id: sent.text(({ entry }: NumberedPosting) => entry.owner.appId),
  environment: sent.text(({ entry }: NumberedPosting) => entry.owner.environment),
  user_id: sent.text(({ entry }: NumberedPosting) => entry.owner.userId),
  currency_id: sent.integer(({ entry }: NumberedPosting) => entry.owner.currencyId),
  account: sent.text(({ account }: NumberedPosting) => account),
  subject: sent.text(({ entry }: NumberedPosting) => entry.subject),
  amount: sent.amount(({ amount }: NumberedPosting) => amount),
  previous_balance: sent.amount(({ previous }: NumberedPosting) => previous),
  current_balance: sent.amount(({ previous, amount }: NumberedPosting) => previous + amount),
  occurred_at: sent.instant(({ entry }: NumberedPosting) => entry.occurredAt),
};

/** Also counts them in the book accounts. */
function addPostings(all: NumberedPosting[], entry: NumberedEntry, balances: Running<TrialBalanceRow>): void {
  const { owner, previous, postings } = entry;
  const { appId, environment, userId, currencyId } = owner;
  const own =
    userId === null
      ? new Map<string, bigint>()
      : new Map([
          ['available', previous?.available ?? 0n],
          ['held', previous?.held ?? 0n],
        ]);
  for (const [index, { account, amount }] of postings.entries()) {
    const book = bookOf(owner, account);
    const total = balances.get(book)?.balance ?? 0n;
    balances.set({ book, appId, environment, currencyId, account, balance: total + amount });
    const before = own.get(account) ?? total;
    if (own.has(account)) own.set(account, before + amount);
    all.push({ entry, number: index + 1, account, amount, previous: before });
  }
}

interface OpenedHold {
  readonly owner: Owner;
  readonly opens: NonNullable<BookEntry['opens']>;
  /** If it was closed in the same page. */
  closing?: { readonly payout: bigint; readonly revision: number };
}

const holdColumns = {
  stream: sent.text(({ owner }: OpenedHold) => owner.stream),
  hold_id: sent.text(({ opens }: OpenedHold) => opens.holdId),
  app_id: sent.text(({ owner }: OpenedHold) => owner.appId),
  environment: sent.text(({ owner }: OpenedHold) => owner.environment),
  user_id: sent.text(({ owner }: OpenedHold) => owner.userId),
  currency_id: sent.integer(({ owner }: OpenedHold) => owner.currencyId),
  purpose: sent.text(({ opens }: OpenedHold) => opens.purpose),
  amount: sent.amount(({ opens }: OpenedHold) => opens.amount),
  payout: sent.optionalAmount(({ closing }: OpenedHold) => closing?.payout),
  held_at_revision: sent.integer(({ owner }: OpenedHold) => owner.revision),
  closed_at_revision: sent.optionalInteger(({ closing }: OpenedHold) => closing?.revision),
};

async function writeHolds(
  db: Queryable,
  schema: string,
  entries: readonly NumberedEntry[],
  insertHolds: InsertRows<OpenedHold>,
): Promise<void> {
  const opened = new Map<string, OpenedHold>();
  const closed: Record<string, unknown>[] = [];
  for (const { owner, opens, closes } of entries) {
    const { stream, revision } = owner;
    if (opens) opened.set(`${stream} ${opens.holdId}`, { owner, opens });
    if (closes) {
      const { holdId, amount, payout } = closes;
      const inPage = opened.get(`${stream} ${holdId}`);
      if (!inPage) {
        closed.push({
          stream,
          hold_id: holdId,
          amount: amount.toString(),
          payout: payout.toString(),
          closed_at_revision: revision,
        });
      } else if (inPage.opens.amount === amount) inPage.closing = { payout, revision };
      else throw new Error(`${holdId} of ${stream} closes a different amount than it holds.`);
    }
  }
  await insertHolds(db, [...opened.values()]);
  await closeHolds(db, schema, closed);
}

async function closeHolds(db: Queryable, schema: string, rows: readonly unknown[]): Promise<void> {
  for await (const part of inTurns(rows, ROWS_A_STATEMENT)) {
    const { rowCount } = await db.query({
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
