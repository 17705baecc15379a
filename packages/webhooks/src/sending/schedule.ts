/** When a delivery is attempted again, and when no more. Source: spec, Delivery and retry; contract, Webhooks. */
/** After the first failure, the second, … The one after the last is the end. */
export const RETRY_DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000] as const;

/** An attempt that has not begun so long after the first one never does: the sender was away for too long. */
export const GIVE_UP_AFTER_MS = 2 * 60 * 60_000;

/** An endpoint that has only failed for so long is disabled. */
export const DISABLE_AFTER_MS = 5 * 24 * 60 * 60_000;
