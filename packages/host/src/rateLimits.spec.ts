import { DEFAULT_RATE_LIMITS } from '@coffer/http';
import { expect } from 'chai';
import { type RatesPerMinute, rateLimitsOf } from './rateLimits.ts';

const limitsWith = (rates: Partial<RatesPerMinute>) =>
  rateLimitsOf({
    secretKeyRatePerMinute: undefined,
    signInIpRatePerMinute: undefined,
    signInKeyRatePerMinute: undefined,
    ...rates,
  });

describe('the rates of an installation', () => {
  it('are the defaults where nothing is set', () => {
    expect(limitsWith({})).to.deep.equal(DEFAULT_RATE_LIMITS);
  });

  it('are what is set, each by itself', () => {
    const { signIn, secretKey } = DEFAULT_RATE_LIMITS;
    expect(limitsWith({ signInIpRatePerMinute: 7 })).to.deep.equal({
      signIn: { ...signIn, perIp: { perMinute: 7, burst: 7 } },
      secretKey,
    });
    expect(limitsWith({ signInKeyRatePerMinute: 8 })).to.deep.equal({
      signIn: { ...signIn, perKey: { perMinute: 8, burst: 8 } },
      secretKey,
    });
    expect(limitsWith({ secretKeyRatePerMinute: 9 })).to.deep.equal({
      signIn,
      secretKey: { perMinute: 9, burst: 9 },
    });
  });
});
