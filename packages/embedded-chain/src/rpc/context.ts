/** What the methods work on. */

import type { Faucet } from '../faucet.ts';
import type { Faults } from '../faults.ts';
import type { Commitment, Ledger } from '../ledger/ledger.ts';
import { contextSlotNotReached } from './errors.ts';
import type { Params, Settings } from './params.ts';

export const API_VERSION = '4.0.0';

export interface RpcContext {
  readonly ledger: Ledger;
  readonly faucet: Faucet;
  readonly ensureMint: (mint: { readonly address: string; readonly decimals: number }) => Promise<void>;
  readonly genesisHash: string;
  /** Host and port of the RPC and of subscriptions. */
  readonly listensAt: () => { readonly rpc: string; readonly pubsub: string };
  /** What this node knows and does, which may be less than it should. */
  readonly faults: Faults;
}

export type Method = (params: Params, context: RpcContext) => unknown;

/** The slot whose state answers: by default what a node takes for finalized. */
export function slotFor(
  { ledger, faults }: RpcContext,
  settings: Settings,
  commitment: Commitment = settings.commitment ?? 'finalized',
  newest: bigint = faults.tip(),
): bigint {
  const slot = ledger.slotAt(commitment, newest);
  const { minContextSlot } = settings;
  if (minContextSlot !== null && minContextSlot !== undefined && slot < minContextSlot) {
    throw contextSlotNotReached(slot);
  }
  return slot;
}

export const withContext = (slot: bigint, value: unknown) => ({
  context: { apiVersion: API_VERSION, slot },
  value,
});
