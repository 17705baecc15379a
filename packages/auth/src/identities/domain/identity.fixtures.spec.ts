import { holdsEventFixtures } from '@coffer/testing';
import type { IdentityEvent } from './identity.events.ts';
import { type IdentityCommand, identity } from './identity.ts';

function repeatOf(event: IdentityEvent): IdentityCommand {
  switch (event.type) {
    case 'IdentityClaimed':
    case 'FirstTouched': {
      const { appId, referralCode, gameKey } = event.data;
      const place = { environment: 'test', scopeId: 'scp_1', identityHash: 'unread' } as const;
      const firstTouch = { referralCode, gameKey };
      return {
        type: 'ClaimIdentity',
        place,
        identityType: 'messenger',
        appId,
        firstTouch,
        at: '2026-06-01T00:00:00.000Z',
      };
    }
    case 'IdentityReleased':
      return { type: 'ReleaseIdentity', userId: event.data.userId, at: '2026-06-01T00:00:00.000Z' };
  }
}

describe('identity: fixtures', () =>
  holdsEventFixtures(identity, new URL('fixtures/', import.meta.url), {
    repeatOf,
    // The code goes on to referrals and is no part of an answer.
    textOf: (answer) => JSON.stringify({ ...answer, referralCode: undefined }),
  }));
