/** Slots, heights, blockhashes, and what the cluster says about itself. */
import { heightOf, SLOTS_PER_EPOCH } from '../ledger/slots.ts';
import { API_VERSION, type Method, type RpcContext, slotFor, withContext } from './context.ts';
import { nodeBehind } from './errors.ts';
import { asAddress, type Settings } from './params.ts';

const MAXIMUM_FEE_ADDRESSES = 128;
const FEATURE_SET = 0;

export const chainMethods: Readonly<Record<string, Method>> = {
  getHealth: (_params, { faults }) => {
    if (faults.slotsBehind() > 0) throw nodeBehind(faults.slotsBehind());
    return 'ok';
  },
  getVersion: () => ({ 'solana-core': API_VERSION, 'feature-set': FEATURE_SET }),
  getGenesisHash: (_params, { genesisHash }) => genesisHash,
  /** The identity of the cluster's only node: the one key that this chain has. */
  getIdentity: (_params, { faucet }) => ({ identity: faucet.address }),
  getClusterNodes: (_params, { faucet, listensAt }) => [
    {
      pubkey: faucet.address,
      // It has nobody to gossip with, and accepts transactions only by its RPC.
      ...{ gossip: null, tvu: null, tpu: null, tpuQuic: null, tpuForwards: null, tpuForwardsQuic: null },
      ...{ tpuVote: null, serveRepair: null },
      ...listensAt(),
      version: API_VERSION,
      featureSet: FEATURE_SET,
      shredVersion: 0,
    },
  ],
  /** Nobody votes: a block becomes final by age. */
  getVoteAccounts: (params) => {
    const { votePubkey } = params.settings(0);
    if (votePubkey) asAddress(votePubkey);
    return { current: [], delinquent: [] };
  },
  getSlot: (params, context) => slotFor(context, params.settings(0)),
  getBlockHeight: (params, context) => heightFor(context, params.settings(0)),
  getEpochInfo: (params, context) => {
    const settings = params.settings(0);
    const slot = slotFor(context, settings);
    return {
      absoluteSlot: slot,
      blockHeight: heightFor(context, settings),
      epoch: slot / SLOTS_PER_EPOCH,
      slotIndex: slot % SLOTS_PER_EPOCH,
      slotsInEpoch: SLOTS_PER_EPOCH,
      transactionCount: context.ledger.transactionCount(),
    };
  },
  getTransactionCount: (_params, { ledger }) => ledger.transactionCount(),
  getLatestBlockhash: (params, context) => {
    const slot = slotFor(context, params.settings(0));
    return withContext(slot, context.ledger.blockhashAt(slot));
  },
  isBlockhashValid: (params, context) => {
    const slot = slotFor(context, params.settings(1));
    return withContext(slot, context.ledger.isUsable(params.string(0), slot));
  },
  getMinimumBalanceForRentExemption: (params, { ledger }) => ledger.rentMinimum(Number(params.u64(0))),
  getRecentPrioritizationFees: (params, { ledger }) =>
    ledger.recentFees(params.addresses(0, MAXIMUM_FEE_ADDRESSES)),
};

function heightFor(context: RpcContext, settings: Settings): bigint {
  return heightOf(slotFor(context, settings, settings.commitment ?? 'finalized', context.faults.heightTip()));
}
