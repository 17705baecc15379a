/**
 * Pools and their stakes. The end of a pool is one event and changes the rows of all its stakes, so they are kept by one
 * projection. Source: contract, Custody.
 */
import assert from 'node:assert/strict';
import { inTurns, type Projection } from '@coffer/consumers';
import type { Queryable } from '@coffer/database';
import type { RecordedEvent } from '@coffer/event-store';
import type { Environment } from '@coffer/kernel';
import { listRows } from './listRows.ts';
import type { Page, PageRequest } from './pages.ts';
import { createRowCache } from './rowCache.ts';
import { isNewTo } from './rowProjection.ts';
import { column, hidden, type RowOf, type RowTable, rowTable } from './rowTable.ts';
import { liveReadSchema } from './schema.ts';
import { ROWS_A_STATEMENT, rowInserts, sent } from './sentRows.ts';

type PoolStatus = 'open' | 'settled' | 'refunded';

/** Amounts in base units; times in ISO 8601 UTC with milliseconds. */
const columns = {
  stream: column.text(),
  revision: column.integer,
  appId: column.text(),
  environment: column.text<Environment>(),
  poolId: column.text(),
  currencyId: column.integer,
  status: column.text<PoolStatus>(),
  /** Of stakes that are not confirmed; what was locked or confirmed when the pool was closed remains. */
  locked: column.amount,
  confirmed: column.amount,
  /** Null unless settled. */
  rake: column.optional(column.amount),
  /** How many holds the end of the pool closes. */
  credits: column.integer,
  /** `<account stream> <hold id>` of the one that is closed after all others. */
  lastCredit: column.optional(column.text()),
  /** How many of them are closed. */
  creditsDone: column.integer,
  /** The number in the log of the last of these, so that none counts twice. */
  creditsDoneAt: column.integer,
  /** The id of the event that ended the pool, which is the cause of all its credits. */
  endedBy: column.optional(column.text()),
  openedAt: column.instant,
  closedAt: column.optional(column.instant),
};

export type PoolRow = RowOf<typeof columns>;
const poolTable: RowTable<PoolRow> = rowTable('pools', 'stream', columns);

/** What an event does to a pool and to the stakes in it. */
interface PoolChange {
  /** The pool after the event. */
  readonly pool: PoolRow;
  readonly locks?: NewPoolStake;
  readonly marks?: { readonly number: number; readonly status: 'confirmed' | 'released' };
  /** Confirmed stakes without a payout are paid 0; locked ones are released. */
  readonly settles?: { readonly payouts: readonly (readonly [number: number, payout: bigint])[] };
  /** Everything that was not released goes back in full. */
  readonly refunds?: true;
}

interface NewPoolStake {
  /** In the pool, from 1. */
  readonly number: number;
  readonly betId: string;
  readonly userId: string;
  /** The player's account stream. */
  readonly account: string;
  readonly holdId: string;
  readonly amount: bigint;
  readonly confirmBy: string;
}

export interface PoolsProjection {
  readonly concerns: (event: RecordedEvent) => boolean;
  /** Pure; throws on an event that it cannot understand or that breaks a rule of the pool. */
  readonly changeOf: (pool: PoolRow | undefined, event: RecordedEvent) => PoolChange;
  /** The stream of the pool behind a stake whose hold this event closes, and why it is closed. */
  readonly creditOf: (event: RecordedEvent) => PoolCredit | undefined;
}

interface PoolCredit {
  readonly stream: string;
  /** The id of the event that it follows from. */
  readonly cause: string | undefined;
}

