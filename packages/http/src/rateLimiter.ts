/**
 * Token buckets, one per key, in this process (several nodes allow a multiple of the rate). A bucket is one number, the
 * time at which it will be full again; the number of buckets is bounded.
 */
import { isIPv6 } from 'node:net';

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

/** Longer than any address. What proxies forward may be anything. */
const MAX_KEY_LENGTH = 64;

/**
 * One IPv6 customer has a whole /64: its addresses share a bucket. Some proxies forward the port with the address
 * (`203.0.113.5:50123`, `[2001:db8::1]:443`), which is another one for each connection of the same client.
 */
export function rateKeyOfAddress(address: string): string {
  const host = withoutPort(address);
  if (!isIPv6(host)) return host.slice(0, MAX_KEY_LENGTH);
  const groups = groupsOf(host);
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

/** The eight numbers of an IPv6 address in any spelling. */
function groupsOf(address: string): readonly number[] {
  const [whole = ''] = address.split('%');
  const [before = [], after] = whole.split('::').map((part) => part.split(':').flatMap(numbersOf));
  if (!after) return before;
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** The last 32 bits may be spelt as an IPv4 address. */
function numbersOf(group: string): readonly number[] {
  if (group === '') return [];
  const [a = 0, b, c = 0, d = 0] = group.split('.').map(Number);
  return b === undefined ? [Number.parseInt(group, 16)] : [a * 256 + b, c * 256 + d];
}
