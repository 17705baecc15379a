/** Which rate applies to which request. Source: contract, Common rules, row Rate limits. */
import type { Caller, RateLimitGroup } from './endpoint.ts';
import { reject } from './errors.ts';
import { createRateLimiter, type Rate, type RateLimiter, rateKeyOfAddress } from './rateLimiter.ts';

export interface RateLimits {
  readonly signIn: {
    /** By client address; a /64 for IPv6. Undefined: unlimited. */
    readonly perIp: Rate | undefined;
    /** By the key sent: all players of a game share its publishable key. */
    readonly perKey: Rate | undefined;
  };
  /** For every endpoint that takes a secret key, by key. Off by default. */
  readonly secretKey: Rate | undefined;
}

export const DEFAULT_RATE_LIMITS: RateLimits = {
  signIn: { perIp: { perMinute: 300, burst: 200 }, perKey: { perMinute: 6_000, burst: 1_000 } },
  secretKey: undefined,
};

export interface RateGate {
  /** Throws `request/rate_limited` with details `{ retryAfterSeconds }`. The address is read only where it counts. */
  readonly check: (
    group: RateLimitGroup | undefined,
    caller: Caller | undefined,
    address: () => string | undefined,
  ) => void;
}

export function createRateGate(limits: RateLimits, nowMs: () => number): RateGate {
  const limiterOf = (rate: Rate | undefined) => rate && createRateLimiter(rate, nowMs);
  const signInPerIp = limiterOf(limits.signIn.perIp);
  const signInPerKey = limiterOf(limits.signIn.perKey);
  const secretKey = limiterOf(limits.secretKey);

  return {
    check(group, caller, address) {
      if (secretKey && caller?.kind === 'secret') take(secretKey, caller.keyId);
      if (group !== 'signIn') return;
      if (signInPerIp) take(signInPerIp, rateKeyOfAddress(address() ?? 'unknown'));
      if (signInPerKey && caller && 'keyId' in caller) take(signInPerKey, caller.keyId);
    },
  };
}

function take(limiter: RateLimiter, key: string): void {
  const retryAfterSeconds = limiter.take(key);
  if (retryAfterSeconds > 0) throw reject('request/rate_limited', { retryAfterSeconds });
}
