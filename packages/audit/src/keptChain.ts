/** The chain in the database, as read by a verification. */
import type { Queryable } from '@coffer/database';
import { readBlocks, readCarriedUntil, readChainHead } from './blocksTable.ts';
import { CHAIN_CONSUMER } from './chainProjection.ts';
import type { KeptChain } from './verifyLog.ts';

export function createKeptChain(db: Queryable): KeptChain {
  return {
    head: () => readChainHead(db),
    blocks: (upTo, behind) => readBlocks(db, upTo, behind),
    carriedUntil: () => readCarriedUntil(db),
    // One statement, so that both are from the same instant: they move together.
    brokenEnd: async () => {
      const { rows } = await db.query<{ readonly agrees: boolean }>(
        `select (c.ordinal, c.position, c.event_id) is not distinct from
                (b.last_ordinal, b.last_position, encode(substr(b.event_ids, length(b.event_ids) - 15), 'hex')::uuid::text) as agrees
           from (values (1)) as one
           left join ${CHAIN_CONSUMER.schema}.consumers c on c.name = $1
           left join lateral (
             select last_ordinal, last_position, event_ids from records.chain_blocks order by last_ordinal desc limit 1
           ) b on true`,
        [CHAIN_CONSUMER.name],
      );
      return rows[0]?.agrees
        ? undefined
        : 'the last block is not the one that the checkpoint of the chain was written with';
    },
  };
}
