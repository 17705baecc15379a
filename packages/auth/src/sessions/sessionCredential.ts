/** The credential `session`: a player's access token, valid while its session and its user are. */
import type { SessionCaller } from '@coffer/http';
import type { Sessions } from './sessions.ts';
import type { SessionUsers } from './sessionUsers.ts';

export function createSessionCredential(
  sessions: Pick<Sessions, 'check'>,
  users: SessionUsers,
): (token: string) => Promise<SessionCaller | undefined> {
  return async (token) => {
    const session = await sessions.check(token);
    if (!session) return undefined;
    const { place, userId, sessionId, authenticatedAt } = session;
    if (!(await users.active(place, userId))) return undefined;
    const { appId, scopeId, environment } = place;
    return { kind: 'session', userId, sessionId, appId, scopeId, environment, authenticatedAt };
  };
}
