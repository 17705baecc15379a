/** How much a store lets wait for the log; one append more is refused with `StoreOverloadedError`. */
export interface QueueLimits {
  /** The most appends that may wait. Default 10,000. */
  readonly maxQueuedAppends?: number;
  /** The most bytes they may have. Default 64 MiB. */
  readonly maxQueuedBytes?: number;
}

export const queueLimits = ({
  maxQueuedAppends = 10_000,
  maxQueuedBytes = 64 * 1024 * 1024,
}: QueueLimits): Required<QueueLimits> => ({ maxQueuedAppends, maxQueuedBytes });
