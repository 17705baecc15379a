import { setTimeout as delay } from 'node:timers/promises';
import { type Consumer, readCheckpoint } from '@coffer/consumers';
import { type Pool, withTransaction } from '@coffer/database';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { startLiveReadModels } from './liveReadModels.ts';
import { listPlaySessions } from './playSessions.ts';
import { caughtUpSince, READ_MODELS_CONSUMER } from './readModels.ts';
import { rebuildReadModels } from './rebuild.ts';
import { beginFilling, createReadSchema, dropSuperseded, liveReadSchema, READ_SHAPE } from './schema.ts';
import { APP, type Game, startGame } from './testing/game.ts';
import { readModelsTemplate } from './testing/migrateReadModels.ts';

describe('the live read models', () => {
  let database: TestDatabase;
  let pool: Pool;
  let game: Game;

  beforeEach(async () => {
    database = await createTestDatabase(readModelsTemplate);
    pool = database.pool;
    game = startGame(createMemoryEventStore());
  });
  afterEach(() => database.drop());

  const rebuild = () =>
    rebuildReadModels(
      { pool, store: game.store, projections: game.projections, onTrouble() {} },
      { verify: true, signal: new AbortController().signal, onProgress() {} },
    );
  const sessionIds = async () => {
    const { items } = await listPlaySessions(pool, { appId: APP, environment: 'test', limit: 200 });
    return items.map(({ sessionId }) => sessionId);
  };
  const schemas = async () => {
    const { rows } = await pool.query(
      "select nspname as schema from pg_namespace where nspname like 'read_v%' order by 1",
    );
    return rows.map(({ schema }) => schema);
  };

  describe('with a runner', () => {
    let runner: Consumer;
    const start = async (pointerPollMs = 10) => {
      runner = await startLiveReadModels({
        pool,
        store: game.store,
        projections: game.projections,
        pointerPollMs,
        minPageIntervalMs: 0,
        onAlarm: ({ error }) => expect.fail(String(error)),
        onTrouble() {},
      });
    };
    afterEach(() => runner.stop());
    const caughtUp = () => until(async () => await caughtUpSince(pool, game.store, await game.store.head()));

    it('are filled by it in the version that the pointer names, and in no other', async () => {
      await start();
      await game.play();
      await caughtUp();
      for (const version of [2, 3]) {
        const previous = await liveReadSchema(pool);
        expect(await rebuild()).to.include({ equal: true, previous, live: `read_v${version}` });
        const left = await readCheckpoint(pool, { schema: previous, name: READ_MODELS_CONSUMER });
        const ids = await game.play();
        await caughtUp();
        expect(await sessionIds()).to.include.members([...ids]);
        expect(await readCheckpoint(pool, { schema: previous, name: READ_MODELS_CONSUMER })).to.deep.equal(
          left,
        );
      }
    });

    it('are followed by it as soon as a page is refused, without waiting for the next poll', async () => {
      await start(1_000_000);
      await game.play();
      await caughtUp();
      await rebuild();
      const ids = await game.play();
      await caughtUp();
      expect(await sessionIds()).to.include.members([...ids]);
    });

    it('never fail a list and never show fewer rows, while versions come and go under it', async () => {
      await start();
      let isOver = false;
      const seen = new Set<string>();
      const reading = [1, 2, 3].map(async () => {
        while (!isOver) {
          const known = [...seen];
          const ids = new Set(await sessionIds());
          expect(known.find((id) => !ids.has(id))).to.equal(undefined);
          for (const id of ids) seen.add(id);
        }
      });
      const writing = (async () => {
        // No more than a page of the list shows.
        for (let player = 0; player < 100 && !isOver; player++) {
          await game.play();
          await delay(10);
        }
      })();
      try {
        for (let round = 0; round < 6; round++)
          expect(await rebuild()).to.include({ equal: true, moved: true });
      } finally {
        isOver = true;
        await Promise.all([...reading, writing]);
      }
      expect(seen.size).to.be.greaterThan(0);
    });
  });

  describe('of a version that was superseded', () => {
    const aMinuteLater = () =>
      pool.query("update records.read_pointer set moved_at = moved_at - interval '61 seconds'");

    it('are dropped a minute after the pointer has left them', async () => {
      await rebuild();
      await dropSuperseded(pool);
      expect(await schemas()).to.deep.equal(['read_v1', 'read_v2']);
      await aMinuteLater();
      await dropSuperseded(pool);
      expect(await schemas()).to.deep.equal(['read_v2']);
    });

    it('are kept while the former release reads them, and no longer', async () => {
      await rebuild();
      await pool.query('insert into records.read_pointer (shape, version) values ($1, 1)', [READ_SHAPE - 1]);
      await aMinuteLater();
      await dropSuperseded(pool);
      expect(await schemas()).to.deep.equal(['read_v1', 'read_v2']);
      await pool.query('update records.read_pointer set shape = shape - 1 where version = 1');
      await dropSuperseded(pool);
      expect(await schemas()).to.deep.equal(['read_v2']);
    });

    it('are distinguished from one that is being filled, whatever its number', async () => {
      expect(await beginFilling(pool)).to.equal('read_v2');
      await withTransaction(pool, (client) => createReadSchema(client, 'read_v3'));
      await pool.query('insert into records.read_pointer (shape, version) values ($1, 3)', [READ_SHAPE + 1]);
      await aMinuteLater();
      await dropSuperseded(pool);
      expect(await schemas()).to.deep.equal(['read_v1', 'read_v2', 'read_v3']);
      expect(await rebuild()).to.include({ live: 'read_v4' });
      expect(await schemas()).to.deep.equal(['read_v1', 'read_v3', 'read_v4']);
    });

    it('are dropped once, by however many nodes', async () => {
      await rebuild();
      await aMinuteLater();
      await Promise.all([1, 2, 3].map(() => dropSuperseded(pool)));
      expect(await schemas()).to.deep.equal(['read_v2']);
    });
  });
});