export function projectPools(schema: string, pools: PoolsProjection): Projection {
  const cache = createRowCache(schema, poolTable);
  const insertStakes = rowInserts(`${schema}.pool_stakes`, stakeColumns);
  return {
    forget: cache.forget,
    async apply(db, events, ordinalBefore) {
      cache.passed(events.length);
      const concerned = events.flatMap((event, index): ConcerningEvent[] => {
        const credit = pools.creditOf(event);
        if (!credit && !pools.concerns(event)) return [];
        return [
          { event, credit, stream: credit?.stream ?? event.stream, ordinal: ordinalBefore + index + 1 },
        ];
      });
      if (concerned.length === 0) return;
      const before = await cache.read(db, [...new Set(concerned.map(({ stream }) => stream))]);
      const after = new Map<string, PoolRow>();
      const changes: PoolChange[] = [];
      for await (const part of inTurns(concerned)) {
        for (const { event, credit, stream, ordinal } of part) {
          const previous = after.get(stream) ?? before.get(stream)?.row;
          if (credit) {
            const credited = previous && afterCredit(previous, credit, ordinal);
            if (credited) after.set(stream, credited);
            continue;
          }
          if (!isNewTo(previous, event)) continue;
          const change = pools.changeOf(previous, event);
          after.set(stream, change.pool);
          changes.push(change);
        }
      }
      await cache.write(db, before, [...after.values()]);
      // A stake is locked first and marked at most twice, and the end of its pool is the last that happens to it.
      await insertStakes(db, changes.filter(isLock));
      await markStakes(db, schema, changes, 'confirmed');
      await markStakes(db, schema, changes, 'released');
      for (const change of changes) await closeStakes(db, schema, change);
    },
    async pass(db, event) {
      if (!pools.concerns(event)) return;
      const before = await cache.read(db, [event.stream]);
      const row = before.get(event.stream)?.row;
      if (row && row.revision < event.revision) {
        await cache.write(db, before, [{ ...row, revision: event.revision }]);
      }
    },
  };
}

interface ConcerningEvent {
  readonly event: RecordedEvent;
  readonly credit: PoolCredit | undefined;
  /** Of the pool. */
  readonly stream: string;
  readonly ordinal: number;
}

/** Undefined for what the end of the pool does not owe (a stake that was released or lost before), and for what counted. */
function afterCredit(pool: PoolRow, { cause }: PoolCredit, ordinal: number): PoolRow | undefined {
  if (pool.endedBy === null || pool.endedBy !== cause || ordinal <= pool.creditsDoneAt) return undefined;
  return { ...pool, creditsDone: pool.creditsDone + 1, creditsDoneAt: ordinal };
}

type Lock = PoolChange & Required<Pick<PoolChange, 'locks'>>;

const isLock = (change: PoolChange): change is Lock => change.locks !== undefined;

const stakeColumns = {
  stream: sent.text(({ pool }: Lock) => pool.stream),
  number: sent.integer(({ locks }: Lock) => locks.number),
  app_id: sent.text(({ pool }: Lock) => pool.appId),
  environment: sent.text(({ pool }: Lock) => pool.environment),
  bet_id: sent.text(({ locks }: Lock) => locks.betId),
  user_id: sent.text(({ locks }: Lock) => locks.userId),
  currency_id: sent.integer(({ pool }: Lock) => pool.currencyId),
  account: sent.text(({ locks }: Lock) => locks.account),
  hold_id: sent.text(({ locks }: Lock) => locks.holdId),
  amount: sent.amount(({ locks }: Lock) => locks.amount),
  status: sent.text(() => 'locked'),
  credit_due: sent.boolean(() => 'false'),
  confirm_by: sent.instant(({ locks }: Lock) => locks.confirmBy),
};

async function markStakes(
  db: Queryable,
  schema: string,
  changes: readonly PoolChange[],
  status: 'confirmed' | 'released',
): Promise<void> {
  const marked = changes.flatMap(({ pool, marks }) =>
    marks?.status === status ? [{ stream: pool.stream, number: marks.number }] : [],
  );
  for await (const part of inTurns(marked, ROWS_A_STATEMENT)) {
    const { rowCount } = await db.query({
      text: `update ${schema}.pool_stakes stake set status = $2
               from json_populate_recordset(null::${schema}.pool_stakes, $1) marked
              where stake.stream = marked.stream and stake.number = marked.number
                and ${hidden('stake.status')} = 'locked'`,
      values: [JSON.stringify(part), status],
    });
    assert.equal(rowCount, part.length, 'every stake that is marked is there, and locked');
  }
}

