/** The chain of a log whose export is written into another store. */
import { randomUUID } from 'node:crypto';
import { readCheckpoint } from '@coffer/consumers';
import { type Pool, withConnection } from '@coffer/database';
import { type EventStore, type OurLog, ourLog } from '@coffer/event-store';
import { createEventStoreDbEventStore } from '@coffer/event-store/eventstoredb';
import { createMemoryEventStore } from '@coffer/event-store/memory';
import { migrateAll } from '@coffer/host';
import { Rejection, streamName } from '@coffer/kernel';
import {
  createTestDatabase,
  type StoreGatewayProcess,
  startStoreGatewayProcess,
  type TestDatabase,
  type TestDatabaseTemplate,
} from '@coffer/testing';
import { expect } from 'chai';
import { CHAIN_CONSUMER } from './chainProjection.ts';
import { importChainedLog } from './importChainedLog.ts';
import { createKeptChain } from './keptChain.ts';
import { auditMigrations } from './migrations.ts';
import { createPointsInTime } from './pointInTime.ts';
import { verifyExtension } from './verifyLog.ts';

const FIRST = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-02T00:00:00.000Z';

const template: TestDatabaseTemplate = {
  name: 'imported log',
  prepare: (pool) => migrateAll(pool, [{ name: 'audit', migrations: [auditMigrations] }]),
};

describe('an import of the log into another store', () => {
  let database: TestDatabase;
  let pool: Pool;
  let gateway: StoreGatewayProcess;
  let store: OurLog;
  let lines: readonly string[];
  let forgotten: number;

  beforeEach(async () => {
    database = await createTestDatabase(template);
    pool = database.pool;
    forgotten = 0;
    gateway = await startStoreGatewayProcess();
    store = ourLog(createEventStoreDbEventStore({ connectionString: gateway.connectionString }));
    lines = linesOf(1_700);
  });
  afterEach(async () => {
    await store.close();
    await gateway.stop();
    await database.drop();
  });

  const importing = (text: string, into: EventStore = store) =>
    withConnection(pool, (client) =>
      importChainedLog(client, { store: into, chunks: chunksOf(text), onProgress() {}, forget }),
    );
  const forget = async () => {
    forgotten += 1;
    return {};
  };
  const at = (text: readonly string[], time: string) => text.join('').replaceAll(FIRST, time);
  const chain = async () =>
    (await pool.query('select * from records.chain_blocks order by last_ordinal')).rows;
  const refusal = (text: string) =>
    importing(text).then(
      () => expect.fail('It was not refused.'),
      (error: Rejection) => error,
    );

  it('keeps hashes and times of what was chained, dates the rest by the lines, and has the new positions', async () => {
    const before = await importing(at(lines.slice(0, 1_300), FIRST), createMemoryEventStore());
    const [block] = await chain();
    const after = await importing(at(lines, LATER));
    expect(after).to.include({ events: 1_700, appended: 1_700 });
    expect((await chain())[0].hashes.subarray(0, 500 * 32)).to.deep.equal(block.hashes.subarray(0, 500 * 32));

    const points = createPointsInTime(pool, store);
    expect(await points.pointAt(new Date(FIRST))).to.include({ ordinal: 1_300 });
    const end = await store.head();
    expect(await points.pointAt(new Date(LATER))).to.deep.equal({ ordinal: 1_700, position: end?.position });
    expect(end?.position).to.match(/^\d+\/\d+$/);
    const checkpoint = await readCheckpoint(pool, CHAIN_CONSUMER);
    expect(checkpoint).to.deep.equal({ ...end, ordinal: 1_700 });

    // The store has recorded them anew, and the chain is not blamed for it.
    const noted = { ordinal: 1_700, hash: Buffer.from(after.head?.hash ?? '', 'hex') };
    const { signal } = new AbortController();
    const verification = verifyExtension({ store, chain: createKeptChain(pool), signal }, noted);
    let step = await verification.next();
    while (!step.done) step = await verification.next();
    expect(step.value).to.deep.include({ extends: true, carried: 1_700, faults: [] });

    const whole = await importing(at(lines, LATER));
    expect(whole).to.deep.equal({ ...after, appended: 0 });
    expect(forgotten).to.equal(3);
    expect(before.head?.hash).to.not.equal(after.head?.hash);
  });

  it('writes no event that is another than was chained at its ordinal, and leaves the chain', async () => {
    await importing(at(lines, FIRST), createMemoryEventStore());
    const kept = await chain();
    const altered = lines.with(900, (lines[900] ?? '').replace('"amount":"900"', '"amount":"1"'));
    const error = await refusal(at(altered, FIRST));
    expect(error).to.be.instanceOf(Rejection).and.include({ code: 'audit/other_than_chained' });
    expect(error).to.have.nested.property('details.ordinal', 901);
    let held = 0;
    for await (const page of store.readAll()) held += page.length;
    expect(held).to.be.at.most(900);
    expect(await chain()).to.deep.equal(kept);
  });

  it('is not over before everything that was chained is there, and then continues', async () => {
    const { head } = await importing(at(lines, FIRST), createMemoryEventStore());
    const kept = await chain();
    forgotten = 0;
    const error = await refusal(at(lines.slice(0, -1), FIRST));
    expect(error).to.include({ code: 'audit/chained_events_missing' });
    expect(await chain()).to.deep.equal(kept);
    expect(forgotten).to.equal(0);
    expect(await importing(at(lines, FIRST))).to.deep.include({ events: 1_700, appended: 1, head });
  });
});

function linesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const stream = streamName('thing', 'test', `app_${'0'.repeat(26)}`, `${Math.floor(index / 100)}`);
    const data = { amount: `${index}` };
    const event = { position: `${index}`, stream, revision: index % 100, id: randomUUID(), type: 'Happened' };
    return `${JSON.stringify({ ...event, data, metadata: { v: 1 }, recordedAt: FIRST })}\n`;
  });
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
