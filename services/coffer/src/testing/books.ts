/**
 * What must be true of a log with nothing in flight, whatever was killed while it was written: checked from the
 * exported events alone, by the published events and postings.
 */
import assert from 'node:assert/strict';
import {
  type Account,
  type AccountEvent,
  account,
  accountEvents,
  type BookAccount,
  type HoldId,
  parseAccountStream,
  postingsOf,
  purposeOf,
} from '@coffer/accounts';
import { type Pool, poolEvents, poolType, stakesOf } from '@coffer/custody/testing';
import type { Client } from '@coffer/host/testing';
import { type AccountKey, fold, parseStreamName, type StoredEvent } from '@coffer/kernel';
import { type KnownSession, type PlaySessionEvent, playSession, playSessionEvents } from '@coffer/ledger';
import { balanceOf, type Earnings, earnings, parseEarningsStream } from '@coffer/referrals/testing';

export type LogLine = Readonly<Record<string, unknown>>;

export interface LoggedEvent extends StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
}

/** Reads the whole log through the service and throws at the first inconsistency. */
export async function expectBooksToBalance(client: Client): Promise<void> {
  checkLog((await client.lines('/portal/log')).map(eventOf));
}

export function eventOf(line: LogLine): LoggedEvent {
  return {
    id: String(line.id),
    stream: String(line.stream),
    revision: Number(line.revision),
    type: String(line.type),
    data: typeof line.dataText === 'string' ? line.dataText : JSON.stringify(line.data),
    metadata: typeof line.metadataText === 'string' ? line.metadataText : JSON.stringify(line.metadata),
  };
}

export function checkLog(events: readonly LoggedEvent[]): void {
  const streams = Map.groupBy(events, ({ stream }) => stream);
  const ids = new Set(events.map(({ id }) => id));
  assert.equal(ids.size, events.length, 'every event is in the log once');

  const accounts = new Map<string, Account>();
  const holds = new Map<string, AccountHolds>();
  const sessions = new Map<string, KnownSession>();
  const pools = new Map<string, Pool>();
  const earned = new Map<string, Earnings>();
  for (const [stream, own] of streams) {
    assert.deepEqual(
      own.map(({ revision }) => revision),
      [...own.keys()],
      `${stream} has every revision`,
    );
    const category = parseStreamName(stream)?.category;
    if (category === account.category) {
      const ofAccount = holdsIn(own);
      holds.set(stream, ofAccount);
      accounts.set(stream, foldedAccount(stream, own, ofAccount));
    }
    if (category === playSession.category) sessions.set(stream, foldedSession(stream, own));
    if (category === poolType.category) pools.set(stream, fold(poolType, poolType.initialState, own));
    if (category === earnings.category) earned.set(stream, fold(earnings, earnings.initialState, own));
  }
  checkPostings(streams, accounts, earned);
  checkHolds(holds, sessions);
  checkStakes(holds, pools);
  checkLateRollbacks(streams, accounts);
}

/** Every hold of an account; open until it has a payout. */
type AccountHolds = ReadonlyMap<HoldId, { readonly amount: bigint; readonly payout?: bigint }>;

function holdsIn(events: readonly LoggedEvent[]): AccountHolds {
  const holds = new Map<HoldId, { readonly amount: bigint; readonly payout?: bigint }>();
  for (const { type, data } of events.map(accountEvents.decode)) {
    if (type === 'FundsHeld') holds.set(data.holdId, { amount: data.amount });
    if (type === 'HoldClosed') holds.set(data.holdId, { amount: data.held, payout: data.payout });
  }
  return holds;
}

function foldedAccount(stream: string, events: readonly LoggedEvent[], holds: AccountHolds): Account {
  let state = account.initialState;
  for (const event of events) {
    state = fold(account, state, [event]);
    assert(state.available >= 0n, `${stream} is never overdrawn`);
  }
  const open = [...holds.values()].filter(({ payout }) => payout === undefined);
  const held = open.reduce((sum, { amount }) => sum + amount, 0n);
  assert.equal(state.held, held, `${stream} holds what its holds say`);
  return state;
}

