/** A bounded queue of appends, and the batches made from it: the appends of one stream keep their order. */
import { createTransientMap } from '@coffer/kernel';
import { StoreOverloadedError } from '../errors.ts';
import type { AppendRequest, AppendResult } from '../port.ts';
import { type Combined, canJoin, combinedOf, join } from './combinedAppends.ts';

export interface AppendEntry {
  readonly request: AppendRequest;
  readonly bytes: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (reason: unknown) => void;
}

/** The part of a batch for one stream. */
export type AppendGroup = Combined<AppendEntry>;

/** The most events in a batch; a larger single append goes alone. */
const MAX_BATCH_EVENTS = 128;
/** The most bytes, so that a few large appends do not hold up a batch of small ones. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** The fewest appends in a batch that follows another, unless it is full; it also has at least half as many as that one. Why: ADR 0040. */
const LEAST_FOLLOWING = 8;

export function createAppendQueue({
  maxQueuedEntries,
  maxQueuedBytes,
}: {
  readonly maxQueuedEntries: number;
  readonly maxQueuedBytes: number;
}) {
  const waiting: AppendEntry[] = [];
  let queuedBytes = 0;
  let queuedEvents = 0;
  /** The number of appends in the last batch. */
  let lastTaken = 0;
  /** Streams in batches that were taken and not given back. */
  const streamsInFlight = createTransientMap<string, true>();

  return {
    /** `beside`: how many more wait elsewhere. Throws `StoreOverloadedError`. */
    push(entry: AppendEntry, beside: number): void {
      const count = waiting.length + beside;
      if (count >= maxQueuedEntries || queuedBytes + entry.bytes > maxQueuedBytes) {
        throw new StoreOverloadedError(`${count} appends are already waiting.`);
      }
      waiting.push(entry);
      queuedBytes += entry.bytes;
      queuedEvents += entry.request.events.length;
    },

    /**
     * The oldest entries, none of a stream that is in flight. Entries of one stream are combined where possible; the others
     * wait for the next batch.
     */
    takeBatch(): readonly AppendGroup[] {
      const batch = new Map<string, AppendGroup>();
      const passedOver = new Set<string>();
      let events = 0;
      let bytes = 0;
      let taken = 0;
      let index = 0;
      while (index < waiting.length) {
        const entry = waiting[index];
        if (!entry) break;
        const { stream } = entry.request;
        const group = batch.get(stream);
        const isInTheWay = group ? !canJoin(group, entry) : streamsInFlight.has(stream);
        if (passedOver.has(stream) || isInTheWay) {
          passedOver.add(stream);
          index += 1;
          continue;
        }
        events += entry.request.events.length;
        bytes += entry.bytes;
        if (batch.size > 0 && (events > MAX_BATCH_EVENTS || bytes > MAX_BATCH_BYTES)) break;
        queuedBytes -= entry.bytes;
        queuedEvents -= entry.request.events.length;
        taken += 1;
        if (group) join(group, entry);
        else batch.set(stream, combinedOf(entry));
        if (index === 0) waiting.shift();
        else waiting.splice(index, 1);
      }
      for (const stream of batch.keys()) streamsInFlight.set(stream, true);
      lastTaken = taken;
      return [...batch.values()];
    },

    /** The batch is decided: the next one may include its streams. */
    giveBack(batch: readonly AppendGroup[]): void {
      for (const { stream } of batch) streamsInFlight.delete(stream);
    },

    refuseAll(reason: unknown): void {
      queuedBytes = 0;
      queuedEvents = 0;
      for (const { reject } of waiting.splice(0)) reject(reason);
    },

    /** Whether the next batch is worth sending while the last one is still on its way. */
    mayFollow: () =>
      queuedEvents >= MAX_BATCH_EVENTS || waiting.length >= Math.max(LEAST_FOLLOWING, lastTaken / 2),
    isEmpty: () => waiting.length === 0,
  };
}
