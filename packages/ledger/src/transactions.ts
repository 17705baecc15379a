/**
 * The bets, wins and rollbacks of a session, oldest first, read from its own stream: a caller always sees
 * what it has just written. Source: contract, Ledger.
 */
import type { EventStore, StreamEvent } from '@coffer/event-store';
import { type AppPlace, decodeMetadata, Rejection } from '@coffer/kernel';
import { playSessionEvents } from './domain/playSession.events.ts';
import type { KnownSession } from './domain/playSession.state.ts';
import { streamOf } from './sessionStreams.ts';

interface TransactionItem {
  readonly transactionUuid: string;
  readonly kind: 'bet' | 'win' | 'rollback';
  readonly amount: string;
  readonly betTransactionUuid: string | null;
  readonly roundId: string | null;
  /** What became of it: a bet that was rolled back later says so. */
  readonly status: 'accepted' | 'rolled_back' | 'remembered';
  readonly balance: string;
  readonly at: string;
}

interface TransactionPage {
  readonly items: readonly TransactionItem[];
  readonly nextCursor: string | null;
}

export type ListTransactions = (
  place: AppPlace,
  session: KnownSession,
  page: { readonly limit: number; readonly cursor?: string | undefined },
) => Promise<TransactionPage>;

export function createListTransactions(store: Pick<EventStore, 'readStream'>): ListTransactions {
  return async (place, session, { limit, cursor }) => {
    const stream = streamOf(place, session.terms.sessionId);
    const items: TransactionItem[] = [];
    let revision = firstRevision(cursor, session);
    // One more than asked for tells whether there is a next page; what is no transaction is passed over.
    for await (const page of store.readStream(stream, { fromRevision: revision })) {
      for (const event of page) {
        if (event.revision > session.revision) return { items, nextCursor: null };
        const item = itemOf(event, session);
        if (item && items.length === limit) return { items, nextCursor: cursorAt(revision, session) };
        if (item) items.push(item);
        revision = event.revision + 1;
      }
    }
    return { items, nextCursor: null };
  };
}

/** A cursor is the revision to go on from, in this session: another session's list has none of these events. */
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

function itemOf(stored: StreamEvent, session: KnownSession): TransactionItem | undefined {
  const event = playSessionEvents.decode(stored);
  const at = decodeMetadata(stored.metadata).occurredAt;
  switch (event.type) {
    case 'BetPlaced': {
      const { transactionUuid, amount, roundId, balance } = event.data;
      const bet = session.transactions.get(transactionUuid);
      const rolledBack = bet?.kind === 'bet' && bet.fate === 'rolledBack';
      return {
        transactionUuid,
        kind: 'bet',
        amount: amount.toString(),
        betTransactionUuid: null,
        roundId: roundId ?? null,
        status: rolledBack ? 'rolled_back' : 'accepted',
        balance: balance.toString(),
        at,
      };
    }
    case 'WinCredited': {
      const { transactionUuid, betTransactionUuid, amount, roundId, balance } = event.data;
      return {
        transactionUuid,
        kind: 'win',
        amount: amount.toString(),
        betTransactionUuid,
        roundId: roundId ?? null,
        status: 'accepted',
        balance: balance.toString(),
        at,
      };
    }
    case 'BetRolledBack':
    case 'RollbackRemembered': {
      const { transactionUuid, betTransactionUuid, balance } = event.data;
      const rolledBack = event.type === 'BetRolledBack';
      return {
        transactionUuid,
        kind: 'rollback',
        amount: rolledBack ? event.data.amount.toString() : '0',
        betTransactionUuid,
        roundId: null,
        status: rolledBack ? 'rolled_back' : 'remembered',
        balance: balance.toString(),
        at,
      };
    }
    default:
      return undefined;
  }
}