function foldedSession(stream: string, events: readonly LoggedEvent[]): KnownSession {
  const uuids = events.map((event) => playSessionEvents.decode(event)).flatMap(uuidOf);
  assert.equal(new Set(uuids).size, uuids.length, `each uuid of ${stream} has one effect`);
  const state = fold(playSession, playSession.initialState, events);
  if (state.status === 'unknown') throw new Error(`${stream} was never opened.`);
  return state;
}

function uuidOf(event: PlaySessionEvent): readonly string[] {
  // The key of an open belongs to the app, not to the session.
  if (event.type === 'SessionOpened' || event.data.transactionUuid === undefined) return [];
  return [event.data.transactionUuid];
}

type Totals = Partial<Record<BookAccount, bigint>>;

function checkPostings(
  streams: ReadonlyMap<string, readonly LoggedEvent[]>,
  accounts: ReadonlyMap<string, Account>,
  earned: ReadonlyMap<string, Earnings>,
): void {
  const booked = new Map<string, Totals>();
  const standing = new Map<string, { available: bigint; held: bigint; adjusted: bigint }>();
  for (const [stream, state] of accounts) {
    const place = bookOf(parseAccountStream(stream), stream);
    const totals = booked.get(place) ?? {};
    booked.set(place, totals);
    const stands = standing.get(place) ?? { available: 0n, held: 0n, adjusted: 0n };
    standing.set(place, stands);
    stands.available += state.available;
    stands.held += state.held;
    for (const event of (streams.get(stream) ?? []).map(accountEvents.decode)) {
      for (const posting of postingsOf(event)) {
        totals[posting.account] = (totals[posting.account] ?? 0n) + posting.amount;
      }
      stands.adjusted += adjustmentOf(event);
    }
  }
  for (const [stream, own] of streams) {
    const parts = parseStreamName(stream);
    if (parts?.category !== poolType.category) continue;
    for (const event of own.map(poolEvents.decode)) {
      if (event.type !== 'PoolSettled') continue;
      const totals = booked.get(`${parts.environment}.${parts.owner}.${event.data.currencyId}`) ?? {};
      totals.house = (totals.house ?? 0n) + event.data.rake;
      totals.pools = (totals.pools ?? 0n) - event.data.rake;
    }
  }
  const owed = new Map<string, bigint>();
  for (const [stream, state] of earned) {
    const place = bookOf(parseEarningsStream(stream), stream);
    const totals = booked.get(place) ?? {};
    booked.set(place, totals);
    totals.house = (totals.house ?? 0n) - state.accrued;
    totals.referrals = (totals.referrals ?? 0n) + state.accrued;
    owed.set(place, (owed.get(place) ?? 0n) + balanceOf(state));
  }
  for (const [place, totals] of booked) {
    const { available = 0n, held = 0n, house = 0n, adjustments = 0n, pools = 0n, referrals = 0n } = totals;
    const { external = 0n } = totals;
    assert.equal(external, 0n, `nothing of ${place} was moved on a chain`);
    assert.equal(referrals, owed.get(place) ?? 0n, `what was withdrawn is in the accounts of ${place}`);
    assert.equal(pools, 0n, `every credit of a closed pool is made in ${place}`);
    const stands = standing.get(place) ?? { available: 0n, held: 0n, adjusted: 0n };
    assert.deepEqual(stands, { available, held, adjusted: -adjustments }, place);
    assert.equal(
      available + held + house + referrals,
      -adjustments,
      `${place}: all that was put in is somewhere`,
    );
  }
}

/** The books are kept for each app, environment and currency. */
function bookOf(parts: AccountKey | undefined, stream: string): string {
  if (!parts) throw new Error(`${stream} is nobody's.`);
  return `${parts.environment}.${parts.appId}.${parts.currencyId}`;
}

function adjustmentOf(event: AccountEvent): bigint {
  if (event.type === 'AccountCredited' && event.data.reason === 'adjustment') return event.data.amount;
  if (event.type === 'AccountDebited' && event.data.reason === 'adjustment') return -event.data.amount;
  return 0n;
}

