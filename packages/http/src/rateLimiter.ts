/**
 * Token buckets, one per key, in this process (several nodes allow a multiple of the rate). A bucket is one number, the
 * time at which it will be full again; the number of buckets is bounded.
 */

export interface Rate {
  readonly perMinute: number;
  /** How many pass at once after a pause. */
  readonly burst: number;
}

export interface RateLimiter {
  /** Takes a token. 0 when allowed, otherwise the whole seconds until the next one. */
  take(key: string): number;
  /** The same answer without taking one. */
  wait(key: string): number;
}

const MAX_BUCKETS = 100_000;

/** `nowMs`: a monotonic clock. */
export function createRateLimiter(rate: Rate, nowMs: () => number, maxBuckets = MAX_BUCKETS): RateLimiter {
  const intervalMs = 60_000 / rate.perMinute;
  const capacityMs = intervalMs * rate.burst;
  const fullAtMs = new Map<string, number>();

  /** When the bucket would be full again if one were taken now, and the seconds until one is available. */
  const look = (key: string) => {
    const now = nowMs();
    const next = Math.max(fullAtMs.get(key) ?? now, now) + intervalMs;
    const overMs = next - now - capacityMs;
    // Whole rates give fractions of a millisecond: an exact comparison would refuse the last of a burst.
    return { next, seconds: overMs > 0.001 ? Math.ceil(overMs / 1000) : 0 };
  };

  return {
    wait: (key) => look(key).seconds,
    take(key) {
      const { next, seconds } = look(key);
      if (seconds > 0) return seconds;

      // Deleted first, so that the map stays in order of last use and the oldest is evicted.
      fullAtMs.delete(key);
      if (fullAtMs.size >= maxBuckets) evictOldest(fullAtMs);
      fullAtMs.set(key, next);
      return 0;
    },
  };
}

function evictOldest(buckets: Map<string, number>): void {
  const oldest = buckets.keys().next();
  if (!oldest.done) buckets.delete(oldest.value);
}

/** One IPv6 customer has a whole /64: its addresses share a bucket. */
export function rateKeyOfAddress(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? 0 : tail.split(':').length;
    while (groups.length + after < 8) groups.push('0');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
