import { DEFAULT_RATE_LIMITS } from '@coffer/http';
import { expect } from 'chai';
import { configFrom } from './config.ts';
import { rateLimitsOf } from './rateLimits.ts';

const limitsWith = (environment: Readonly<Record<string, string>>) => rateLimitsOf(configFrom(environment));

describe('the rates of an installation', () => {
  it('are the defaults where nothing is set', () => {
    expect(limitsWith({})).to.deep.equal(DEFAULT_RATE_LIMITS);
  });

  it('are what is set, each by itself', () => {
    const { signIn, secretKey } = DEFAULT_RATE_LIMITS;
    expect(limitsWith({ COFFER_SIGN_IN_IP_RATE_PER_MINUTE: '7' })).to.deep.equal({
      signIn: { ...signIn, perIp: { perMinute: 7, burst: 7 } },
      secretKey,
    });
    expect(limitsWith({ COFFER_SIGN_IN_KEY_RATE_PER_MINUTE: '8' })).to.deep.equal({
      signIn: { ...signIn, perKey: { perMinute: 8, burst: 8 } },
      secretKey,
    });
    expect(limitsWith({ COFFER_SK_RATE_PER_MINUTE: '9' })).to.deep.equal({
      signIn,
      secretKey: { perMinute: 9, burst: 9 },
    });
  });
});
