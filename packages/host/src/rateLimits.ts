/** The rate limits of this installation: as set, or the defaults. Source: contract, Common rules, row Rate limits. */
import { DEFAULT_RATE_LIMITS, type Rate, type RateLimits } from '@coffer/http';

/** Undefined: the default. */
export interface RatesPerMinute {
  readonly secretKeyRatePerMinute: number | undefined;
  readonly signInIpRatePerMinute: number | undefined;
  readonly signInKeyRatePerMinute: number | undefined;
}

export function rateLimitsOf({
  secretKeyRatePerMinute,
  signInIpRatePerMinute,
  signInKeyRatePerMinute,
}: RatesPerMinute): RateLimits {
  const { signIn, secretKey } = DEFAULT_RATE_LIMITS;
  return {
    signIn: {
      perIp: rateOf(signInIpRatePerMinute) ?? signIn.perIp,
      perKey: rateOf(signInKeyRatePerMinute) ?? signIn.perKey,
    },
    secretKey: rateOf(secretKeyRatePerMinute) ?? secretKey,
  };
}

/** A minute's worth may arrive at once. */
const rateOf = (perMinute: number | undefined): Rate | undefined =>
  perMinute === undefined ? undefined : { perMinute, burst: perMinute };
