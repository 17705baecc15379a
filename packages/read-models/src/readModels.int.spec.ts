import { createConsumersTable, type Session } from '@coffer/consumers';
import { type Pool, withPool, withTransaction } from '@coffer/database';
import type { LogPlace, Position, RecordedEvent } from '@coffer/event-store';
import { Rejection } from '@coffer/kernel';
import { createTestDatabase, failureOf, recordedEvent, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { BooksProjection } from './books.ts';
import type { MoveRow } from './moves.ts';
import { listPlaySessions, type PlaySessionRow } from './playSessions.ts';
import { caughtUpSince, READ_MODELS_CONSUMER, readModelsWork } from './readModels.ts';
import type { RowProjection } from './rowProjection.ts';
import { createReadSchema, liveReadSchema, READ_SHAPE } from './schema.ts';
import { NEW_SESSION } from './testing/game.ts';
import { migrateReadModels, readModelsTemplate } from './testing/migrateReadModels.ts';

const APP = `app_${'0'.repeat(26)}`;
const OTHER_APP = `app_${'0'.repeat(25)}1`;

describe('the read models', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeEach(async () => {
    database = await createTestDatabase(readModelsTemplate);
    pool = database.pool;
  });

  afterEach(() => database.drop());

  /** Applies a page as the consumer does, but for the lease. */
  async function take(events: readonly RecordedEvent[], schema = 'read_v1'): Promise<void> {
    const session: Session = {
      pool,
      place: undefined,
      leaseMs: 10_000,
      save: async () => undefined,
      isSkipped: async () => false,
      signal: new AbortController().signal,
      fail() {},
      onTrouble() {},
    };
    await readModelsWork(schema, { books, playSessions, moves }).begin(session).take(events);
  }

  const dump = async (schema = 'read_v1') => {
    const { rows: sessions } = await pool.query(`select * from ${schema}.play_sessions order by ordinal`);
    return { sessions };
  };
  const sessionsOf = async (query: Partial<Parameters<typeof listPlaySessions>[1]> = {}) =>
    listPlaySessions(pool, { appId: APP, environment: 'test', limit: 50, ...query });
  const idsOf = ({ items }: { readonly items: readonly PlaySessionRow[] }) =>
    items.map(({ sessionId }) => sessionId);

  it('hold the rows of the events, each with its own types', async () => {
    await take([opened('s1', { balance: HUGE }), bet('s1', 1, 7n), settled('s1', 2)]);
    const { items } = await sessionsOf();
    expect(items).to.deep.equal([
      {
        ...rowOf('s1', APP),
        revision: 2,
        lockAmount: HUGE,
        balance: HUGE - 7n,
        totalBet: 7n,
        payout: HUGE - 7n,
        net: -7n,
        status: 'settled',
        settledAt: '2026-01-01T01:00:00.000Z',
      },
    ]);
  });

  it('continue from existing rows, and change nothing when a page is applied again', async () => {
    await take([opened('s1'), opened('s2'), bet('s1', 1, 7n)]);
    const last = [bet('s1', 2, 1n), opened('s3'), settled('s2', 1)];
    await take(last);
    const before = await dump();
    expect(
      before.sessions.map(({ session_id, ordinal, revision }) => [session_id, ordinal, revision]),
    ).to.deep.equal([
      ['s1', '1', 2],
      ['s2', '2', 1],
      ['s3', '3', 0],
    ]);
    await take(last);
    expect(await dump()).to.deep.equal(before);
  });

  it('are the same however the log is divided into pages', async () => {
    const log = [
      opened('s1'),
      bet('s1', 1, 7n),
      opened('s2'),
      bet('s2', 1, 2n),
      bet('s1', 2, 1n),
      settled('s1', 3),
    ];
    await withTransaction(pool, (client) => createReadSchema(client, 'read_v2'));
    await take(log);
    for (const event of log) await take([event], 'read_v2');
    expect(await dump('read_v2')).to.deep.equal(await dump());
  });

  it('refuse a page with a gap, and keep nothing of it', async () => {
    await take([opened('s1')]);
    const before = await dump();
    let thrown: unknown;
    await take([bet('s1', 2, 7n)]).catch((error: unknown) => {
      thrown = error;
    });
    expect(thrown).to.have.property('code', 'consumer/poison_event');
    expect(await dump()).to.deep.equal(before);
  });

  describe('as a list', () => {
    beforeEach(async () => {
      await take([
        opened('s1'),
        opened('s2', { userId: 'usr_2' }),
        opened('s3'),
        opened('s4', { appId: OTHER_APP }),
        opened('s5'),
        settled('s3', 1),
      ]);
    });

    it('show one app and environment, newest first', async () => {
      expect(idsOf(await sessionsOf())).to.deep.equal(['s5', 's3', 's2', 's1']);
      expect(idsOf(await sessionsOf({ environment: 'live' }))).to.deep.equal([]);
      expect(idsOf(await sessionsOf({ appId: OTHER_APP }))).to.deep.equal(['s4']);
    });

    it('show one user, or one status, or both', async () => {
      expect(idsOf(await sessionsOf({ userId: 'usr_1' }))).to.deep.equal(['s5', 's3', 's1']);
      expect(idsOf(await sessionsOf({ status: 'open' }))).to.deep.equal(['s5', 's2', 's1']);
      expect(idsOf(await sessionsOf({ userId: 'usr_1', status: 'settled' }))).to.deep.equal(['s3']);
    });

    it('continue where the previous page ended, whatever has been opened since', async () => {
      const first = await sessionsOf({ limit: 2 });
      expect(idsOf(first)).to.deep.equal(['s5', 's3']);
      await take([opened('s6')]);
      const second = await sessionsOf({ limit: 2, cursor: first.nextCursor ?? '' });
      expect(idsOf(second)).to.deep.equal(['s2', 's1']);
      expect(second.nextCursor).to.equal(null);
    });

    it('refuse a cursor of another filter, and accept their own', async () => {
      const { nextCursor } = await sessionsOf({ limit: 2 });
      const cursor = nextCursor ?? '';
      for (const query of [
        { userId: 'usr_1', cursor },
        { environment: 'live' as const, cursor },
        { cursor: 'x' },
      ]) {
        expect(await failureOf(sessionsOf(query))).to.be.instanceOf(Rejection);
      }
    });
  });

  it('are found through the pointer, in the shape that this release reads', async () => {
    expect(await liveReadSchema(pool)).to.equal('read_v1');
    await take([opened('s1')]);
    await withTransaction(pool, (client) => createReadSchema(client, 'read_v2'));
    await pool.query('insert into records.read_pointer (shape, version) values ($1, 3)', [READ_SHAPE + 1]);
    expect(idsOf(await sessionsOf())).to.deep.equal(['s1']);
    await pool.query('update records.read_pointer set version = 2 where shape = $1', [READ_SHAPE]);
    expect(idsOf(await sessionsOf())).to.deep.equal([]);
  });

  it('are created once, however often and by however many they are migrated', async () => {
    await take([opened('s1')]);
    await Promise.all([
      migrateReadModels(pool),
      migrateReadModels(pool),
      createConsumersTable(pool, 'records'),
    ]);
    expect(idsOf(await sessionsOf())).to.deep.equal(['s1']);
  });

  it('are left alone once they exist: a start never waits for whoever fills them', async () => {
    await withTransaction(pool, async (client) => {
      await client.query('lock table read_v1.play_sessions in row exclusive mode');
      await withPool(`${database.connectionString}?options=-clock_timeout%3D1000`, migrateReadModels);
    });
  });

  it('have caught up once their checkpoint has reached the earlier head of the log', async () => {
    const log = { comparePositions: (left: Position, right: Position) => Number(left) - Number(right) };
    expect(await caughtUpSince(pool, log, undefined)).to.equal(true);
    expect(await caughtUpSince(pool, log, placeAt(5))).to.equal(false);
    await pool.query(
      'insert into read_v1.consumers (name, position, event_id, ordinal) values ($1, 4, 4, 4)',
      [READ_MODELS_CONSUMER],
    );
    expect(await caughtUpSince(pool, log, placeAt(5))).to.equal(false);
    await pool.query('update read_v1.consumers set position = 5');
    expect(await caughtUpSince(pool, log, placeAt(5))).to.equal(true);
  });
});

