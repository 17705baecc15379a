import { randomBytes, randomUUID } from 'node:crypto';
import { createPool, migrate, type Pool } from '@coffer/database';
import { createTestDatabase, failureOf, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { snapshotStoreContract } from '../snapshotStore.contract.ts';
import type { SnapshotPlace } from '../snapshots.ts';
import { createFaultProxy } from '../testing/faultProxy.ts';
import { createPostgresSnapshotStore, forgetOldSnapshots, snapshotMigrations } from './snapshotStore.ts';

describe('snapshots in Postgres', () => {
  let database: TestDatabase;
  let pool: Pool;
  let forged: SnapshotPlace[];

  const secret = randomBytes(32);
  const stream = 'purse-test.app.1';
  const snapshot = {
    revision: 2_000,
    eventId: randomUUID(),
    state: { facts: { balance: '70', 'name "\n': [1] }, bytes: Buffer.from('bytes') },
  };
  const older = { revision: 1_000, eventId: randomUUID(), state: { facts: { balance: '50' } } };
  const storeUnder = (key: Uint8Array) =>
    createPostgresSnapshotStore(pool, { secret: key, onForged: (place) => forged.push(place) });
  const loaded = async (key: Uint8Array, place: SnapshotPlace = { stream, deciderVersion: 3 }) => {
    const [found] = await storeUnder(key).load([place], (_, snapshot) => structuredClone(snapshot));
    return found;
  };

  before(async () => {
    database = await createTestDatabase({
      name: 'snapshots',
      prepare: (preparing) => migrate(preparing, [snapshotMigrations]),
    });
    pool = database.pool;
  });
  after(() => database.drop());
  beforeEach(async () => {
    forged = [];
    await pool.query('delete from cache.snapshots');
    await storeUnder(secret).save([{ stream, deciderVersion: 3, ...snapshot }]);
  });

  snapshotStoreContract(() => storeUnder(secret));

  it('are read into the same memory one time after another, and into others at the same time', async () => {
    const store = storeUnder(secret);
    const places = [1, 2].map((number) => ({ stream: `purse-test.app.${number}`, deciderVersion: 3 }));
    const [one, two] = places.map((place, index) => ({
      ...place,
      ...snapshot,
      state: { facts: {}, bytes: Buffer.alloc(100_000, index) },
    }));
    if (!one || !two) throw new Error('There are two.');
    await store.save([one, two]);
    /** The bytes as they are when all are loaded, and the memory that they are in. */
    const loadEach = () =>
      Promise.all(
        places.map((place) => store.load([place], (_, { state: { bytes = new Uint8Array() } }) => bytes)),
      ).then((all) => all.flatMap(([bytes]) => bytes ?? expect.fail('It was saved.')));
    const together = await loadEach();
    expect(together).to.deep.equal([one.state.bytes, two.state.bytes]);
    const memoryOf = async (place: SnapshotPlace) => {
      const [memory] = await store.load([place], (_, { state }) => state.bytes?.buffer);
      return memory;
    };
    const kept = await memoryOf(one);
    expect(together.map(({ buffer }) => buffer)).to.include(kept);

    const large = { ...two, state: { facts: {}, bytes: Buffer.alloc(9 * 1024 * 1024) } };
    await store.save([large]);
    expect(await memoryOf(large)).not.to.equal(kept);
    expect((await memoryOf(one))?.byteLength).to.equal(64 * 1024 * 2);
  });

  it('are waited for only so long when the connection has fallen silent, and then come over another', async () => {
    const url = new URL(database.connectionString);
    const proxy = await createFaultProxy(Number(url.port));
    url.port = String(proxy.port);
    const proxied = createPool({
      connectionString: url.href,
      applicationName: 'spec',
      onIdleError: () => undefined,
    });
    const store = createPostgresSnapshotStore(proxied, {
      secret,
      onForged: () => expect.fail(),
      loadTimeoutMs: 250,
    });
    const load = () => store.load([{ stream, deciderVersion: 3 }], (_, found) => found.revision);
    // The pool keeps the connection for the next question.
    await proxied.query('select 1');
    proxy.swallowReplies();
    await failureOf(load());
    expect(await load()).to.deep.equal([snapshot.revision]);
    await proxied.end();
    await proxy.close();
  });

  it('are returned as saved, on every node that has the secret', async () => {
    expect(await loaded(secret)).to.deep.equal(snapshot);
    expect(forged).to.deep.equal([]);
  });

  for (const [what, sql] of [
    ['its state changed', `update cache.snapshots set state = replace(state, '70', '71')`],
    ['its bytes changed', `update cache.snapshots set bytes = 'other'`],
    ['its bytes gone', `update cache.snapshots set bytes = ''`],
    [
      'a part of its facts among its bytes',
      `update cache.snapshots set state = left(state, -2), bytes = convert_to(right(state, 2), 'UTF8') || bytes`,
    ],
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
      expect(await loaded(secret, place)).to.equal(undefined);
      expect(forged).to.deep.equal([place]);
      expect((await storeUnder(secret).read([place]))[0]).to.include({ isAuthentic: false });
    });
  }

  it('are removed when nobody has used their stream for a month', async () => {
    await pool.query(`update cache.snapshots set taken_at = now() - interval '29 days'`);
    await forgetOldSnapshots(pool);
    expect(await loaded(secret)).to.deep.equal(snapshot);
    await pool.query(`update cache.snapshots set taken_at = now() - interval '31 days'`);
    await forgetOldSnapshots(pool);
    expect(await loaded(secret)).to.equal(undefined);
  });

  it('are read for a verification one for each place, in their order', async () => {
    const { save, read } = storeUnder(secret);
    await save([{ stream: 'purse-test.app.2', deciderVersion: 3, ...older }]);
    const places = ['purse-test.app.2', 'purse-test.app.9', stream];
    const found = await read(places.map((one) => ({ stream: one, deciderVersion: 3 })));
    expect(found.map((one) => one?.revision)).to.deep.equal([1_000, undefined, 2_000]);
  });

  it('are not used under another secret', async () => {
    expect(await loaded(randomBytes(32))).to.equal(undefined);
    expect(forged).to.have.length(1);
  });

  it('are the state at their own event, even when an older one was put back', async () => {
    const store = storeUnder(secret);
    await store.save([{ stream, deciderVersion: 3, ...older }]);
    await pool.query('create table kept as table cache.snapshots');
    await store.save([{ stream, deciderVersion: 3, ...snapshot }]);
    await pool.query('delete from cache.snapshots; insert into cache.snapshots table kept; drop table kept');
    // Correct as far as it goes: what came after it is folded onto it.
    expect(await loaded(secret)).to.deep.equal(older);
    await pool.query('update cache.snapshots set revision = $1, event_id = $2', [2_000, snapshot.eventId]);
    expect(await loaded(secret)).to.equal(undefined);
  });
});
