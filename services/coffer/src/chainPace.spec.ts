import { DEFAULT_POLICY } from '@coffer/moves';
import { expect } from 'chai';
import { configFrom } from './config.ts';

describe('the pace of the chain worker', () => {
  const paceOf = (environment: Readonly<Record<string, string>>) => {
    const { pollIntervalMs, resendIntervalMs, lossCheckIntervalMs, firstRetryMs } =
      configFrom(environment).chain.policy;
    return { pollIntervalMs, resendIntervalMs, lossCheckIntervalMs, firstRetryMs };
  };

  it('is that of the policy unless it is set', () => {
    expect(DEFAULT_POLICY).to.include(paceOf({}));
  });

  it('follows COFFER_CHAIN_POLL_MS as a whole', () => {
    expect(paceOf({ COFFER_CHAIN_POLL_MS: '100' })).to.deep.equal({
      pollIntervalMs: 100,
      resendIntervalMs: 200,
      lossCheckIntervalMs: 1_000,
      firstRetryMs: 100,
    });
  });
});
