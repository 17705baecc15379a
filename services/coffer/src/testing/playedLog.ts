/**
 * A log of many events, written without the service in a few seconds: accounts are credited, sessions are played to
 * their end, and every hold is closed, so that nothing is in flight.
 */
import { randomUUID } from 'node:crypto';
import { type AccountEvent, accountEvents, accountStreamOf, type HoldId } from '@coffer/accounts';
import { type EventStore, OutcomeUnknownError } from '@coffer/event-store';
import { type AppPlace, openStoreOf } from '@coffer/host/testing';
import { type EventCodec, encodeMetadata, newId } from '@coffer/kernel';
import { type PlaySessionEvent, playSessionEvents, playSessionStream } from '@coffer/ledger';
import { eventually } from '@coffer/testing';

export interface PlayedLog {
  readonly sessionIds: readonly string[];
  /** How many have been written. */
  readonly events: number;
}

/** Few enough that none of them waits long for the others. */
const APPENDS_AT_ONCE = 16;

/** In CHIP, which `setUpApp` gives the id 2. */
const CURRENCY = { currency: 'CHIP', currencyId: 2 };
const AT = '2026-01-31T12:00:00.000Z';
const METADATA = { correlationId: 'written-log', actor: 'operator', occurredAt: AT };

export async function writePlayedLog(
  databaseUrl: string,
  place: Pick<AppPlace, 'appId' | 'environment'>,
  { sessions, betsEach }: { readonly sessions: number; readonly betsEach: number },
): Promise<PlayedLog> {
  const played = Array.from({ length: sessions }, () => playOne(place, betsEach));
  const store = await openStoreOf(databaseUrl);
  try {
    // The end of the phase separates a cause from its effect in another stream.
    await ofEach(played, ({ account, before }) => writeEvents(store, account, accountEvents, before));
    await ofEach(played, ({ session, plays }) => writeEvents(store, session, playSessionEvents, plays));
    await ofEach(played, ({ account, before, after }) =>
      writeEvents(store, account, accountEvents, after, before.length - 1),
    );
  } finally {
    await store.close();
  }
  const counts = played.map(({ before, plays, after }) => before.length + plays.length + after.length);
  return {
    sessionIds: played.map(({ sessionId }) => sessionId),
    events: counts.reduce((sum, count) => sum + count, 0),
  };
}

/** A few at a time. */
export async function ofEach<Item>(
  items: readonly Item[],
  write: (item: Item) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length; from += APPENDS_AT_ONCE) {
    await Promise.all(items.slice(from, from + APPENDS_AT_ONCE).map(write));
  }
}

/** Each bet loses 1 of the amount locked, and half of it remains. */
function playOne({ appId, environment }: Pick<AppPlace, 'appId' | 'environment'>, bets: number) {
  const userId = newId('usr');
  const sessionId = newId('ses');
  const holdId: HoldId = `session:${sessionId}`;
  const game = { sessionId, gameCode: 'dice', currency: 'CHIP', transactionUuid: randomUUID(), openedAt: AT };
  const lockAmount = BigInt(2 * bets);
  const before: readonly AccountEvent[] = [
    {
      type: 'AccountCredited',
      data: {
        entryId: `adjust:${sessionId}`,
        amount: lockAmount,
        reason: 'adjustment',
        available: lockAmount,
        held: 0n,
      },
    },
    { type: 'FundsHeld', data: { holdId, amount: lockAmount, purpose: 'session', request: game } },
  ];
  const payout = lockAmount - BigInt(bets);
  const plays: readonly PlaySessionEvent[] = [
    { type: 'SessionOpened', data: { ...game, userId, currencyId: CURRENCY.currencyId, lockAmount } },
    ...Array.from({ length: bets }, (_, index): PlaySessionEvent => {
      const balance = lockAmount - BigInt(index + 1);
      return { type: 'BetPlaced', data: { transactionUuid: randomUUID(), amount: 1n, balance } };
    }),
    {
      type: 'SessionSettled',
      data: {
        userId,
        ...CURRENCY,
        lockAmount,
        totalBet: BigInt(bets),
        totalWin: 0n,
        payout,
        net: payout - lockAmount,
        settledAt: AT,
      },
    },
  ];
  const after: readonly AccountEvent[] = [{ type: 'HoldClosed', data: { holdId, held: lockAmount, payout } }];
  return {
    sessionId,
    account: accountStreamOf({ environment, appId, userId, currencyId: CURRENCY.currencyId }),
    session: playSessionStream(environment, appId, sessionId),
    before,
    plays,
    after,
  };
}

/** To one stream, all at once. */
export async function writeEvents<Event>(
  store: EventStore,
  stream: string,
  codec: EventCodec<Event>,
  events: readonly Event[],
  expectedRevision: number | 'noStream' = 'noStream',
): Promise<void> {
  const encoded = events.map((event) => {
    const { type, data, schemaVersion } = codec.encode(event);
    return { id: randomUUID(), type, data, metadata: encodeMetadata(METADATA, schemaVersion) };
  });
  // A busy machine may take longer than an append waits; the same events are written once.
  await eventually(`what ${stream} is to hold`, () =>
    store.append({ stream, expectedRevision, events: encoded }).catch((error: unknown) => {
      if (!(error instanceof OutcomeUnknownError)) throw error;
      return undefined;
    }),
  );
}
