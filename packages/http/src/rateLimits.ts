/** Which rate applies to which request. Source: contract, Common rules, row Rate limits. */
import type { Caller, RateLimitGroup } from './endpoint.ts';
import { reject } from './errors.ts';
import { createRateLimiter, type Rate, rateKeyOfAddress } from './rateLimiter.ts';

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

export type RateLimitName = 'signInPerIp' | 'signInPerKey' | 'secretKey';

/** 0 if allowed, otherwise the whole seconds until the next one is. A promise where another thread counts. */
export type TakeToken = (limit: RateLimitName, key: string) => number | Promise<number>;

/** Counts in this thread. `nowMs`: a monotonic clock. */
export function countTokens({ signIn, secretKey }: RateLimits, nowMs: () => number) {
  const limiterOf = (rate: Rate | undefined) => rate && createRateLimiter(rate, nowMs);
  const limiters = {
    signInPerIp: limiterOf(signIn.perIp),
    signInPerKey: limiterOf(signIn.perKey),
    secretKey: limiterOf(secretKey),
  };
  return (limit: RateLimitName, key: string): number => limiters[limit]?.take(key) ?? 0;
}

export interface RateGate {
  /**
   * Refuses with `request/rate_limited` and details `{ retryAfterSeconds }`. The address is read only where it counts.
   * Undefined if nothing is to be waited for.
   */
  readonly check: (
    group: RateLimitGroup | undefined,
    caller: Caller | undefined,
    address: () => string | undefined,
  ) => Promise<void> | undefined;
}

type Token = readonly [limit: RateLimitName, key: string];

export function createRateGate({ signIn, secretKey }: RateLimits, takeToken: TakeToken): RateGate {
  return {
    check(group, caller, address) {
      if (!secretKey && group !== 'signIn') return undefined;
      const tokens: Token[] = [];
      if (secretKey && caller?.kind === 'secret') tokens.push(['secretKey', caller.keyId]);
      if (group === 'signIn') {
        if (signIn.perIp) tokens.push(['signInPerIp', rateKeyOfAddress(address() ?? 'unknown')]);
        if (signIn.perKey && caller && 'keyId' in caller) tokens.push(['signInPerKey', caller.keyId]);
      }
      return take(tokens);
    },
  };

  function take([token, ...others]: readonly Token[]): Promise<void> | undefined {
    if (!token) return undefined;
    const taken = takeToken(...token);
    if (taken instanceof Promise) return taken.then(refuseUnlessNow).then(() => take(others));
    refuseUnlessNow(taken);
    return take(others);
  }
}

function refuseUnlessNow(retryAfterSeconds: number): void {
  if (retryAfterSeconds > 0) throw reject('request/rate_limited', { retryAfterSeconds });
}
