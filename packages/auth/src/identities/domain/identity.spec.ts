import { givenWhenThen } from '@coffer/testing';
import { expect } from 'chai';
import type { IdentityEvent } from './identity.events.ts';
import { type IdentityCommand, identity, identityStreamName, type Touch } from './identity.ts';

const AT = '2026-01-02T03:04:05.678Z';
const LATER = '2026-02-03T04:05:06.789Z';
const place = {
  environment: 'test',
  scopeId: 'scp_01h455vb4pex5vsknk084sn02q',
  identityHash: 'ab12',
} as const;

const given = givenWhenThen(identity);

const signIn = (firstTouch: Touch = {}, { appId = 'app_1', at = AT } = {}): IdentityCommand => ({
  type: 'ClaimIdentity',
  place,
  identityType: 'email',
  appId,
  firstTouch,
  at,
});
const release = (userId: string): IdentityCommand => ({ type: 'ReleaseIdentity', userId, at: LATER });

// Permanent on disk: every release must derive the same ids from the same claim.
const FIRST = '55qbwj28gza8y925h9v1jd34hr';
const SECOND = '70r19yd095bzrbcppw8fwq3y0k';

/** The event of the nth claim. */
const claimed = (firstTouch: Touch = {}, claim: 1 | 2 = 1) => {
  const suffix = { 1: FIRST, 2: SECOND }[claim];
  return {
    type: 'IdentityClaimed',
    data: {
      userId: `usr_${suffix}`,
      identityId: `idn_${suffix}`,
      type: 'email',
      identityHash: 'ab12',
      appId: 'app_1',
      ...firstTouch,
      claimedAt: AT,
    },
  } as const satisfies IdentityEvent;
};
const first = claimed().data.userId;
const released: IdentityEvent = {
  type: 'IdentityReleased',
  data: { userId: first, identityId: claimed().data.identityId, releasedAt: LATER },
};
const touched = (appId: string, firstTouch: Touch = {}): IdentityEvent => ({
  type: 'FirstTouched',
  data: { userId: first, appId, ...firstTouch, touchedAt: AT },
});
const answerOf = ({ data }: ReturnType<typeof claimed>, revision = 0) => ({
  userId: data.userId,
  identityId: data.identityId,
  type: data.type,
  appId: data.appId,
  claimedAt: data.claimedAt,
  revision,
});

describe('an identity', () => {
  it('is claimed by the first sign-in, which tells all that the user follows from', () => {
    const firstTouch = { referralCode: 'SUMMER26', gameKey: 'dice' };
    given()
      .when(signIn(firstTouch))
      .thenHappened(claimed(firstTouch))
      .andAnswers({ ...answerOf(claimed(firstTouch)), referralCode: 'SUMMER26' });
  });

  it('tells the referral code of the first touch at every later sign-in, whichever that one brings', () => {
    const first = { referralCode: 'SUMMER26' };
    given(claimed(first))
      .when(signIn({ referralCode: 'WINTER27' }))
      .thenNothingHappened()
      .andReplays({ ...answerOf(claimed(first)), ...first });
    given(claimed(first))
      .when(signIn({}, { appId: 'app_2' }))
      .thenHappened(touched('app_2'))
      .andAnswers(answerOf(claimed(first)));
  });

  it('stays the user’s at every later sign-in, through whichever app of the scope', () => {
    given(claimed())
      .when(signIn({}, { at: LATER }))
      .thenNothingHappened()
      .andReplays(answerOf(claimed()));
    given(claimed())
      .when(signIn({}, { appId: 'app_2' }))
      .thenHappened(touched('app_2'))
      .andAnswers(answerOf(claimed()));
  });

  it('is confirmed current before it answers, since a release takes it back', () => {
    const state = identity.evolve(identity.initialState, claimed());
    expect(identity.decide(state, signIn()).revocable).to.equal(true);
  });

  const code = { referralCode: 'SUMMER26' };
  const touches: readonly [
    rule: string,
    history: IdentityEvent[],
    command: IdentityCommand,
    news: boolean,
  ][] = [
    ['the first sign-in through another app', [claimed(code)], signIn(code, { appId: 'app_2' }), true],
    ['no second sign-in through it', [claimed(), touched('app_2')], signIn({}, { appId: 'app_2' }), false],
    ['a first referral code', [claimed()], signIn(code), true],
    ['no second referral code', [claimed(code)], signIn({ referralCode: 'WINTER27' }), false],
    ['no second one after a late first', [claimed(), touched('app_1', code)], signIn(code), false],
    ['no game key alone', [claimed()], signIn({ gameKey: 'dice' }), false],
  ];
  for (const [rule, history, command, isNews] of touches) {
    it(`keeps as a first touch: ${rule}`, () => {
      const outcome = given(...history).when(command);
      if (!isNews) return void outcome.thenNothingHappened();
      const { appId, firstTouch } = command.type === 'ClaimIdentity' ? command : expect.fail();
      outcome.thenHappened(touched(appId, firstTouch));
    });
  }

  it('is released by its user, once', () => {
    given(claimed()).when(release(first)).thenHappened(released).andAnswers(undefined);
    given(claimed(), released).when(release(first)).thenNothingHappened().andAnswers(undefined);
    given().when(release(first)).thenNothingHappened().andAnswers(undefined);
  });

  it('is, once released, claimed for a new user, whom a repeated release leaves alone', () => {
    const again = claimed({}, 2);
    given(claimed(), released).when(signIn()).thenHappened(again).andAnswers(answerOf(again, 2));
    given(claimed(), released, again)
      .when(release(first))
      .thenNothingHappened()
      .andAnswers(answerOf(again, 2));
  });

  it('is another one in each scope and environment', () => {
    const userIds = [
      place,
      { ...place, environment: 'live' as const },
      { ...place, scopeId: 'scp_2' },
      { ...place, identityHash: 'cd34' },
    ].map((other) => {
      const { answer } = identity.decide(identity.initialState, {
        type: 'ClaimIdentity',
        place: other,
        identityType: 'email',
        appId: 'app_1',
        firstTouch: {},
        at: AT,
      });
      return answer?.userId;
    });
    expect(new Set(userIds).size).to.equal(4);
    expect(identityStreamName(place)).to.equal('identity-test.scp_01h455vb4pex5vsknk084sn02q.ab12');
  });
});
