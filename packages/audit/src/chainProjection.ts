/** Writes the chain, off the write path: the blocks of a page and the checkpoint in one transaction. */
import assert from 'node:assert/strict';
import { type ConsumerKey, type Projection, readCheckpoint } from '@coffer/consumers';
import { blocksOf } from './blocks.ts';
import { insertBlocks, readChainHead } from './blocksTable.ts';

/** Identifies the chain's checkpoint. Its lag is measured like any consumer's. */
/** It attests what is stored, not what another reader was given. */
export const CHAIN_CONSUMER = {
  schema: 'records',
  name: 'chain',
  takesRecent: false,
} as const satisfies ConsumerKey & {
  readonly takesRecent: boolean;
};

/**
 * When chained live, an event is in a block moments later. A page costs a row, so one page a second rather
 * than ten keeps the table small where events come one at a time.
 */
export const CHAIN_PAGE_INTERVAL_MS = 1_000;

/**
 * Continues from the last block in the table, never from memory. The checkpoint moves with the blocks, so if
 * they disagree, one of them was tampered with: the consumer stops and raises an alarm instead of chaining
 * on.
 */
export function chainProjection(): Projection {
  return {
    apply: async (db, events) => {
      const checkpoint = await readCheckpoint(db, CHAIN_CONSUMER);
      const head = await readChainHead(db);
      const end = head && { ...head.place, ordinal: head.ordinal };
      assert.deepEqual(end, checkpoint, 'the chain does not end where its consumer has stopped');
      const blocks = blocksOf(head, events);
      if (blocks.length > 0) await insertBlocks(db, blocks);
    },
  };
}
