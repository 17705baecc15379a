/** What one user's stream decides; what needs a look at others is in `../attributions.spec.ts`. Source: contract, Referrals. */
import { givenWhenThen } from '@coffer/testing';
import { referral } from './referral.ts';

const BEN = 'usr_01jee1wzwqeh1rx3w2d3k4m5n2';
const CLEO = 'usr_01jee1wzwqeh1rx3w2d3k4m5n3';

describe('a referral', () => {
  const given = givenWhenThen(referral);
  const bens = { referrerUserId: BEN, code: 'Ben' };
  const cleos = { referrerUserId: CLEO, code: 'Cleo' };
  const issued = { type: 'CodeIssued', data: { code: 'Anna' } } as const;
  const begun = { type: 'AttributionBegun', data: bens } as const;
  const attributed = { type: 'UserAttributed', data: bens } as const;
  const dropped = { type: 'AttributionDropped', data: { referrerUserId: BEN } } as const;

  describe('with its code', () => {
    it('keeps the first one for ever', () => {
      given()
        .when({ type: 'IssueCode', code: 'Anna' })
        .thenHappened(issued)
        .andAnswers({ code: 'Anna', link: undefined, revision: 0 });
      given(issued)
        .when({ type: 'IssueCode', code: 'Other' })
        .thenNothingHappened()
        .andReplays({ code: 'Anna', link: undefined, revision: 0 });
    });

    it('can get one after its referrer', () => {
      given(attributed).when({ type: 'IssueCode', code: 'Anna' }).thenHappened(issued);
    });
  });

  describe('without a code', () => {
    it('is attributed at once', () => {
      given()
        .when({ type: 'Attribute', ...bens })
        .thenHappened(attributed)
        .andAnswers({ code: undefined, link: { ...bens, status: 'attributed', revision: 0 }, revision: 0 });
    });
  });

  describe('with a code', () => {
    it('is begun, then attributed', () => {
      given(issued)
        .when({ type: 'Attribute', ...bens })
        .thenHappened(begun)
        .andAnswers({ code: 'Anna', link: { ...bens, status: 'begun', revision: 1 }, revision: 1 });
      given(issued, begun)
        .when({ type: 'FinishAttribution', begunAt: 1, closesCircle: false })
        .thenHappened(attributed)
        .andAnswers({ code: 'Anna', link: { ...bens, status: 'attributed', revision: 2 }, revision: 2 });
    });

    it('is begun, then dropped if it would close a circle, after which another referrer can come', () => {
      given(issued, begun)
        .when({ type: 'FinishAttribution', begunAt: 1, closesCircle: true })
        .thenHappened(dropped)
        .andAnswers({ code: 'Anna', link: undefined, revision: 2 });
      given(issued, begun, dropped)
        .when({ type: 'Attribute', ...cleos })
        .thenHappened({ type: 'AttributionBegun', data: cleos });
    });

    it('is not begun twice', () => {
      given(issued, begun)
        .when({ type: 'Attribute', ...cleos })
        .thenNothingHappened()
        .andAnswers({ code: 'Anna', link: { ...bens, status: 'begun', revision: 1 }, revision: 1 });
    });

    it('is finished only where it was begun, and once', () => {
      const finish = { type: 'FinishAttribution', begunAt: 1, closesCircle: true } as const;
      const begunByCleo = { type: 'AttributionBegun', data: cleos } as const;
      given(issued).when(finish).thenNothingHappened();
      given(issued, begun, attributed).when(finish).thenNothingHappened();
      given(attributed)
        .when({ ...finish, begunAt: 0 })
        .thenNothingHappened();
      given(issued, begun, dropped).when(finish).thenNothingHappened();
      given(issued, begun, dropped, begunByCleo).when(finish).thenNothingHappened();
    });
  });

  it('is final once attributed', () => {
    const final = { ...bens, status: 'attributed', revision: 0 } as const;
    for (const link of [bens, cleos]) {
      given(attributed)
        .when({ type: 'Attribute', ...link })
        .thenNothingHappened()
        .andReplays({ code: undefined, link: final, revision: 0 });
    }
  });

  it('is answered from memory once nothing in it can change', () => {
    const link = { ...bens, status: 'attributed', revision: 1 } as const;
    given(issued, attributed)
      .when({ type: 'ShowReferral' })
      .thenNothingHappened()
      .andReplays({ code: 'Anna', link, revision: 1 });
    given(attributed)
      .when({ type: 'ShowReferral' })
      .thenNothingHappened()
      .andAnswers({ code: undefined, link: { ...link, revision: 0 }, revision: 0 });
    given(issued, begun)
      .when({ type: 'ShowReferral' })
      .thenNothingHappened()
      .andAnswers({ code: 'Anna', link: { ...bens, status: 'begun', revision: 1 }, revision: 1 });
    given(issued)
      .when({ type: 'ShowReferral' })
      .thenNothingHappened()
      .andAnswers({ code: 'Anna', link: undefined, revision: 0 });
  });
});
