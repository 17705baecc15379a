import { randomBytes, randomUUID } from 'node:crypto';
import { createPool, migrate, type Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import type { SnapshotPlace } from '../snapshots.ts';
import { createPostgresSnapshotStore, snapshotMigrations } from './snapshotStore.ts';

const poolOf = (connectionString: string) =>
  createPool({ connectionString, applicationName: 'spec', onIdleError() {} });

describe('snapshots in Postgres', () => {
  let database: TestDatabase;
  let pool: Pool;
  let forged: SnapshotPlace[];

  const secret = randomBytes(32);
  const stream = 'purse-test.app.1';
  const snapshot = { revision: 2_000, eventId: randomUUID(), state: { balance: '70', 'name "\n': [1] } };
  const older = { revision: 1_000, eventId: randomUUID(), state: { balance: '50' } };
  const storeUnder = (key: Uint8Array) =>
    createPostgresSnapshotStore(pool, { secret: key, onForged: (place) => forged.push(place) });

  before(async () => {
    database = await createTestDatabase({
      name: 'snapshots',
      async prepare(connectionString) {
        const preparing = poolOf(connectionString);
        await migrate(preparing, [snapshotMigrations]);
        await preparing.end();
      },
    });
    pool = poolOf(database.connectionString);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(async () => {
    forged = [];
    await pool.query('delete from cache.snapshots');
    await storeUnder(secret).save(stream, 3, snapshot);
  });

  it('are returned as saved, on every node that has the secret', async () => {
    expect(await storeUnder(secret).load(stream, 3)).to.deep.equal(snapshot);
    expect(await storeUnder(secret).load(stream, 4)).to.equal(undefined);
    expect(await storeUnder(secret).load('purse-test.app.2', 3)).to.equal(undefined);
    expect(forged).to.deep.equal([]);
  });

  for (const [what, sql] of [
    ['its state changed', `update cache.snapshots set state = replace(state, '70', '71')`],
    ['its state written otherwise', `update cache.snapshots set state = state || ' '`],
    ['its revision changed', 'update cache.snapshots set revision = revision + 1'],
    ['its event changed', 'update cache.snapshots set event_id = gen_random_uuid()'],
    ['its MAC changed', `update cache.snapshots set mac = overlay(mac placing '\\x00000000'::bytea from 1)`],
    ['its MAC cut off', `update cache.snapshots set mac = ''`],
    ['been moved from another stream', `update cache.snapshots set stream = 'purse-test.app.2'`],
    ['been moved from another version', 'update cache.snapshots set decider_version = 4'],
  ] as const) {
    it(`are not used with ${what}, and this is reported`, async () => {
      await pool.query(sql);
      const { rows } = await pool.query(
        'select stream, decider_version as "deciderVersion" from cache.snapshots',
      );
      const [place] = rows;
      const store = storeUnder(secret);
      expect(await store.load(place.stream, place.deciderVersion)).to.equal(undefined);
      expect(forged).to.deep.equal([place]);
      expect(await store.read(place)).to.include({ isAuthentic: false });
    });
  }

  it('are not used under another secret', async () => {
    expect(await storeUnder(randomBytes(32)).load(stream, 3)).to.equal(undefined);
    expect(forged).to.have.length(1);
  });

  it('are the state at their own event, even when an older one was put back', async () => {
    const store = storeUnder(secret);
    await store.save(stream, 3, older);
    await pool.query('create table kept as table cache.snapshots');
    await store.save(stream, 3, snapshot);
    await pool.query('delete from cache.snapshots; insert into cache.snapshots table kept; drop table kept');
    // Correct as far as it goes: what came after it is folded onto it.
    expect(await store.load(stream, 3)).to.deep.equal(older);
    await pool.query('update cache.snapshots set revision = $1, event_id = $2', [2_000, snapshot.eventId]);
    expect(await store.load(stream, 3)).to.equal(undefined);
  });
});
