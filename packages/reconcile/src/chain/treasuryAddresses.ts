/** Where a treasury's money is, and since when, according to moves. */
import type { Pool } from '@coffer/database';
import { liveReadSchema } from '@coffer/read-models';
import { type Address, associatedTokenAddress, type Chain, TOKEN_PROGRAMS } from '@coffer/solana';
import type { NotCovered } from './chainReport.ts';
import { type HistoryOptions, readTreasuryHistory, type TreasuryHistory } from './treasuryHistory.ts';

export async function readHistories(
  pool: Pool,
  chain: Chain,
  of: Omit<TreasuryHistory, 'addresses' | 'firstSlots'>,
  options: HistoryOptions,
): Promise<readonly NotCovered[]> {
  const firstSlots = await firstSlotsOf(pool, of);
  const addresses = await addressesOf(chain, of.treasury, of.mints);
  const reachesBack = [...firstSlots.values()].every((slot) => slot >= of.kept.from);
  // Everything is then read again; where nodes have less, what they showed once is all there is.
  if (of.mode === 'full' && reachesBack) {
    await pool.query(`delete from records.reconcile_chain_transfers where app_id = $1 and environment = $2`, [
      of.appId,
      of.environment,
    ]);
  }
  return readTreasuryHistory(pool, chain, { ...of, addresses, firstSlots }, options);
}

/** By mint: the slot of the first move that was executed. */
async function firstSlotsOf(
  pool: Pool,
  { appId, environment, treasury }: Pick<TreasuryHistory, 'appId' | 'environment' | 'treasury'>,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ mint: string; slot: string }>(
    `select mint, min(slot) as slot from ${await liveReadSchema(pool)}.moves
      where app_id = $1 and environment = $2 and status = 'confirmed'
        and (to_address = $3 or from_address = $3)
      group by mint`,
    [appId, environment, treasury],
  );
  return new Map(rows.map(({ mint, slot }) => [mint, BigInt(slot)]));
}

/**
 * An associated account that was closed or given away has a history, too, but no longer belongs to the
 * treasury.
 */
async function addressesOf(
  chain: Chain,
  treasury: Address,
  mints: readonly string[],
): Promise<TreasuryHistory['addresses']> {
  const accounts = await chain.tokenAccountsOf(treasury, 'confirmed');
  const tokens = mints.filter((mint) => mint !== 'native');
  const associated = tokens.flatMap((mint) =>
    TOKEN_PROGRAMS.map((program) => ({ address: associatedTokenAddress(treasury, mint, program), mint })),
  );
  const others = accounts.filter(({ mint }) => tokens.includes(mint));
  const all = [{ address: treasury, mint: 'native' }, ...associated, ...others];
  return [...new Map(all.map(({ address, mint }) => [address, { address, mint }])).values()];
}
