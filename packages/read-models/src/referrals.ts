/** Who brought whom, commissions, and what they earn. Source: contract, Referrals. */
import type { Projection } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import { type EntryOf, projectEntries } from './entries.ts';
import { listRows } from './listRows.ts';
import type { Page, PageRequest } from './pages.ts';
import { projectRows, type RowProjection } from './rowProjection.ts';
import { column, type RowOf, type RowTable, rowTable } from './rowTable.ts';
import { liveReadSchema } from './schema.ts';

const place = { appId: column.text(), environment: column.text<Environment>() };

/** A user who was brought by another; final. */
const refereeColumns = {
  /** Of the user's referral. */
  stream: column.text(),
  ...place,
  userId: column.text(),
  referrerUserId: column.text(),
  attributedAt: column.instant,
};
export type RefereeRow = RowOf<typeof refereeColumns>;
const refereeTable: RowTable<RefereeRow> = rowTable('referees', 'stream', refereeColumns);

/** What a key was used for; the commission's stream has one event. */
const commissionColumns = {
  stream: column.text(),
  revision: column.integer,
  ...place,
  idemKey: column.text(),
  kind: column.text<'payout' | 'distribution' | 'withdrawal'>(),
  /** The beneficiary of a payout, whose play a distribution is about, or who withdraws. */
  userId: column.text(),
  currencyId: column.integer,
  /** What its accruals must come to, or what was withdrawn. */
  amount: column.amount,
  /** How many accruals follow. */
  accruals: column.integer,
};
export type CommissionRow = RowOf<typeof commissionColumns>;
const commissionTable: RowTable<CommissionRow> = rowTable('commissions', 'stream', commissionColumns);

/** A user's earnings in one currency. */
const earningsColumns = {
  stream: column.text(),
  revision: column.integer,
  ...place,
  userId: column.text(),
  currencyId: column.integer,
  accrued: column.amount,
  /** Less what came back because the key was another operation's. */
  withdrawn: column.amount,
};
export type EarningsRow = RowOf<typeof earningsColumns>;
const earningsTable: RowTable<EarningsRow> = rowTable('earnings', 'stream', earningsColumns);

/** What changed a user's earnings. */
const earningsEntryColumns = {
  /** `<stream> accrual:<idemKey>` or `<stream> withdrawal:<idemKey>` */
  entry: column.text(),
  stream: column.text(),
  ...place,
  userId: column.text(),
  currencyId: column.integer,
  kind: column.text<'payout' | 'distribution' | 'withdrawal'>(),
  idemKey: column.text(),
  amount: column.amount,
  level: column.optional(column.integer),
  sourceUserId: column.optional(column.text()),
  memo: column.optional(column.text()),
  /** `returned`: a withdrawal whose key was another operation's. It never happened. */
  status: column.text<'booked' | 'returned'>(),
  occurredAt: column.instant,
};
export type EarningsEntryRow = RowOf<typeof earningsEntryColumns>;
const earningsEntryTable: RowTable<EarningsEntryRow> = rowTable(
  'earnings_entries',
  'entry',
  earningsEntryColumns,
);

export interface ReferralsProjection {
  readonly refereeOf: EntryOf<RefereeRow>;
  readonly commissions: RowProjection<CommissionRow>;
  readonly earnings: RowProjection<EarningsRow>;
  readonly earningsEntryOf: EntryOf<EarningsEntryRow>;
}

export function projectReferrals(
  schema: string,
  { refereeOf, commissions, earnings, earningsEntryOf }: ReferralsProjection,
): readonly Projection[] {
  return [
    projectEntries(schema, refereeTable, refereeOf),
    projectRows(schema, commissionTable, commissions),
    projectRows(schema, earningsTable, earnings),
    projectEntries(schema, earningsEntryTable, earningsEntryOf),
  ];
}

interface Place {
  readonly appId: string;
  readonly environment: Environment;
}

export interface RefereesQuery extends PageRequest, Place {
  readonly referrerUserId: string;
}

/** The one brought last comes first. Throws `request/invalid` for a cursor of another list. */
export function listReferees(db: Queryable, query: RefereesQuery): Promise<Page<RefereeRow>> {
  const { appId, environment, referrerUserId } = query;
  const filter = { app_id: appId, environment, referrer_user_id: referrerUserId };
  return listRows(db, refereeTable, 'newestFirst', filter, query);
}

export interface EarningsEntriesQuery extends PageRequest, Place {
  readonly userId: string;
  readonly currencyId?: number | undefined;
}

/** Accruals and withdrawals, newest first. Throws `request/invalid` for a cursor of another list. */
export function listEarningsEntries(
  db: Queryable,
  query: EarningsEntriesQuery,
): Promise<Page<EarningsEntryRow>> {
  const { appId, environment, userId, currencyId } = query;
  const filter = {
    app_id: appId,
    environment,
    user_id: userId,
    currency_id: currencyId?.toString(),
    status: 'booked',
  };
  return listRows(db, earningsEntryTable, 'newestFirst', filter, query);
}

export interface TreeQuery extends Place {
  readonly userId: string;
  readonly depth: number;
  readonly limit: number;
}

export interface Descendant extends Pick<RefereeRow, 'userId' | 'referrerUserId' | 'attributedAt'> {
  /** 1: brought by the user directly. */
  readonly level: number;
}

/** Whom a user brought, whom they brought, and so on: level by level, each in the order in which they came. */
export async function listDescendants(
  db: Queryable,
  { appId, environment, userId, depth, limit }: TreeQuery,
): Promise<readonly Descendant[]> {
  const schema = await liveReadSchema(db);
  const found: Descendant[] = [];
  let above = [userId];
  for (let level = 1; level <= depth && above.length > 0 && found.length < limit; level += 1) {
    const { rows } = await db.query(
      `select * from ${schema}.referees
        where app_id = $1 and environment = $2 and referrer_user_id = any($3) order by ordinal limit $4`,
      [appId, environment, above, limit - found.length],
    );
    const below = rows.map((stored) => refereeTable.decode(stored).row);
    found.push(
      ...below.map((row) => ({
        level,
        userId: row.userId,
        referrerUserId: row.referrerUserId,
        attributedAt: row.attributedAt,
      })),
    );
    above = below.map((row) => row.userId);
  }
  return found;
}
