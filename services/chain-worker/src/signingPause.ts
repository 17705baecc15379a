/**
 * After a restore, what another process signed shortly before is in no stream and may not be in a block yet: a search of
 * the chain would not find it, and the move would be paid twice. So nothing is signed until every transaction from that
 * time is either in a final block, where it is found, or can never be in one.
 */
import { join } from 'node:path';
import type { Migrations, Pool, Queryable } from '@coffer/database';
import { type Environment, encodeBase58, environment as environments } from '@coffer/kernel';
import type { Chain } from '@coffer/solana';

export const chainWorkerMigrations: Migrations = {
  schema: 'records',
  folder: join(import.meta.dirname, 'migrations'),
};

/** Must be called while no chain worker runs, together with whatever makes the consumers read the log again. */
export async function pauseSigning(db: Queryable): Promise<void> {
  await db.query(
    `insert into records.chain_signing_pauses (environment) select unnest($1::text[])
     on conflict (environment) do update set ordered_at = excluded.ordered_at, until_block_height = null`,
    [environments.options],
  );
}

/** A signature that nobody made: whether it is lost tells whether all blocks up to a height are final. */
const NOBODYS_SIGNATURE = encodeBase58(new Uint8Array(64));

/** Throws while nothing may be signed; asks the database until signing is allowed, and then never again. */
export function createSigningPause(pool: Pool): (environment: Environment, chain: Chain) => Promise<void> {
  const over = new Set<Environment>();
  return async (environment, chain) => {
    if (over.has(environment)) return;
    const until = await pausedUntil(pool, environment, chain);
    if (until !== undefined) {
      if (!(await chain.isLost(NOBODYS_SIGNATURE, until))) {
        throw new Error(
          `The log was restored: nothing is signed until block ${until} is final, so that nothing is paid twice.`,
        );
      }
      await pool.query('delete from records.chain_signing_pauses where environment = $1', [environment]);
    }
    over.add(environment);
  };
}

/** Whatever was signed earlier has a blockhash of now or earlier. */
async function pausedUntil(pool: Pool, environment: Environment, chain: Chain): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ until_block_height: string | null }>(
    'select until_block_height from records.chain_signing_pauses where environment = $1',
    [environment],
  );
  const [row] = rows;
  if (!row) return undefined;
  if (row.until_block_height !== null) return BigInt(row.until_block_height);

  const { lastValidBlockHeight } = await chain.latestBlockhash();
  const { rows: kept } = await pool.query<{ until_block_height: string }>(
    `update records.chain_signing_pauses
        set until_block_height = coalesce(until_block_height, $2) where environment = $1
     returning until_block_height`,
    [environment, lastValidBlockHeight.toString()],
  );
  return kept[0] && BigInt(kept[0].until_block_height);
}