async function closeStakes(
  db: Queryable,
  schema: string,
  { pool: { stream, credits }, settles, refunds }: PoolChange,
): Promise<void> {
  if (refunds) {
    const { rowCount } = await db.query(
      `update ${schema}.pool_stakes set status = 'refunded', payout = amount, credit_due = true
        where stream = $1 and status <> 'released'`,
      [stream],
    );
    assert.equal(rowCount, credits, `${stream} gives back every stake`);
  }
  if (!settles) return;
  let closed = 0;
  for await (const part of inTurns(settles.payouts, ROWS_A_STATEMENT)) {
    const paid = await db.query({
      // Joined by the whole key: a comparison of all stakes with all payouts would take seconds.
      text: `update ${schema}.pool_stakes stake
                set status = 'settled', payout = paid.payout, credit_due = true
               from json_populate_recordset(null::${schema}.pool_stakes, $1) paid
              where stake.stream = paid.stream and stake.number = paid.number and stake.status = 'confirmed'`,
      values: [
        JSON.stringify(part.map(([number, payout]) => ({ stream, number, payout: payout.toString() }))),
      ],
    });
    assert.equal(paid.rowCount, part.length, 'every stake that is paid was confirmed');
    closed += part.length;
  }
  const { rowCount } = await db.query(
    `update ${schema}.pool_stakes
        set status = case status when 'locked' then 'released' else 'settled' end,
            payout = case status when 'locked' then null else 0 end,
            credit_due = true
      where stream = $1 and status in ('locked', 'confirmed')`,
    [stream],
  );
  assert.equal(closed + (rowCount ?? 0), credits, `${stream} closes every stake`);
}

export interface PoolQuery extends PageRequest {
  readonly appId: string;
  readonly environment: Environment;
  readonly status?: PoolStatus | undefined;
  readonly currencyId?: number | undefined;
}

/** Newest first. Throws `request/invalid` for a cursor of another list. */
export async function listPools(db: Queryable, query: PoolQuery): Promise<Page<PoolRow>> {
  const { appId, environment, status, currencyId } = query;
  const filter = { app_id: appId, environment, status, currency_id: currencyId?.toString() };
  return listRows(db, poolTable, 'newestFirst', filter, query);
}

/** How many of the credits of a closed pool are in the accounts, by its stream. */
export async function creditsDone(db: Queryable, stream: string): Promise<number> {
  const schema = await liveReadSchema(db);
  const { rows } = await db.query<{ credits_done: number }>(
    `select credits_done from ${schema}.pools where stream = $1`,
    [stream],
  );
  return rows[0]?.credits_done ?? 0;
}

/** Open pools with a stake that nobody has confirmed in time; those that wait longest come first. */
export async function poolsWithOverdueStakes(
  db: Queryable,
  {
    at,
    limit,
    place,
  }: {
    /** ISO 8601. */
    readonly at: string;
    readonly limit: number;
    /** Default: every app and environment. */
    readonly place?: { readonly appId: string; readonly environment: Environment } | undefined;
  },
): Promise<readonly Pick<PoolRow, 'appId' | 'environment' | 'poolId'>[]> {
  const schema = await liveReadSchema(db);
  const { rows } = await db.query<{ app_id: string; environment: Environment; pool_id: string }>(
    `select pool.app_id, pool.environment, pool.pool_id
       from (select stream, min(confirm_by) as due from ${schema}.pool_stakes
              where status = 'locked' and confirm_by <= $1
                and ($2::text is null or app_id = $2 and environment = $3)
              group by stream) overdue
       join ${schema}.pools pool using (stream)
      where pool.status = 'open' order by overdue.due limit $4`,
    [at, place?.appId ?? null, place?.environment ?? null, limit],
  );
  return rows.map(({ app_id, environment, pool_id }) => ({ appId: app_id, environment, poolId: pool_id }));
}
