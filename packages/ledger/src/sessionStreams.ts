/** Maps play sessions to their streams and back. */
import assert from 'node:assert/strict';
import { type AppPlace, isId, parseStreamName } from '@coffer/kernel';
import { playSession, playSessionStream } from './domain/playSession.ts';
import { reject } from './errors.ts';

/** The stream of a session of this app. A malformed id is an absent session. */
export function streamOf({ environment, appId }: AppPlace, sessionId: string): string {
  if (!isId('ses', sessionId)) throw reject('ledger/session_not_found');
  return playSessionStream(environment, appId, sessionId);
}

/** The session that a stream belongs to; the stream of an event that this context wrote always belongs to one. */
export function playSessionPlace(stream: string) {
  const parts = parseStreamName(stream);
  assert(parts?.category === playSession.category, `${stream} is not a play session`);
  return { environment: parts.environment, appId: parts.owner, sessionId: parts.id };
}
