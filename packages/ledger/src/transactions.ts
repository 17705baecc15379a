/**
 * The bets, wins and rollbacks of a session, oldest first, read from its own stream: a caller always sees
 * what it has just written. Source: contract, Ledger.
 */
import type { EventStore, StreamEvent } from '@coffer/event-store';
import { type AppPlace, decodeMetadata, Rejection } from '@coffer/kernel';
import type { z } from 'zod';
import { playSessionEvents } from './domain/playSession.events.ts';
import {
  type Transaction,
  type transactionPage,
  transactionPageBody,
} from './domain/playSession.resource.ts';
import type { KnownSession } from './domain/playSession.state.ts';
import { writeUnder } from './domain/sessionWrites.ts';
import { streamOf } from './sessionStreams.ts';

export type ListTransactions = (
  place: AppPlace,
  session: KnownSession,
  page: { readonly limit: number; readonly cursor?: string | undefined },
) => Promise<z.input<typeof transactionPage>>;

export function createListTransactions(store: Pick<EventStore, 'readStream'>): ListTransactions {
  return async (place, session, { limit, cursor }) => {
    const stream = streamOf(place, session.terms.sessionId);
    const items: Transaction[] = [];
    let revision = firstRevision(cursor, session);
    // One more than requested tells whether there is a next page; events that are not transactions are skipped.
    for await (const page of store.readStream(stream, { fromRevision: revision })) {
      for (const event of page) {
        if (event.revision > session.revision) return transactionPageBody({ items, nextCursor: null });
        const item = itemOf(event, session);
        if (item && items.length === limit)
          return transactionPageBody({ items, nextCursor: cursorAt(revision, session) });
        if (item) items.push(item);
        revision = event.revision + 1;
      }
    }
    return transactionPageBody({ items, nextCursor: null });
  };
}

/** A cursor is the revision to continue from, in this session: another session's list has none of these events. */
function cursorAt(revision: number, { terms }: KnownSession): string {
  return Buffer.from(`${terms.sessionId}.${revision}`).toString('base64url');
}

function firstRevision(cursor: string | undefined, session: KnownSession): number {
  if (cursor === undefined) return 0;
  const [sessionId, text = ''] = Buffer.from(cursor, 'base64url').toString().split('.');
  const revision = /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : Number.NaN;
  if (sessionId === session.terms.sessionId && revision <= session.revision) return revision;
  const issues = [{ path: 'cursor', message: 'is not a cursor of this list; begin without one' }];
  throw new Rejection('request/invalid', { issues });
}

function itemOf(stored: StreamEvent, session: KnownSession): Transaction | undefined {
  const event = playSessionEvents.decode(stored);
  const at = decodeMetadata(stored.metadata).occurredAt;
  const unnamed = { betTransactionUuid: null, roundId: null, at } as const;
  switch (event.type) {
    case 'BetPlaced': {
      const { transactionUuid, roundId = null } = event.data;
      const rolledBack = writeUnder(session.writes, transactionUuid)?.fate === 'rolledBack';
      const status = rolledBack ? 'rolled_back' : 'accepted';
      return { ...unnamed, ...event.data, roundId, kind: 'bet', status };
    }
    case 'WinCredited': {
      const { roundId = null } = event.data;
      return { ...unnamed, ...event.data, roundId, kind: 'win', status: 'accepted' };
    }
    case 'BetRolledBack':
      return { ...unnamed, ...event.data, kind: 'rollback', status: 'rolled_back' };
    case 'RollbackRemembered':
      return { ...unnamed, ...event.data, kind: 'rollback', amount: 0n, status: 'remembered' };
    default:
      return undefined;
  }
}
