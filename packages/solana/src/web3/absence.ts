/**
 * Why nodes do not find a transaction. Nodes prune their history: most after days, some within minutes, and
 * some keep none. For what they no longer hold they answer null, as for what never existed.
 */
import { z } from 'zod';
import type { Absence, KeptHistory, Signature } from '../port.ts';
import { u64Figure } from './losslessJson.ts';
import { type NodePool, NodesFailedError, refusalOf } from './nodePool.ts';
import { statusesAnswer } from './rpcAnswers.ts';
import type { RpcNode } from './rpcNode.ts';

/** "Transaction history is not available from this node". */
export const HISTORY_NOT_KEPT = -32011;

export async function absenceOn(pool: NodePool, signature: Signature, slot: bigint): Promise<Absence> {
  const { said, failed } = await pool.all((node) => absenceAt(node, signature, slot));
  if (said.length === 0) throw new NodesFailedError(failed);
  const answers = said.map(({ answer }) => answer);
  if (answers.includes('known')) return 'notKept';
  if (answers.includes('unknown')) return 'unknown';
  return answers.includes('notFinal') ? 'notFinal' : 'notKept';
}

async function absenceAt(node: RpcNode, signature: Signature, slot: bigint): Promise<Absence | 'known'> {
  if ((await firstSlotOf(node)) > slot) return 'notKept';
  try {
    const [status] = await node.call(
      'getSignatureStatuses',
      [[signature], { searchTransactionHistory: true }],
      statusesAnswer([signature]),
    );
    if (status) return status.commitment === 'finalized' ? 'known' : 'notFinal';
  } catch (error) {
    if (refusalOf(error)?.code === HISTORY_NOT_KEPT) return 'notKept';
    throw error;
  }
  return (await finalizedSlotOf(node)) < slot ? 'notFinal' : 'unknown';
}

export async function historyOn(pool: NodePool): Promise<KeptHistory> {
  const { said, failed } = await pool.all(async (node) => {
    const from = await firstSlotOf(node);
    return { from, fromAt: await timeOf(node, from), to: await finalizedSlotOf(node) };
  });
  const [longest, ...others] = said
    .map(({ answer }) => answer)
    .sort((one, other) => (one.from < other.from ? -1 : 1));
  if (!longest) throw new NodesFailedError(failed);
  const to = others.reduce((least, one) => (one.to < least ? one.to : least), longest.to);
  return { ...longest, to };
}

export const firstSlotOf = (node: RpcNode): Promise<bigint> =>
  node.call('getFirstAvailableBlock', [], u64Figure);
const finalizedSlotOf = (node: RpcNode): Promise<bigint> =>
  node.call('getSlot', [{ commitment: 'finalized' }], u64Figure);

/** Null also if the node has no time for the slot, or does not know the method. */
async function timeOf(node: RpcNode, slot: bigint): Promise<Date | null> {
  try {
    const seconds = await node.call('getBlockTime', [Number(slot)], z.int().nullable());
    return seconds === null ? null : new Date(seconds * 1000);
  } catch (error) {
    if (refusalOf(error)) return null;
    throw error;
  }
}