/** A session is open exactly as long as its hold; the hold closes with the settlement's payout. */
function checkHolds(
  holds: ReadonlyMap<string, AccountHolds>,
  sessions: ReadonlyMap<string, KnownSession>,
): void {
  const openHolds: string[] = [];
  for (const [stream, own] of holds) {
    for (const [holdId, { amount, payout }] of own) {
      if (purposeOf(holdId) !== 'session') continue;
      if (payout === undefined) {
        openHolds.push(`${stream} ${holdId} ${amount}`);
        continue;
      }
      const session = sessionOfHold(sessions, stream, holdId);
      // Two players asked for the same session, and the other one has it.
      if (accountOf(session) !== accountNameOf(stream)) continue;
      assert.equal(session.status, 'settled', `${holdId} is closed`);
      assert.equal(payout, session.balance, `the payout of ${holdId}`);
    }
  }
  const openSessions = [...sessions]
    .filter(([, { status }]) => status === 'open')
    .map(([stream, { terms }]) => {
      const { environment, owner } = parseStreamName(stream) ?? {};
      const { userId, currencyId, sessionId, lockAmount } = terms;
      return `account-${environment}.${owner}.${userId}.${currencyId} session:${sessionId} ${lockAmount}`;
    });
  assert.deepEqual(openHolds.sort(), openSessions.sort(), 'open holds and open sessions');
}

/** A stake is held exactly as long as its pool is open, and nothing else is held for a pool. */
function checkStakes(holds: ReadonlyMap<string, AccountHolds>, pools: ReadonlyMap<string, Pool>): void {
  const open = [...holds].flatMap(([stream, own]) =>
    [...own]
      .filter(([holdId, { payout }]) => purposeOf(holdId) === 'stake' && payout === undefined)
      .map(([holdId, { amount }]) => `${stream} ${holdId} ${amount}`),
  );
  const staked = [...pools].flatMap(([stream, pool]) => {
    const { environment, owner, id } = parseStreamName(stream) ?? {};
    if (pool.status !== 'open') return [];
    return stakesOf(pool)
      .filter(({ standing }) => standing !== 'released')
      .map(({ betId, userId, amount }) => {
        return `account-${environment}.${owner}.${userId}.${pool.currencyId} stake:${id}/${betId} ${amount}`;
      });
  });
  assert.deepEqual(open.sort(), staked.sort(), 'open holds of stakes and stakes of open pools');
}

function sessionOfHold(
  sessions: ReadonlyMap<string, KnownSession>,
  accountStreamOf: string,
  holdId: HoldId,
): KnownSession {
  const { environment, owner } = parseStreamName(accountStreamOf) ?? {};
  const sessionId = holdId.slice(holdId.indexOf(':') + 1);
  const session = sessions.get(`${playSession.category}-${environment}.${owner}.${sessionId}`);
  if (!session) throw new Error(`${accountStreamOf} closed ${holdId}, but that session was never opened.`);
  return session;
}

const accountOf = ({ terms }: KnownSession): string => `${terms.userId}.${terms.currencyId}`;
const accountNameOf = (stream: string): string => parseStreamName(stream)?.id ?? '';

/** Each late rollback is paid once, and nothing is paid without one. */
function checkLateRollbacks(
  streams: ReadonlyMap<string, readonly LoggedEvent[]>,
  accounts: ReadonlyMap<string, Account>,
): void {
  const owed: string[] = [];
  for (const [stream, events] of streams) {
    const parts = parseStreamName(stream);
    if (parts?.category !== playSession.category) continue;
    for (const event of events.map(playSessionEvents.decode)) {
      if (event.type !== 'BetRolledBack' || !event.data.late) continue;
      const { late, transactionUuid, amount } = event.data;
      if (amount === 0n) continue;
      owed.push(`${late.userId}.${late.currencyId} rollback:${parts.id}/${transactionUuid} ${amount}`);
    }
  }
  const paid = [...accounts].flatMap(([stream, { entries }]) =>
    [...entries]
      .filter(([, { reason }]) => reason === 'rollback')
      .map(([entryId, { amount }]) => `${accountNameOf(stream)} ${entryId} ${amount}`),
  );
  assert.deepEqual(paid.sort(), owed.sort(), 'late rollbacks paid');
}
