/** The list of play sessions, newest first, from the read models. Source: contract, Ledger, GET /ledger/sessions. */
import type { Pool } from '@coffer/database';
import type { AppPlace } from '@coffer/kernel';
import { listPlaySessions } from '@coffer/read-models';
import type { z } from 'zod';
import { sessionPageBody, type sessionsQuery } from './domain/playSession.resource.ts';

export type ListSessions = ReturnType<typeof createListSessions>;

/** Throws `request/invalid` for a cursor of another list. */
export function createListSessions(pool: Pool) {
  return async (
    { appId, environment }: Pick<AppPlace, 'appId' | 'environment'>,
    query: z.output<typeof sessionsQuery>,
  ) => {
    return sessionPageBody(await listPlaySessions(pool, { ...query, appId, environment }));
  };
}
