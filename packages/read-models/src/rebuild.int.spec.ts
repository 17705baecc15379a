import { randomUUID } from 'node:crypto';
import type { SkipLookup } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { READ_TABLES } from './compare.ts';
import { listPlaySessions } from './playSessions.ts';
import { type RebuildOptions, type RebuildProgress, rebuildReadModels } from './rebuild.ts';
import { liveReadSchema, READ_SHAPE } from './schema.ts';
import { APP, type Game, startGame } from './testing/game.ts';
import { migrateReadModels, readModelsTemplate } from './testing/migrateReadModels.ts';
import { type Statement, watchedPool } from './testing/watchedPool.ts';

describe('a rebuild', () => {
  let database: TestDatabase;
  let pool: Pool;
  let game: Game;

  beforeEach(async () => {
    database = await createTestDatabase(readModelsTemplate);
    pool = database.pool;
    game = startGame(createMemoryEventStore());
    for (let player = 0; player < 5; player++) await game.play();
    await game.fillLive(pool);
  });

  afterEach(() => database.drop());

  interface Run extends Partial<RebuildOptions> {
    readonly isSkipped?: SkipLookup;
    readonly before?: (statement: Statement) => Promise<void>;
  }
  const rebuild = ({ before = async () => undefined, isSkipped, ...options }: Run = {}) =>
    rebuildReadModels(
      {
        pool: watchedPool(pool, before),
        store: game.store,
        projections: game.projections,
        isSkipped,
        onTrouble() {},
      },
      { verify: true, signal: new AbortController().signal, onProgress() {}, ...options },
    );

  const dump = async (schema: string) => {
    const rows: Record<string, unknown> = {};
    for (const [table, key] of Object.entries(READ_TABLES)) {
      rows[table] = (await pool.query(`select * from ${schema}.${table} order by ${key.join(', ')}`)).rows;
    }
    return rows;
  };
  const dumpLive = async () => dump(await liveReadSchema(pool));
  const schemas = async () => {
    const { rows } = await pool.query(
      `select nspname as schema, obj_description(oid) as comment from pg_namespace
        where nspname like 'read_v%' order by 1`,
    );
    return rows.map(({ schema, comment }) => (comment ? `${schema} ${comment}` : schema));
  };

  it('makes a new version with equal rows the live one', async () => {
    const before = await dumpLive();
    const result = await rebuild();
    const examined = {
      accounts: 5,
      commissions: 0,
      earnings: 0,
      earnings_entries: 0,
      holds: 10,
      moves: 5,
      play_sessions: 10,
      pool_stakes: 0,
      pools: 0,
      postings: 45,
      referees: 0,
      trial_balances: 4,
    };
    expect(result).to.deep.equal({
      equal: true,
      moved: true,
      previous: 'read_v1',
      live: 'read_v2',
      events: 45,
      tables: Object.entries(examined).map(([table, count]) => {
        return { table, examined: count, differing: 0, differences: [] };
      }),
    });
    expect(await liveReadSchema(pool)).to.equal('read_v2');
    expect(await dumpLive()).to.deep.equal(before);
    expect(await schemas()).to.deep.equal(['read_v1', 'read_v2']);
  });

  it('reports its progress, from nothing to the end', async () => {
    const told: RebuildProgress[] = [];
    await rebuild({ onProgress: (progress) => told.push(progress) });
    expect(told).to.deep.equal([
      { stage: 'filling', done: 0, of: 45 },
      { stage: 'filling', done: 45, of: 45 },
      { stage: 'comparing', done: 45, of: 45 },
      { stage: 'done', done: 45, of: 45 },
    ]);
  });

  it('of an empty log is equal, and moves', async () => {
    game = startGame(createMemoryEventStore());
    await pool.query(`truncate ${Object.keys(READ_TABLES)
      .map((table) => `read_v1.${table}`)
      .join(', ')},
                      read_v1.consumers`);
    expect(await rebuild()).to.include({ equal: true, moved: true, events: 0 });
    await game.play();
    await game.fillLive(pool);
    expect(await rebuild()).to.include({ equal: true, events: 9 });
  });

  describe('finds', () => {
    /**
     * A row of each table, one of its columns with another value, and the key of a row that does not exist.
     */
    const tampering = {
      accounts: { row: "user_id = 'usr_1'", column: 'available', extra: "stream = 'x', ordinal = 99" },
      holds: { row: "hold_id = '1a'", column: 'amount', extra: "hold_id = 'x'" },
      moves: { row: "move_id = 'mov_1'", column: 'amount', extra: "move_id = 'x', ordinal = 99" },
      play_sessions: {
        row: "session_id = '1a'",
        column: 'total_win',
        extra: "session_id = 'x', ordinal = 99",
      },
      postings: {
        row: 'log_ordinal = 2 and number = 1',
        column: 'currency_id',
        extra: 'log_ordinal = 99, revision = 99',
      },
      trial_balances: { row: "account = 'house'", column: 'balance', extra: "book = 'x', ordinal = 99" },
    };

    for (const [table, { row, column, extra }] of Object.entries(tampering)) {
      const name = `read_v1.${table}`;
      const keyColumns = READ_TABLES[table] ?? [];
      const keyOf = async (where: string) => {
        const { rows } = await pool.query({
          text: `select ${keyColumns} from ${name} where ${where}`,
          rowMode: 'array',
        });
        return rows[0]?.join(' ') ?? '';
      };

      const expectFound = async (key: string, sides: { expected: unknown; actual: unknown }) => {
        const tampered = await dumpLive();
        const found = await rebuild({ verify: true });
        expect(found).to.include({ equal: false, moved: false, previous: 'read_v1', live: 'read_v1' });
        const differing = found.tables.filter((one) => one.differing > 0);
        expect(differing.map((one) => [one.table, one.differing])).to.deep.equal([[table, 1]]);
        expect(differing[0]?.differences).to.deep.equal([{ key, ...sides }]);
        expect(await dumpLive(), 'live rows are left as they are').to.deep.equal(tampered);
        expect(await schemas()).to.deep.equal(['read_v1']);
      };
      const expectRepaired = async (right: unknown) => {
        expect(await rebuild({ verify: false })).to.include({ equal: false, moved: true, live: 'read_v2' });
        expect(await dumpLive()).to.deep.equal(right);
      };
      const textRow = async (where: string) => {
        const { rows } = await pool.query(`select * from ${name} where ${where}`);
        const { rows: text } = await pool.query(
          `select ${Object.keys(rows[0]).map((one) => `${one}::text`)} from ${name} where ${where}`,
        );
        return text[0];
      };

      it(`a changed row of ${table}, names the column, and repairs it`, async () => {
        const right = await dumpLive();
        const { [column]: value } = await textRow(row);
        const key = await keyOf(row);
        await pool.query(`update ${name} set ${column} = ${column} + 1 where ${row}`);
        await expectFound(key, {
          expected: { [column]: value },
          actual: { [column]: String(Number(value) + 1) },
        });
        await expectRepaired(right);
      });

      it(`a missing row of ${table}, and repairs it`, async () => {
        const right = await dumpLive();
        const key = await keyOf(row);
        const expected = await textRow(row);
        await pool.query(`delete from ${name} where ${row}`);
        await expectFound(key, { expected, actual: null });
        await expectRepaired(right);
      });

      it(`a superfluous row in ${table}, and repairs it`, async () => {
        const right = await dumpLive();
        await pool.query(`create table copied as select * from ${name} where ${row}`);
        await pool.query(`update copied set ${extra}`);
        await pool.query(`insert into ${name} select * from copied`);
        const where = extra.replaceAll(',', ' and');
        await expectFound(await keyOf(where), { expected: null, actual: await textRow(where) });
        await expectRepaired(right);
      });
    }
  });

  describe('while events are written', () => {
    /** Each is the beginning of a phase. */
    const moments = {
      'while it fills': /^insert into read_v\.play_sessions/,
      'between filling and comparing': /^analyze/,
      'just before the comparison': /repeatable read/,
      'between the comparison and the move': /read committed/,
    };
    for (const [moment, pattern] of Object.entries(moments)) {
      it(`takes those written ${moment}`, async () => {
        let isWritten = false;
        const result = await rebuild({
          async before({ text }) {
            if (isWritten || !pattern.test(text)) return;
            isWritten = true;
            await game.play();
            await game.fillLive(pool);
          },
        });
        expect(result).to.include({ equal: true, moved: true, live: 'read_v2' });
        expect(await dump('read_v2')).to.deep.equal(await dump('read_v1'));
        expect(await sessionIds()).to.have.length(12);
      });
    }

    it('lets nothing into the former version once readers may have left it', async () => {
      let late: Promise<unknown> | undefined;
      const before = await dumpLive();
      const runner = await game.holdLive(pool);
      await rebuild({
        async before({ text }) {
          if (!/^update records\.read_pointer/.test(text)) return;
          await game.play();
          // Its page waits for the move to end: awaited here, neither would ever end.
          late = runner
            .advance(await game.store.head(), { signal: new AbortController().signal })
            .catch((error: unknown) => error);
        },
      });
      expect(await late).to.have.property('name', 'LostLeaseError');
      expect(await dump('read_v1')).to.deep.equal(before);
    });
  });

  it('is refused while another is in progress', async () => {
    const settled = await Promise.allSettled([rebuild(), rebuild()]);
    expect(settled.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
    const [refused] = settled.filter((one) => one.status === 'rejected');
    expect(refused).to.have.nested.property('reason.name', 'RebuildUnderWayError');
    expect(await schemas()).to.deep.equal(['read_v1', 'read_v2']);
  });

  describe('that meets an event that cannot be applied', () => {
    it('names it and leaves the live version unchanged', async () => {
      const before = await dumpLive();
      game.refuse('Closed');
      const failure = await rebuild().catch((error: unknown) => error);
      expect(failure).to.have.property('code', 'consumer/poison_event');
      const event = { stream: `account-test.${APP}.usr_1`, revision: 3, type: 'Closed' };
      expect(failure).to.have.property('event').that.deep.includes(event);
      expect(await dumpLive()).to.deep.equal(before);
      expect(await schemas()).to.deep.equal(['read_v1']);
    });

    it('passes over it if it is skipped, and applies what follows in its stream', async () => {
      game.refuse('Closed');
      const stream = `account-test.${APP}.usr_1`;
      const credited = { id: randomUUID(), type: 'Credited', data: '{"amount":5}', metadata: '{}' };
      await game.store.append({ stream, expectedRevision: 3, events: [credited] });
      const isSkipped: SkipLookup = async (consumer, { type }) =>
        consumer === 'readModels' && type === 'Closed';
      expect(await rebuild({ verify: false, isSkipped })).to.include({ moved: true });
      // Like the live consumer, each new filling continues.
      const held = await game.holdLive(pool);
      await held.advance(await game.store.head(), { signal: new AbortController().signal });
      expect(await rebuild({ isSkipped })).to.include({ equal: true, events: 46 });
      const { rows } = await pool.query(
        `select revision, available::text, held::text from ${await liveReadSchema(pool)}.accounts where stream = $1`,
        [stream],
      );
      expect(rows).to.deep.equal([{ revision: 4, available: '85', held: '20' }]);
    });

    const refusals = {
      'its projection': { type: 'Closed', revision: 3, refuse: async () => game.refuse('Closed') },
      'the database': {
        type: 'Held',
        revision: 1,
        refuse: () =>
          pool.query(
            `insert into read_v2.holds
             select 'account-test.${APP}.usr_6', '6a', app_id, environment, user_id, currency_id, purpose, amount,
                    payout, held_at_revision, closed_at_revision
               from read_v2.holds limit 1`,
          ),
      },
    };
    for (const phase of ['repeatable read', 'read committed']) {
      for (const [who, { type, revision, refuse }] of Object.entries(refusals)) {
        it(`because of ${who}, names it in the transaction that is ${phase}`, async () => {
          const failure = await rebuild({
            async before({ text }) {
              if (!text.includes(phase)) return;
              await game.play();
              await game.fillLive(pool);
              await refuse();
            },
          }).catch((error: unknown) => error);
          const event = { stream: `account-test.${APP}.usr_6`, revision, type };
          expect(failure).to.have.property('event').that.deep.includes(event);
          expect(await schemas()).to.deep.equal(['read_v1']);
        });
      }
    }
  });

  it('is abandoned in the middle of a statement', async () => {
    const before = await dumpLive();
    const aborting = new AbortController();
    const blocker = await pool.connect();
    try {
      await blocker.query('begin; lock table read_v1.postings');
      const rebuilding = rebuild({ signal: aborting.signal }).catch((error: unknown) => error);
      const waiting =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await pool.query(waiting)).rowCount !== 0);
      aborting.abort(new Error('Enough.'));
      expect(await rebuilding).to.have.property('message', 'Enough.');
    } finally {
      blocker.release(true);
    }
    expect(await schemas()).to.deep.equal(['read_v1']);
    expect(await dumpLive()).to.deep.equal(before);
  });

  describe('that is killed before any of its statements', () => {
    /** The third: the commit succeeds, but nobody learns of it. */
    const killers = {
      'by its signal': async (_statement: Statement, aborting: AbortController) =>
        aborting.abort(new Error('Killed.')),
      'by the loss of the connection': async ({ client }: Statement) => {
        const { rows } = await client.query('select pg_backend_pid() as pid');
        await pool.query('select pg_terminate_backend($1, 5000)', [rows[0].pid]);
      },
      'by the loss of the reply': async ({ client, text }: Statement) => {
        await client.query(text);
        throw new Error('The reply was lost.');
      },
    };

    for (const [how, kill] of Object.entries(killers)) {
      it(`${how}, leaves a complete live version, and the next one cleans up`, async () => {
        const right = await dumpLive();
        const texts: string[] = [];
        const { previous, live } = await rebuild({
          before: async ({ text }) => void texts.push(text),
        });
        expect([previous, live]).to.deep.equal(['read_v1', 'read_v2']);
        const deaths = new Set<string>();

        for (const at of firstOfEach(texts)) {
          if (how === 'by the loss of the reply' && texts[at] !== 'commit') continue;
          const before = await liveReadSchema(pool);
          const aborting = new AbortController();
          let number = 0;
          const ended = await rebuild({
            signal: aborting.signal,
            async before(statement) {
              if (number++ === at) await kill(statement, aborting);
            },
          }).catch((error: unknown) => error);
          const after = await liveReadSchema(pool);
          if (ended instanceof Error && before === after) deaths.add(texts[at] ?? '');
          expect(await dump(after), `${after}, killed at ${texts[at]}`).to.deep.equal(right);

          expect(await rebuild()).to.include({ equal: true, moved: true, previous: after });
          const left = await schemas();
          expect(left.filter((schema) => schema.includes('filling'))).to.deep.equal([]);
          expect(left, `killed at ${texts[at]}`).to.include(after);
          await dropAllButLive();
        }
        if (how !== 'by the loss of the reply') {
          for (const stage of ['insert into read_v.holds', 'analyze', 'select count(*) as examined']) {
            expect(
              [...deaths].some((text) => text.startsWith(stage)),
              stage,
            ).to.equal(true);
          }
          expect(deaths.size).to.be.greaterThan(20);
        }
      });
    }

    /** The first commit, and the first of every other statement. */
    const firstOfEach = (texts: readonly string[]) => [
      ...texts
        .keys()
        .filter((index) => texts[index] === 'commit' || texts.indexOf(texts[index] ?? '') === index),
    ];
    async function dropAllButLive(): Promise<void> {
      const live = await liveReadSchema(pool);
      for (const schema of await schemas()) {
        if (schema !== live) await pool.query(`drop schema ${schema} cascade`);
      }
    }
  });

  it('does not use the version that another release makes live meanwhile', async () => {
    let isStarted = false;
    const result = await rebuild({
      async before({ text }) {
        if (isStarted || !text.startsWith('insert into read_v.')) return;
        isStarted = true;
        // From here, the release starting now looks like the one with another shape.
        await pool.query('update records.read_pointer set shape = shape + 1');
        await migrateReadModels(pool);
        await pool.query('update records.read_pointer set shape = 0 where shape = $1', [READ_SHAPE]);
        await pool.query('update records.read_pointer set shape = shape - 1 where shape > $1', [READ_SHAPE]);
      },
    });
    expect(result).to.include({ equal: true, moved: true, live: 'read_v2' });
    expect(await schemas()).to.deep.equal(['read_v1', 'read_v2', 'read_v3']);
    const { rows } = await pool.query('select * from read_v3.accounts');
    expect(rows).to.deep.equal([]);
  });

  const sessionIds = async () => {
    const page = await listPlaySessions(pool, { appId: APP, environment: 'test', limit: 200 });
    return page.items.map(({ sessionId }) => sessionId);
  };
});
