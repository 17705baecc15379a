/** Blocks: the genesis, then one in every slot since the first, empty if nothing was sent. */
import { FIRST_SLOT, GENESIS_SLOT, heightOf, parentOf, SLOTS_PER_EPOCH } from '../ledger/slots.ts';
import { type Method, type RpcContext, slotFor } from './context.ts';
import { blockCleanedUp, blockNotAvailable, invalidParams, slotSkipped } from './errors.ts';
import type { Settings } from './params.ts';
import {
  accountsOnlyJson,
  assertVersion,
  recordedTransaction,
  transactionInBlock,
} from './transactionJson.ts';

/** The limit that nodes have. */
const MAXIMUM_RANGE = 500_000n;
const MAXIMUM_SAMPLES = 720n;
const SAMPLE_SECONDS = 60;
/** For the samples of a chain whose slots are advanced by hand. */
const CLUSTER_SLOT_MS = 400;

export const blockMethods: Readonly<Record<string, Method>> = {
  getBlock: (params, context) => {
    const slot = params.u64(0);
    const settings = params.encodingSettings(1);
    const newest = slotFor(context, assertConfirmed(settings));
    assertKept(slot, context);
    if (slot > newest) throw blockNotAvailable(slot);
    return {
      blockhash: context.ledger.blockhashAt(slot).blockhash,
      previousBlockhash: context.ledger.blockhashAt(parentOf(slot)).blockhash,
      parentSlot: parentOf(slot),
      ...transactionsOf(slot, settings, context),
      // There is nobody to reward.
      ...(settings.rewards !== false && { rewards: [] }),
      blockTime: context.ledger.blockTimeSeconds(slot),
      blockHeight: heightOf(slot),
    };
  },
  getBlocks: (params, context) => {
    const first = params.u64(0);
    // The end may be left out.
    const hasEnd = typeof params.value(1) !== 'object' || params.value(1) === null;
    const newest = slotFor(context, assertConfirmed(params.settings(hasEnd ? 2 : 1)));
    const wanted = hasEnd ? params.optionalU64(1) : undefined;
    const last = lesser(wanted ?? first + MAXIMUM_RANGE, newest);
    if (last - first > MAXIMUM_RANGE) throw invalidParams(`Slot range too large; max ${MAXIMUM_RANGE}`);
    return slotsBetween(first, last, context);
  },
  getBlocksWithLimit: (params, context) => {
    const first = params.u64(0);
    const limit = params.u64(1);
    const newest = slotFor(context, assertConfirmed(params.settings(2)));
    if (limit > MAXIMUM_RANGE) throw invalidParams(`Limit too large; max ${MAXIMUM_RANGE}`);
    const from = greater(greater(first, firstKept(context)), FIRST_SLOT);
    return slotsBetween(first, lesser(from + limit - 1n, newest), context).slice(0, Number(limit));
  },
  getBlockTime: (params, context) => {
    const slot = params.u64(0);
    assertKept(slot, context);
    if (slot > context.faults.tip()) throw blockNotAvailable(slot);
    return context.ledger.blockTimeSeconds(slot);
  },
  /** Nothing is ever discarded unless a spec asks for it: the genesis tells clients that the history is complete. */
  getFirstAvailableBlock: (_params, context) => firstKept(context),
  minimumLedgerSlot: (_params, context) => firstKept(context),
  getEpochSchedule: () => ({
    slotsPerEpoch: SLOTS_PER_EPOCH,
    leaderScheduleSlotOffset: SLOTS_PER_EPOCH,
    warmup: false,
    firstNormalEpoch: 0,
    firstNormalSlot: 0,
  }),
  getRecentPerformanceSamples: (params, context) => {
    const limit = params.optionalU64(0) ?? MAXIMUM_SAMPLES;
    if (limit > MAXIMUM_SAMPLES) throw invalidParams(`Invalid limit; max ${MAXIMUM_SAMPLES}`);
    return samples(limit, context);
  },
};

export function assertConfirmed(settings: Settings): Settings {
  if (settings.commitment === 'processed')
    throw invalidParams('Method does not support commitment below `confirmed`');
  return settings;
}

function transactionsOf(slot: bigint, settings: Settings, { ledger }: RpcContext) {
  const { transactionDetails, encoding, maxSupportedTransactionVersion } = settings;
  if (transactionDetails === 'none') return {};
  const records = ledger.transactionsIn(slot);
  if (transactionDetails === 'signatures') return { signatures: records.map(({ signature }) => signature) };
  const transactions = records.map((record) => {
    const recorded = recordedTransaction(record);
    const withVersion = assertVersion(recorded, maxSupportedTransactionVersion);
    if (transactionDetails === 'accounts') return accountsOnlyJson(recorded, withVersion);
    return transactionInBlock(recorded, encoding ?? 'json', withVersion);
  });
  return { transactions };
}

function samples(limit: bigint, { ledger, faults }: RpcContext) {
  const slotsEach = BigInt(
    Math.max(1, Math.round((SAMPLE_SECONDS * 1000) / (ledger.slotMs || CLUSTER_SLOT_MS))),
  );
  // Completed samples, newest first.
  const next = (faults.tip() + 1n) / slotsEach;
  const first = greater(next - limit, FIRST_SLOT / slotsEach + 1n);
  const counts = ledger.countsFrom(first * slotsEach, slotsEach);
  return Array.from({ length: Number(greater(next - first, 0n)) }, (_, index) => {
    const period = next - 1n - BigInt(index);
    const count = counts.get(period) ?? 0;
    return {
      slot: (period + 1n) * slotsEach - 1n,
      numTransactions: count,
      numNonVoteTransactions: count,
      numSlots: slotsEach,
      samplePeriodSecs: SAMPLE_SECONDS,
    };
  });
}

const firstKept = ({ faults }: RpcContext) => greater(GENESIS_SLOT, faults.keptFrom());

function assertKept(slot: bigint, context: RpcContext): void {
  const first = firstKept(context);
  if (slot < first) throw blockCleanedUp(slot, first);
  if (slot > GENESIS_SLOT && slot < FIRST_SLOT) throw slotSkipped(slot);
}

function slotsBetween(first: bigint, last: bigint, context: RpcContext): readonly bigint[] {
  const kept = greater(first, firstKept(context));
  const from = greater(kept, FIRST_SLOT);
  const slots = Array.from(
    { length: Number(greater(last - from + 1n, 0n)) },
    (_, index) => from + BigInt(index),
  );
  return kept === GENESIS_SLOT ? [GENESIS_SLOT, ...slots] : slots;
}

const lesser = (one: bigint, other: bigint) => (one < other ? one : other);
const greater = (one: bigint, other: bigint) => (one > other ? one : other);
