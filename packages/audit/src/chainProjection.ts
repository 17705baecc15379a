/** Writes the chain, off the write path: the blocks of a page and the checkpoint in one transaction. */
import assert from 'node:assert/strict';
import { type ConsumerKey, type Projection, readCheckpoint } from '@coffer/consumers';
import { blocksOf } from './blocks.ts';
import { insertBlocks, readChainHead } from './blocksTable.ts';

/** Where the chain's checkpoint stands. Its lag is that of any consumer. */
export const CHAIN_CONSUMER: ConsumerKey = { schema: 'records', name: 'chain' };

/**
 * Chained live, an event is in a block some moments later. A page costs a row, so that a page a second, and
 * not ten, keeps the table small where events come one at a time.
 */
export const CHAIN_PAGE_INTERVAL_MS = 1_000;

/**
 * Goes on from the last block in the table, never from memory. The checkpoint moves with the blocks, so where
 * they disagree one of them was tampered with: the consumer stops and alarms rather than chain on.
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
