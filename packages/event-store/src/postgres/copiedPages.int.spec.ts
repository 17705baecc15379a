/** Events of a page that was copied are those of its rows, and have the bytes that the database has kept. */
import { randomUUID } from 'node:crypto';
import type { Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { EncodedEvent } from '../encodedEvent.ts';
import type { EventStore, Position, RecordedEvent } from '../port.ts';
import { allOf } from '../testing/events.ts';
import { follow } from '../testing/follow.ts';
import { logTemplate } from '../testing/logDatabase.ts';
import { createSpareRooms } from './binaryCopy.ts';
import { copyPage } from './copiedPages.ts';
import { createPostgresEventStore } from './postgresEventStore.ts';

describe('pages of the log that are copied', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  beforeEach(async () => {
    database = await createTestDatabase(logTemplate);
    pool = database.pool;
    store = createPostgresEventStore({
      connectionString: database.connectionString,
      applicationName: 'spec',
    });
  });
  afterEach(async () => {
    await store.close();
    await database.drop();
  });

  const insert = (rows: readonly object[]) =>
    pool.query('insert into log.events select * from json_populate_recordset(null::log.events, $1)', [
      JSON.stringify(rows),
    ]);
  const pagesOf = async (limit?: number) => {
    const pages: (readonly RecordedEvent[])[] = [];
    for await (const page of store.readAll(limit === undefined ? {} : { limit })) pages.push(page);
    return pages;
  };
  const plain = (events: readonly RecordedEvent[]) => events.map((event) => ({ ...event }));

  it('hold what the driver reads, whatever it is', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 60 })
      .map((characters) => characters.replaceAll('\0', ''));
    const row = fc.record({
      position: fc.bigInt({ min: 1n, max: 2n ** 63n - 2n }).map(String),
      stream: text,
      revision: fc.maxSafeNat(),
      id: fc.uuid(),
      type: text,
      data: text,
      metadata: text,
      created: fc
        .date({
          min: new Date('1900-01-01T00:00:00Z'),
          max: new Date('2200-01-01T00:00:00Z'),
          noInvalidDate: true,
        })
        .map((date) => date.toISOString().replace('Z', '789Z')),
    });
    const rows = fc.uniqueArray(row, {
      minLength: 300,
      maxLength: 300,
      selector: ({ position }) => position,
    });
    const [sample = []] = fc.sample(rows, 1);
    await insert(sample.map((one, index) => ({ ...one, stream: `${index} ${one.stream}` })));
    const read = await allOf(store.readAll({ direction: 'backwards' }));
    let pages = 0;
    for await (const copied of store.readAll()) {
      pages += 1;
      expect(copied).to.have.length(300);
      expect(plain(copied)).to.deep.equal(plain(read.toReversed()));
      for (const event of copied) expectBytes(event);
    }
    expect(pages).to.equal(1);
  });

  it('hold what the driver reads where rows are like the one before in all, in nothing, or in their end', async () => {
    const alike = fc.constantFrom(
      '',
      'a',
      'b',
      'the same',
      'same end',
      'a same end',
      'b same end',
      'ŁŁ same end',
    );
    const row = fc.record({
      stream: alike,
      type: alike,
      metadata: alike,
      created: fc.constantFrom(
        '2026-01-31T12:00:00.123789Z',
        '2026-01-31T12:00:00.123Z',
        '2000-01-01T00:00:00Z',
      ),
    });
    const [rows = []] = fc.sample(fc.array(row, { minLength: 400, maxLength: 400 }), 1);
    await insert(
      rows.map((one, index) => ({
        ...one,
        position: index + 1,
        revision: index,
        id: randomUUID(),
        data: `${index}`,
      })),
    );
    const read = await allOf(store.readAll({ direction: 'backwards' }));
    expect((await pagesOf()).map(plain)).to.deep.equal([plain(read.toReversed())]);
  });

  it('of many streams that are read at once hold what each holds by itself, whatever its name', async () => {
    const names = ["it's", 'a "b"', '\\', "\\' or '", '$1', '{}', 'NULL', 'ŁŁ ', '', ' '];
    const streams = [...names, ...names.map((name) => `other ${name}`)];
    await insert(
      streams.flatMap((stream, place) =>
        Array.from({ length: 4 }, (_, revision) => ({
          position: `${4 * place + revision + 1}`,
          stream,
          revision,
          id: randomUUID(),
          type: 'Happened',
          data: JSON.stringify({ stream }),
          metadata: '{}',
          created: '2026-01-31T12:00:00.123789Z',
        })),
      ),
    );
    const tails = [...streams, 'none']
      .toReversed()
      .map((stream, index) => ({ stream, fromRevision: index % 5 }));
    const alone = await Promise.all(tails.map((tail) => store.readTails([tail], 2)));
    const together = await store.readTails(tails, 2);
    expect(together.map(plain)).to.deep.equal(alone.map(([tail = []]) => plain(tail)));
    expect(together.map(({ length }) => length)).to.include.members([0, 1, 2]);
    // The memory of an answer is used for the next one: nothing may hold on to its bytes.
    expect(together.flat().filter((event) => bytesOf(event).length > 0)).to.deep.equal([]);
    await store.readTails(tails.toReversed(), 2);
    expect(together.map(plain)).to.deep.equal(alone.map(([tail = []]) => plain(tail)));
  });

  it('hold as many events as fit, after the first', async () => {
    await pool.query(
      `insert into log.events
       select n, 'spec-' || n, 0, gen_random_uuid(), 'Happened', repeat('x', case when n <= 1500 then 8000 else 10 end), '{}', now()
         from generate_series(1, 6000) n`,
    );
    const pages = await pagesOf();
    expect(pages[0]).to.have.length(1_000);
    // At 8,000 bytes each, in 4 MiB.
    expect(pages[1]?.length).to.be.within(480, 525);
    expect(Math.max(...pages.map(({ length }) => length))).to.equal(2_000);
    expect(pages.flat().map(({ position }) => Number(position))).to.deep.equal(
      Array.from({ length: 6_000 }, (_, index) => index + 1),
    );
    expect((await pagesOf(1_300)).map(({ length }) => length)).to.deep.equal([1_000, 300]);
  });

  describe('of large events', () => {
    const BYTES = 1_000_000;
    /** Many of them stand between small ones. */
    const [FIRST, LAST, ALL] = [1_500, 1_560, 3_000];
    beforeEach(() =>
      pool.query(
        `insert into log.events
         select n, 'spec-' || n, 0, gen_random_uuid(), 'Happened',
                repeat('x', case when n between $1 and $2 then $3 else 10 end), '{}', now()
           from generate_series(1, $4::int) n`,
        [FIRST, LAST, BYTES, ALL],
      ),
    );
    const bytesIn = (page: readonly RecordedEvent[]) => page.reduce((sum, { data }) => sum + data.length, 0);
    const expectBounded = (pages: readonly (readonly RecordedEvent[])[], pageSize: number) => {
      expect(pages.flat()).to.have.length(ALL);
      for (const page of pages) expect(bytesIn(page)).to.be.below(4 * 1024 * 1024 + BYTES);
      // Those of small events have as many as before.
      const mostOfLarge = Math.ceil((LAST - FIRST) / 4);
      expect(pages.length).to.be.at.most(ALL / pageSize + mostOfLarge + 4);
    };

    it('are bounded by their bytes, in both directions', async () => {
      expectBounded(await pagesOf(), 1_000);
      const backwards: (readonly RecordedEvent[])[] = [];
      for await (const page of store.readAll({ direction: 'backwards' })) backwards.push(page);
      expectBounded(backwards, 1_000);
    });

    for (const takesRecent of [false, true]) {
      for (const pageSize of [100, 1_000]) {
        it(`are followed within the same bounds, ${pageSize} at a time, ${takesRecent ? 'shared' : 'as stored'}`, async () => {
          const ending = new AbortController();
          const pages: (readonly RecordedEvent[])[] = [];
          const options = { signal: ending.signal, pageSize, takesRecent };
          for await (const message of store.subscribeToAll(options)) {
            if (message.kind === 'caughtUp') ending.abort();
            else pages.push(message.events);
          }
          expectBounded(pages, pageSize);
        });
      }
    }

    it('are followed one by one where each fills a page, also from one to the end', async () => {
      await pool.query(`update log.events set data = repeat('x', 5000000) where position > $1`, [ALL - 3]);
      const { rows } = await pool.query('select id from log.events where position = $1', [ALL - 3]);
      const after = { position: `${ALL - 3}` as Position, eventId: rows[0].id };
      const reader = follow(store, { after });
      await reader.until(() => reader.told.includes('caughtUp'));
      expect(reader.pageSizes).to.deep.equal([1, 1, 1]);
      expect(reader.told.filter((entry) => entry === 'caughtUp')).to.have.length(1);
      await reader.stop();
    });
  });

  it('are none of an empty log', async () => expect(await pagesOf()).to.deep.equal([]));

  it('hold events that lose their bytes when one of their fields is changed', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => ({
      position: index + 1,
      stream: 's',
      revision: index,
      id: randomUUID(),
      type: 'Happened',
      data: '{}',
      metadata: '{}',
      created: '2026-01-31T12:00:00Z',
    }));
    await insert(rows);
    for await (const [first] of store.readAll()) {
      if (!first) throw new Error('There is an event.');
      expectBytes(first);
      expect(EncodedEvent.bytesOf({ ...first, data: '{"altered":1}' })).to.equal(0);
    }
  });

  describe('one after another', () => {
    beforeEach(() =>
      pool.query(
        `insert into log.events
         select n, 'spec-' || n, 0, gen_random_uuid(), 'Happened', to_json('event ' || n), '{}', now()
           from generate_series(1, 5000) n`,
      ),
    );

    it('have bytes until the next is asked for, and hold the same without', async () => {
      const read = plain(await allOf(store.readAll({ direction: 'backwards' }))).reverse();
      const before: RecordedEvent[] = [];
      for await (const page of store.readAll()) {
        for (const event of page) expectBytes(event);
        expect(before.filter((event) => bytesOf(event).length > 0)).to.deep.equal([]);
        before.push(...page);
      }
      expect(plain(before)).to.deep.equal(read);
    });

    it('give their memory back once: when they are released, or made into events without bytes', async () => {
      const given: Buffer[] = [];
      const rooms = { ...createSpareRooms(), giveBack: (room: Buffer) => given.push(room) };
      const copied = async () => {
        const page = await copyPage(pool, rooms, { after: '0', limit: 10, timeoutMs: 10_000 });
        if (!page) throw new Error('They are small.');
        return page;
      };
      const released = await copied();
      expect(released.events().map(bytesOf)).to.satisfy((all: Buffer[]) =>
        all.every(({ length }) => length > 0),
      );
      expect(given).to.have.length(0);
      released.release();
      released.release();
      expect(given).to.have.length(1);
      const made = await copied();
      expect(made.plainEvents().map(bytesOf)).to.deep.equal(Array(10).fill(Buffer.alloc(0)));
      expect(given).to.have.length(2);
    });

    it('have bytes until the one after the next is asked for, if the log is followed', async () => {
      const ending = new AbortController();
      const messages = store
        .subscribeToAll({ signal: ending.signal, pageSize: 1_000 })
        [Symbol.asyncIterator]();
      const next = async () => {
        const { value: message } = await messages.next();
        return message?.kind === 'events' ? (message.events as readonly RecordedEvent[]) : [];
      };
      // The driver reads the first, since nobody knows yet how many there are.
      await next();
      let [last, page] = [await next(), await next()];
      while (page.length > 0) {
        for (const event of [...last, ...page]) expectBytes(event);
        const passed = last;
        [last, page] = [page, await next()];
        expect(passed.filter((event) => bytesOf(event).length > 0)).to.deep.equal([]);
      }
      expect(last.at(-1)?.position).to.equal('5000');
      ending.abort();
      await messages.return?.();
    });
  });
});

function expectBytes(event: RecordedEvent): void {
  expect(bytesOf(event).equals(encoded(event)), event.id).to.equal(true);
}

function bytesOf(event: RecordedEvent): Buffer {
  const bytes = Buffer.alloc(EncodedEvent.bytesOf(event));
  EncodedEvent.copyBytes(event, bytes, 0);
  return bytes;
}

function encoded({ id, stream, type, data, metadata }: RecordedEvent): Buffer {
  const texts = [stream, type, data, metadata].flatMap((text) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(text));
    return [length, Buffer.from(text)];
  });
  return Buffer.concat([Buffer.from(id.replaceAll('-', ''), 'hex'), ...texts]);
}
