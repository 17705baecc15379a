/**
 * Whether a transaction is lost. A wrong yes is a payment made twice, so every configured node must agree,
 * and each must first show that its answer can be trusted:
 *
 * - its finalized block height is above the last valid one: no block that it will ever build on holds the
 *   transaction;
 * - the history it then searches is at least as new as that height (one address may front many machines, and
 *   the next answer may come from one that lags);
 * - its history still reaches back to before the transaction could have landed. A node that has pruned that
 *   part knows nothing of the transaction either.
 *
 * A node that lags or has forgotten proves nothing, so the answer is no. A silent node makes this throw:
 * nothing is known. One that never returns is removed from the configuration by its operator, who knows why.
 */
import { z } from 'zod';
import type { Signature } from '../port.ts';
import { firstSlotOf } from './absence.ts';
import { u64Figure } from './losslessJson.ts';
import { type NodePool, NodesFailedError } from './nodePool.ts';
import type { RpcNode } from './rpcNode.ts';

/**
 * How many blocks after its own a blockhash is valid: the transaction cannot have landed earlier than this
 * many blocks before the last valid one.
 */
const BLOCKHASH_LIFE_BLOCKS = 151n;

/** A status counts as known whatever it says. */
const knownAnswer = z.object({
  context: z.object({ slot: u64Figure }),
  value: z.array(z.looseObject({}).nullable()).length(1),
});

type Verdict = 'gone' | 'known' | 'cannotTell';

export async function isLostOn(
  pool: NodePool,
  signature: Signature,
  lastValidBlockHeight: bigint,
): Promise<boolean> {
  // Most are checked while they may still land: then one node is enough for a no.
  const height = await pool.first(async (node) => (await finalized(node)).height);
  if (height <= lastValidBlockHeight) return false;

  const { said, failed } = await pool.all((node) => verdictOf(node, signature, lastValidBlockHeight));
  if (said.some(({ answer }) => answer === 'known')) return false;
  if (failed.length > 0) throw new NodesFailedError(failed);
  return said.length > 0 && said.every(({ answer }) => answer === 'gone');
}

async function verdictOf(
  node: RpcNode,
  signature: Signature,
  lastValidBlockHeight: bigint,
): Promise<Verdict> {
  const { slot, height } = await finalized(node);
  const { context, value } = await node.call(
    'getSignatureStatuses',
    [[signature], { searchTransactionHistory: true }],
    knownAnswer,
  );
  if (value[0]) return 'known';
  if (height <= lastValidBlockHeight || context.slot < slot) return 'cannotTell';
  return (await remembers(node, lastValidBlockHeight - BLOCKHASH_LIFE_BLOCKS)) ? 'gone' : 'cannotTell';
}

/** Slot and height of the same block: two calls could reach two machines. */
async function finalized(node: RpcNode): Promise<{ readonly slot: bigint; readonly height: bigint }> {
  const { absoluteSlot, blockHeight } = await node.call(
    'getEpochInfo',
    [{ commitment: 'finalized' }],
    z.object({ absoluteSlot: u64Figure, blockHeight: u64Figure }),
  );
  return { slot: absoluteSlot, height: blockHeight };
}

/** Whether the node's history begins at that height or earlier. */
async function remembers(node: RpcNode, height: bigint): Promise<boolean> {
  const firstSlot = await firstSlotOf(node);
  // Slots without a block count too, so a slot is never less than the height of its block.
  if (firstSlot <= (height > 0n ? height : 0n)) return true;
  const first = await node.call(
    'getBlock',
    [
      Number(firstSlot),
      {
        commitment: 'finalized',
        transactionDetails: 'none',
        rewards: false,
        maxSupportedTransactionVersion: 0,
      },
    ],
    z.object({ blockHeight: u64Figure }),
  );
  return first.blockHeight <= height;
}
