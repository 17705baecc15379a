/**
 * What apps pay for other people's token accounts, counted for all processes together: one row per move. Nobody exceeds a
 * cap, even with forty requests at once, because those of an app and environment are decided one after the other. Play
 * never comes here: only a move that creates an account at the app's cost. Source: docs/adr/0024-rent.md.
 */
import { type Client, type Pool, withTransaction } from '@coffer/database';
import type { Environment } from '@coffer/kernel';
import type { RentSponsor, SponsoredMove } from '@coffer/moves';

/** The most accounts per day (UTC). */
export interface RentCaps {
  readonly perUser: number;
  readonly perApp: number;
}

export function createRentSponsor({
  pool,
  capsOf,
}: {
  readonly pool: Pool;
  readonly capsOf: (app: Pick<SponsoredMove, 'appId' | 'environment'>) => Promise<RentCaps>;
}): RentSponsor {
  return {
    reserve: (move) => count(move, false),
    spend: (move) => count(move, true),
    release: (moveId) =>
      withTransaction(pool, async (client) => {
        await client.query(
          'update records.chain_rent_sponsorships set requests = requests - 1 where move_id = $1',
          [moveId],
        );
        await client.query(
          `delete from records.chain_rent_sponsorships
            where move_id = $1 and requests <= 0 and not is_spent`,
          [moveId],
        );
      }),
  };

  async function count(move: SponsoredMove, isSpent: boolean): Promise<boolean> {
    const caps = await capsOf(move);
    return withTransaction(pool, async (client) => {
      await lock(client, move);
      return (await countAgain(client, move, isSpent)) || insert(client, move, isSpent, caps);
    });
  }
}

/** Held until the transaction ends. A statement sees what was committed before it, so locking is a separate one. */
async function lock(client: Client, { appId, environment }: PlaceOfApp): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `rent ${environment} ${appId}`,
  ]);
}

type PlaceOfApp = { readonly appId: string; readonly environment: Environment };

/** False if it was not counted before. Whoever reserves again holds the row as well. */
async function countAgain(client: Client, { moveId }: SponsoredMove, isSpent: boolean): Promise<boolean> {
  const { rowCount } = await client.query(
    `update records.chain_rent_sponsorships
        set is_spent = is_spent or $2, requests = requests + case when $2 then 0 else 1 end
      where move_id = $1`,
    [moveId, isSpent],
  );
  return rowCount === 1;
}

async function insert(
  client: Client,
  { moveId, appId, environment, userId }: SponsoredMove,
  isSpent: boolean,
  { perUser, perApp }: RentCaps,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `with today as (select (clock_timestamp() at time zone 'utc')::date as day),
     counted as (
       select count(*) as of_app, count(*) filter (where user_id = $4) as of_user
         from records.chain_rent_sponsorships, today
        where app_id = $2 and environment = $3 and sponsored_on = today.day
     )
     insert into records.chain_rent_sponsorships (move_id, app_id, environment, user_id, sponsored_on, is_spent)
     select $1, $2, $3, $4, today.day, $5 from today, counted where of_user < $6 and of_app < $7`,
    [moveId, appId, environment, userId, isSpent, perUser, perApp],
  );
  return rowCount === 1;
}
