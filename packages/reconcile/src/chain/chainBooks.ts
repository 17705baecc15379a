/** What the books show at the moments that a comparison with the chain needs. */
import { readCheckpoint } from '@coffer/consumers';
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import { liveReadSchema, READ_MODELS_CONSUMER, trialBalances } from '@coffer/read-models';
import type { Address, Signature } from '@coffer/solana';
import type { BooksPlace } from '../report.ts';
import type { UnmatchedTransfer } from './comparisons.ts';

/** What is owed, at one place in the log. */
export interface BooksBefore {
  /** How many events the books were made from. */
  readonly ordinal: number;
  /** By currency: available, held, pools and referrals. */
  readonly liabilities: ReadonlyMap<number, bigint>;
}

export function booksBefore(pool: Pool, place: BooksPlace): Promise<BooksBefore> {
  return withTransaction(pool, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    const schema = await liveReadSchema(client);
    const checkpoint = await readCheckpoint(client, { schema, name: READ_MODELS_CONSUMER });
    const balances = await trialBalances(client, schema, place);
    return {
      ordinal: checkpoint?.ordinal ?? 0,
      liabilities: new Map(
        balances.map(({ currencyId, available, held, pools, referrals }) => [
          currencyId,
          available + held + pools + referrals,
        ]),
      ),
    };
  });
}

export interface BooksAfter {
  /** By currency: cash-outs that may have left the treasury but are not paid in the earlier books. */
  readonly inFlight: ReadonlyMap<number, bigint>;
  readonly unmatched: readonly UnmatchedTransfer[];
  /** Transactions that could not be read. */
  readonly unreadable: readonly Signature[];
  readonly transfers: number;
  /** Ordinal of the newest move. */
  readonly lastMove: bigint;
}

/** The books once the read models have reached the head that the log had after the chain was read. */
export function booksAfter(
  pool: Pool,
  place: BooksPlace,
  before: Pick<BooksBefore, 'ordinal'>,
  treasury: Address | null,
): Promise<BooksAfter> {
  return withTransaction(pool, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    const schema = await liveReadSchema(client);
    return {
      inFlight: await inFlightSince(client, schema, place, before.ordinal),
      ...(await transfersAgainstMoves(client, schema, place, treasury)),
      lastMove: await newestMove(client, place),
    };
  });
}

/** Its ordinal; 0 if there is none. */
export async function newestMove(db: Queryable, { appId, environment }: BooksPlace): Promise<bigint> {
  const { rows } = await db.query<{ last: string | null }>(
    `select max(ordinal) as last from ${await liveReadSchema(db)}.moves where app_id = $1 and environment = $2`,
    [appId, environment],
  );
  return BigInt(rows[0]?.last ?? 0);
}

/** Those that are signed and not ended, and those booked as paid after the ordinal. */
async function inFlightSince(
  db: Queryable,
  schema: string,
  { appId, environment }: BooksPlace,
  ordinal: number,
): Promise<ReadonlyMap<number, bigint>> {
  const { rows } = await db.query<{ currency_id: number; amount: string }>(
    `select currency_id, sum(amount) as amount
       from (select h.currency_id, h.amount
               from ${schema}.holds h
               join ${schema}.moves m
                 on m.app_id = h.app_id and m.environment = h.environment
                and m.key = substr(h.hold_id, length('cashout:') + 1) and m.operation = 'cashOut'
                and m.user_id = h.user_id and m.currency_id = h.currency_id
              where h.app_id = $1 and h.environment = $2 and h.purpose = 'cashout' and h.payout is null
                and m.status in ('submitted', 'confirmed')
             union all
             select currency_id, amount from ${schema}.postings
              where app_id = $1 and environment = $2 and account = 'external'
                and subject like 'cashout:%' and log_ordinal > $3) in_flight
      group by currency_id`,
    [appId, environment, ordinal],
  );
  return new Map(rows.map(({ currency_id, amount }) => [currency_id, BigInt(amount)]));
}

/** A move accounts for what its latest transaction did, from its signing until it has failed. */
async function transfersAgainstMoves(
  db: Queryable,
  schema: string,
  { appId, environment }: BooksPlace,
  treasury: Address | null,
) {
  const { rows } = await db.query<{
    signature: string;
    mint: string;
    change: string | null;
    by_moves: string;
  }>(
    `select t.signature, t.mint, t.change, coalesce(m.change, 0) as by_moves
       from records.reconcile_chain_transfers t
       left join (select signature, mint,
                         sum(case when to_address = $3 then amount else 0 end
                             - case when from_address = $3 then amount else 0 end) as change
                    from ${schema}.moves
                   where app_id = $1 and environment = $2 and status in ('submitted', 'confirmed')
                     and (to_address = $3 or from_address = $3)
                   group by signature, mint) m using (signature, mint)
      where t.app_id = $1 and t.environment = $2 and t.change is distinct from coalesce(m.change, 0)
      order by t.signature, t.mint`,
    [appId, environment, treasury],
  );
  const counted = await db.query<{ count: string }>(
    `select count(distinct signature) as count from records.reconcile_chain_transfers
      where app_id = $1 and environment = $2`,
    [appId, environment],
  );
  return {
    transfers: Number(counted.rows[0]?.count),
    unreadable: rows.flatMap(({ signature, change }) => (change === null ? [signature] : [])),
    unmatched: rows.flatMap(({ signature, mint, change, by_moves }) =>
      change === null ? [] : [{ signature, mint, change: BigInt(change), byMoves: BigInt(by_moves) }],
    ),
  };
}
