/** The list of play sessions, newest first, from the read models. Source: contract, Ledger, GET /ledger/sessions. */
import type { Pool } from '@coffer/database';
import { type AppPlace, Rejection } from '@coffer/kernel';
import { InvalidCursorError, listPlaySessions } from '@coffer/read-models';
import type { z } from 'zod';
import { sessionPageBody, type sessionsQuery } from './domain/playSession.resource.ts';

export type ListSessions = ReturnType<typeof createListSessions>;

/** Throws `request/invalid` for a cursor of another list. */
export function createListSessions(pool: Pool) {
  return async (
    { appId, environment }: Pick<AppPlace, 'appId' | 'environment'>,
    query: z.output<typeof sessionsQuery>,
  ) => {
    try {
      return sessionPageBody(await listPlaySessions(pool, { ...query, appId, environment }));
    } catch (error) {
      if (!(error instanceof InvalidCursorError)) throw error;
      throw new Rejection('request/invalid', { issues: [{ path: 'cursor', message: error.message }] });
    }
  };
}