/** The widest amount, with more digits than a floating-point number has. */
const HUGE = 2n ** 64n - 1n;

interface Fact {
  readonly appId: string;
  readonly userId: string;
  readonly balance: bigint;
}

const rowOf = (sessionId: string, appId: string): PlaySessionRow => ({
  ...NEW_SESSION,
  sessionId,
  appId,
  userId: 'usr_1',
  lockAmount: 100n,
  balance: 100n,
});

/** The books have their own spec, with the events of the accounts. */
const books: BooksProjection = {
  concerns: () => false,
  entryOf() {
    throw new Error('No event concerns the books here.');
  },
};

/** Plays with bets and settlements only: the rules of the real ones are the ledger's. */
const moves: RowProjection<MoveRow> = {
  keyOf: () => undefined,
  evolve() {
    throw new Error('No event concerns a move here.');
  },
};

const playSessions: RowProjection<PlaySessionRow> = {
  keyOf: ({ stream }) => (stream.startsWith('playSession-') ? stream.split('.').at(-1) : undefined),
  evolve(row, { type, data, revision, stream }) {
    const [, appId = '', sessionId = ''] = stream.split('.');
    const fact: { userId: string; amount: string } = JSON.parse(data);
    const amount = BigInt(fact.amount);
    if (!row) {
      return { ...rowOf(sessionId, appId), userId: fact.userId, lockAmount: amount, balance: amount };
    }
    if (type === 'Bet') {
      return { ...row, revision, balance: row.balance - amount, totalBet: row.totalBet + amount };
    }
    const settledAt = '2026-01-01T01:00:00.000Z';
    const net = row.balance - row.lockAmount;
    return { ...row, revision, payout: row.balance, net, status: 'settled', settledAt };
  },
};

const opened = (sessionId: string, { appId = APP, userId = 'usr_1', balance = 100n }: Partial<Fact> = {}) =>
  recorded('Opened', sessionId, 0, balance, { appId, userId });
const bet = (sessionId: string, revision: number, amount: bigint) =>
  recorded('Bet', sessionId, revision, amount);
const settled = (sessionId: string, revision: number) => recorded('Settled', sessionId, revision, 0n);

function recorded(
  type: string,
  sessionId: string,
  revision: number,
  amount: bigint,
  { appId = APP, userId = 'usr_1' }: Partial<Fact> = {},
): RecordedEvent {
  const data = JSON.stringify({ userId, amount: amount.toString() });
  const stream = `playSession-test.${appId}.${sessionId}`;
  return recordedEvent({ type, data, stream, revision });
}

const placeAt = (position: number): LogPlace => ({
  position: String(position) as Position,
  eventId: `${position}`,
});
