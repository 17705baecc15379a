/** Source: contract, Referrals (codes). */
import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import { referralCode, referralCodeStreamOf } from './referralCode.ts';

const ANNA = 'usr_01jee1wzwqeh1rx3w2d3k4m5n1';
const BEN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n2';

describe('a referral code', () => {
  const given = givenWhenThen(referralCode);
  const claimed = { type: 'CodeClaimed', data: { code: 'Anna', userId: ANNA } } as const;
  const released = { type: 'CodeReleased', data: { userId: ANNA } } as const;
  const annas = { claim: { code: 'Anna', userId: ANNA, revision: 0 }, revision: 0 };

  it('is claimed by whoever comes first, and written as that user wrote it', () => {
    given().when({ type: 'ClaimCode', code: 'Anna', userId: ANNA }).thenHappened(claimed).andAnswers(annas);
    for (const userId of [ANNA, BEN]) {
      given(claimed)
        .when({ type: 'ClaimCode', code: 'ANNA', userId })
        .thenNothingHappened()
        .andAnswers(annas);
    }
  });

  it('is released by its user only', () => {
    given(claimed).when({ type: 'ReleaseCode', userId: BEN }).thenNothingHappened().andAnswers(annas);
    given(claimed)
      .when({ type: 'ReleaseCode', userId: ANNA })
      .thenHappened(released)
      .andAnswers({ claim: undefined, revision: 1 });
    given().when({ type: 'ReleaseCode', userId: ANNA }).thenNothingHappened();
  });

  it('is free again once released', () => {
    given(claimed, released)
      .when({ type: 'ClaimCode', code: 'anna', userId: BEN })
      .thenHappened({ type: 'CodeClaimed', data: { code: 'anna', userId: BEN } })
      .andAnswers({ claim: { code: 'anna', userId: BEN, revision: 2 }, revision: 2 });
  });

  it('is one code however its letters are written, and another one in another app or environment', () => {
    const place = { environment: 'test', appId: 'app_01jee1wzwqeh1rx3w2d3k4m5n1' } as const;
    const stream = referralCodeStreamOf({ ...place, code: 'Anna-1' });
    expect(referralCodeStreamOf({ ...place, code: 'aNNA-1' })).to.equal(stream);
    for (const other of [
      { ...place, code: 'Anna_1' },
      { ...place, environment: 'live', code: 'Anna-1' } as const,
      { ...place, appId: 'app_01jee1wzwqeh1rx3w2d3k4m5n2', code: 'Anna-1' },
    ]) {
      expect(referralCodeStreamOf(other)).not.to.equal(stream);
    }
  });
});
