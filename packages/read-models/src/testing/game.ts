/** A small game for the specs of this package: the rules of the real one are the ledger's and the accounts'. */
import { randomUUID } from 'node:crypto';
import { type HeldProjections, holdProjections } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import type { EventStore } from '@coffer/event-store';
import type { AccountRow, BooksProjection } from '../books.ts';
import type { MoveRow } from '../moves.ts';
import type { PlaySessionRow } from '../playSessions.ts';
import { READ_MODELS_CONSUMER, type ReadModelProjections, readModelsOf } from '../readModels.ts';
import type { RowProjection } from '../rowProjection.ts';
import { liveReadSchema } from '../schema.ts';

export const APP = `app_${'0'.repeat(26)}`;
const OCCURRED_AT = '2026-01-01T00:00:00.000Z';

export interface Game {
  readonly store: EventStore;
  readonly projections: ReadModelProjections;
  /**
   * One player who buys chips on the chain, plays one session and leaves another open: 9 events. Returns the
   * sessions.
   */
  readonly play: () => Promise<readonly string[]>;
  /** From now on the projections refuse events of this type. */
  readonly refuse: (type: string) => void;
  /** Takes what has been written into the live version, without a runner. */
  readonly fillLive: (pool: Pool) => Promise<void>;
  readonly holdLive: (pool: Pool) => Promise<HeldProjections>;
}

export function startGame(store: EventStore): Game {
  const refused = new Set<string>();
  const projections = { books: booksRefusing(refused), playSessions, moves };
  let players = 0;

  async function append(stream: string, ...events: (readonly [string, object])[]): Promise<void> {
    await store.append({
      stream,
      expectedRevision: 'any',
      events: events.map(([type, data]) => {
        return { id: randomUUID(), type, data: JSON.stringify(data), metadata: '{}' };
      }),
    });
  }

  async function holdLive(pool: Pool): Promise<HeldProjections> {
    const schema = await liveReadSchema(pool);
    return holdProjections({
      pool,
      store,
      key: { schema, name: READ_MODELS_CONSUMER },
      projections: readModelsOf(schema, projections),
    });
  }

  return {
    store,
    projections,
    async play() {
      players += 1;
      const player = players;
      const account = `account-test.${APP}.usr_${player}`;
      const sessions = ['a', 'b'].map((letter) => `${player}${letter}`);
      await append(`move-test.${APP}.mov_${player}`, ['Requested', { userId: `usr_${player}` }]);
      await append(account, ['Credited', { amount: 100 }]);
      for (const session of sessions) {
        await append(account, ['Held', { id: session, amount: 10 }]);
        await append(`playSession-test.${APP}.${session}`, ['Opened', { userId: `usr_${player}` }]);
      }
      const [played] = sessions;
      await append(`playSession-test.${APP}.${played}`, ['Bet', { amount: 7 }], ['Settled', {}]);
      await append(account, ['Closed', { id: played, amount: 10, payout: 3 }]);
      return sessions;
    },
    refuse: (type) => void refused.add(type),
    holdLive,
    async fillLive(pool) {
      const held = await holdLive(pool);
      await held.advance(await store.head(), { signal: new AbortController().signal });
    },
  };
}

interface Move {
  readonly id: string;
  readonly amount: number;
  readonly payout: number;
}

const booksRefusing = (refused: ReadonlySet<string>): BooksProjection => ({
  concerns: ({ stream }) => stream.startsWith('account-'),
  entryOf(before, { stream, revision, type, data }) {
    if (refused.has(type)) throw new Error(`${type} is refused.`);
    const move: Move = JSON.parse(data);
    const amount = BigInt(move.amount);
    const { available, held } = before ?? { available: 0n, held: 0n };
    const entry = (figures: Pick<AccountRow, 'available' | 'held'>, postings: Record<string, bigint>) => ({
      account: { stream, revision, ...ofStream(stream), currencyId: 2, ...figures },
      subject: move.id ?? 'chips',
      occurredAt: OCCURRED_AT,
      postings: Object.entries(postings).map(([account, moved]) => ({ account, amount: moved })),
    });
    if (type === 'Credited') {
      return entry({ available: available + amount, held }, { available: amount, adjustments: -amount });
    }
    if (type === 'Held') {
      const figures = { available: available - amount, held: held + amount };
      const opens = { holdId: move.id, purpose: 'session', amount };
      return { ...entry(figures, { available: -amount, held: amount }), opens };
    }
    const payout = BigInt(move.payout);
    const figures = { available: available + payout, held: held - amount };
    const closes = { holdId: move.id, amount, payout };
    return {
      ...entry(figures, { held: -amount, available: payout, house: amount - payout }),
      closes,
    };
  },
});

function ofStream(stream: string) {
  const [, appId = '', userId = ''] = stream.split('.');
  return { appId, userId, environment: 'test' as const };
}

const playSessions: RowProjection<PlaySessionRow> = {
  keyOf: ({ stream }) => (stream.startsWith('playSession-') ? stream.split('.').at(-1) : undefined),
  evolve(row, { type, data, revision, stream }) {
    if (!row) return { ...NEW_SESSION, sessionId: String(stream.split('.').at(-1)), ...JSON.parse(data) };
    if (type === 'Bet') {
      const amount = BigInt(JSON.parse(data).amount);
      return { ...row, revision, balance: row.balance - amount, totalBet: row.totalBet + amount };
    }
    const net = row.balance - row.lockAmount;
    return { ...row, revision, payout: row.balance, net, status: 'settled', settledAt: OCCURRED_AT };
  },
};

const moves: RowProjection<MoveRow> = {
  keyOf: ({ stream }) => (stream.startsWith('move-') ? stream.split('.').at(-1) : undefined),
  evolve: (_row, { data, stream }) => ({
    moveId: String(stream.split('.').at(-1)),
    revision: 0,
    appId: APP,
    environment: 'test',
    ownerId: APP,
    operation: 'deposit',
    key: 'ref',
    userId: String(JSON.parse(data).userId),
    currencyId: 2,
    mint: 'native',
    amount: 100n,
    walletId: 'wlt_1',
    fromAddress: 'player',
    toAddress: 'treasury',
    status: 'pending',
    attempts: 0,
    signature: null,
    slot: null,
    errorCode: null,
    requestedAt: OCCURRED_AT,
    updatedAt: OCCURRED_AT,
  }),
};

export const NEW_SESSION: PlaySessionRow = {
  sessionId: '',
  revision: 0,
  appId: APP,
  environment: 'test',
  userId: '',
  gameCode: 'dice',
  currency: 'CHIP',
  currencyId: 2,
  lockAmount: 10n,
  balance: 10n,
  totalBet: 0n,
  totalWin: 0n,
  payout: null,
  net: null,
  lateRolledBack: 0n,
  status: 'open',
  openedAt: OCCURRED_AT,
  settledAt: null,
};
