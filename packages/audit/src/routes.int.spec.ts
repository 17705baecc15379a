/** The evidence as an operator obtains it over HTTP, with tampering in the database. */
import { projecting, startConsumer } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { type AppPlace, type ContextWorld, setUpApp, startContexts, textOf } from '@coffer/host/testing';
import { LEDGER_CONTEXTS } from '@coffer/ledger/testing';
import type { PortalGiven } from '@coffer/portal';
import { PORTAL_GIVEN } from '@coffer/portal/testing';
import { describeLogTable, eventually } from '@coffer/testing';
import { expect } from 'chai';
import { CHAIN_CONSUMER, chainProjection } from './chainProjection.ts';

type World = ContextWorld<PortalGiven>;
type Row = Readonly<Record<string, unknown>>;

const PLAYED = { contexts: LEDGER_CONTEXTS, given: PORTAL_GIVEN };

describe('the evidence that the log is the one that was written', () => {
  describeLogTable('its rows are altered', 'in a log that somebody with write access has changed', () => {
    let world: World;
    let pool: Pool;
    let app: AppPlace;
    let userId: string;
    let events: number;
    let head: { readonly ordinal: number; readonly hash: string };

    before(async () => {
      // Without a projector, so that nothing reads the log while it is tampered with.
      world = await startContexts({ ...PLAYED, roles: ['api'] });
      pool = world.pool;
      app = (await setUpApp(world.client)).test;
      ({ userId } = await playedSession(app));
      await playedSession(app);
      await chainAll(world);
      const { json } = await world.client.get('/portal/audit/head');
      head = { ordinal: Number(json.ordinal), hash: String(json.hash) };
      events = head.ordinal;
      await pool.query(`
        create schema saved;
        create table saved.events as table log.events;
        create table saved.blocks as table records.chain_blocks;
        create table saved.consumers as table records.consumers;
        alter table records.chain_blocks disable trigger all`);
    });
    after(() => world.stop());
    afterEach(() =>
      pool.query(`
        truncate log.events, records.chain_blocks, records.consumers;
        insert into log.events table saved.events;
        insert into records.chain_blocks table saved.blocks;
        insert into records.consumers table saved.consumers`),
    );

    const verify = (query = '') => resultOf(world, `/portal/log/verification${query}`);
    const extension = ({ ordinal, hash } = head) => resultOf(world, extensionOf(ordinal, hash));
    const eventAt = async (position: number): Promise<Row> => {
      const { rows } = await pool.query<Row>(
        'select id::text, stream, revision::int from saved.events where position = $1',
        [position],
      );
      return rows[0] ?? {};
    };

    it('finds nothing while nobody has', async () => {
      expect(events).to.be.greaterThan(12);
      expect(await verify()).to.deep.include({ ok: true, events, unchained: 0, faultCount: 0, head });
      expect(await extension()).to.deep.include({ ok: true, since: head.ordinal, extends: true, faults: [] });
    });

    const MIDDLE = 7;
    const shift = (column: string, by: number, where: string) =>
      `update log.events set ${column} = -(${column} + ${by}) where ${where};
       update log.events set ${column} = -${column} where ${column} < 0;`;
    const forgery = `(position, stream, revision, id, type, data, metadata, created)
       select ${MIDDLE}, stream, revision + 1, gen_random_uuid(), type, data, metadata, created
         from saved.events where position = ${MIDDLE - 1}`;

    const tampering: readonly [what: string, sql: () => string, kind: string, ordinal: () => number][] = [
      [
        'data',
        () => `update log.events set data = replace(data, '"', ' "') where position = 7`,
        'altered',
        () => 7,
      ],
      [
        'metadata',
        () => `update log.events set metadata = replace(metadata, 'operator', 'nobody') where position = 1`,
        'altered',
        () => 1,
      ],
      [
        'the type',
        () => `update log.events set type = 'SessionOpened' where position = 7`,
        'altered',
        () => 7,
      ],
      [
        'the stream',
        () => `update log.events set stream = stream || '1' where position = 7`,
        'altered',
        () => 7,
      ],
      [
        'the revision',
        () => `update log.events set revision = revision + 90 where position = ${events}`,
        'altered',
        () => events,
      ],
      ['the id', () => `update log.events set id = gen_random_uuid() where position = 7`, 'altered', () => 7],
      ['an event removed', () => 'delete from log.events where position = 7', 'missing', () => 7],
      ['the first removed', () => 'delete from log.events where position = 1', 'missing', () => 1],
      [
        'the last removed',
        () => `delete from log.events where position = ${events}`,
        'missing',
        () => events,
      ],
      [
        'an event removed and the hole closed up',
        () => `delete from log.events where position = 7; ${shift('position', -1, 'position > 7')}`,
        'missing',
        () => 7,
      ],
      [
        'an event put in between',
        () => `${shift('position', 1, `position >= ${MIDDLE}`)}
          ${shift(
            'revision',
            1,
            `(stream, revision) in (select e.stream, e.revision from saved.events e, saved.events c
               where c.position = ${MIDDLE - 1} and e.stream = c.stream and e.revision > c.revision)`,
          )}
          insert into log.events ${forgery}`,
        'inserted',
        () => MIDDLE,
      ],
      [
        'two events changed about',
        () => `update log.events set position = 1000 where position = 7;
          update log.events set position = 7 where position = 9;
          update log.events set position = 9 where position = 1000`,
        'moved',
        () => 7,
      ],
    ];
    for (const [what, sql, kind, ordinal] of tampering) {
      it(`names it first: ${what}`, async () => {
        await pool.query(sql());
        const result = await verify();
        expect(result).to.include({ ok: false, code: 'audit/log_corrupt' });
        const [fault] = faultsOf(result);
        expect(fault, JSON.stringify(result)).to.include({ kind, ordinal: ordinal() });
        if (kind !== 'inserted') {
          const { id, stream, revision } = fault ?? {};
          expect({ id, stream, revision }).to.deep.equal(await eventAt(ordinal()));
        }
        const { ordinal: since } = head;
        expect(await extension()).to.include({
          ok: false,
          code: 'audit/chain_broken',
          since,
          extends: false,
        });
      });
    }

    // No hash covers the recorded time: it is in the event's row and in its block.
    const lastSecondOf2025 = Date.parse('2025-12-31T23:59:59Z');
    const recordedTimes: readonly [what: string, sql: string][] = [
      [
        'in the log',
        `update log.events set created = to_timestamp(${lastSecondOf2025} / 1000.0) where position = 7`,
      ],
      [
        'in the log, by a millisecond',
        `update log.events set created = created + interval '1 ms' where position = 7`,
      ],
      [
        'in the chain',
        `update records.chain_blocks set recorded_ms[7 - first_ordinal::int + 1] = ${lastSecondOf2025} where first_ordinal = 6`,
      ],
      [
        'in the chain, and with it the latest time of the block',
        `update records.chain_blocks set recorded_ms[7 - first_ordinal::int + 1] = recorded_until_ms + 5 where first_ordinal = 6;
         update records.chain_blocks b set recorded_until_ms = (select max(ms) from records.chain_blocks c, unnest(c.recorded_ms) ms
           where c.last_ordinal <= b.last_ordinal)`,
      ],
    ];
    for (const [where, sql] of recordedTimes) {
      it(`names an event whose recorded time was changed ${where}, so that no year ends with another total`, async () => {
        await pool.query(sql);
        const result = await verify();
        expect(result).to.include({ ok: false, code: 'audit/log_corrupt', faultCount: 1 });
        const [fault] = faultsOf(result);
        expect(fault).to.include({ kind: 'misdated', ordinal: 7, ...(await eventAt(7)) });
      });
    }

    const lastBlock = '(select max(last_ordinal) from records.chain_blocks)';
    const chainTampering: readonly [what: string, sql: string][] = [
      ['the first block removed', 'delete from records.chain_blocks where first_ordinal = 1'],
      ['a block removed', 'delete from records.chain_blocks where first_ordinal = 6'],
      ['the last block removed', `delete from records.chain_blocks where last_ordinal = ${lastBlock}`],
      [
        'the hash of an event changed',
        `update records.chain_blocks set hashes = overlay(hashes placing '\\x00112233'::bytea from 33) where first_ordinal = 6`,
      ],
      [
        'the hash after a block changed',
        `update records.chain_blocks set hash_after = sha256('') where first_ordinal = 6`,
      ],
      [
        'the hash before a block changed',
        `update records.chain_blocks set hash_before = sha256('') where first_ordinal = 6`,
      ],
      [
        'the time of a block changed',
        'update records.chain_blocks set recorded_until_ms = recorded_until_ms + 1 where first_ordinal = 6',
      ],
      [
        'the position of a block changed',
        'update records.chain_blocks set last_position = first_ordinal where first_ordinal = 6',
      ],
      [
        'the position of the last block changed',
        `update records.chain_blocks set last_position = first_ordinal where last_ordinal = ${lastBlock}`,
      ],
      [
        'the name of a stream changed in a block',
        `update records.chain_blocks set streams[2] = streams[1] || '0' where first_ordinal = 6`,
      ],
      [
        'the revision of an event changed in a block',
        'update records.chain_blocks set revisions[2] = revisions[2] + 1 where first_ordinal = 6',
      ],
      [
        'the id of an event changed in a block',
        `update records.chain_blocks set event_ids = overlay(event_ids placing '\\x00112233'::bytea from 17) where first_ordinal = 6`,
      ],
      [
        'the ordinals of a block changed',
        'update records.chain_blocks set first_ordinal = first_ordinal - 1 where first_ordinal = 6',
      ],
      [
        'the ordinal of the checkpoint changed',
        `update records.consumers set ordinal = ordinal + 1 where name = 'chain'`,
      ],
      [
        'the position of the checkpoint changed',
        `update records.consumers set position = (select last_position from records.chain_blocks where first_ordinal = 6)
          where name = 'chain'`,
      ],
      [
        'an event taken out of a block',
        'update records.chain_blocks set streams = streams[2:] where first_ordinal = 6',
      ],
    ];
    for (const [what, sql] of chainTampering) {
      it(`names what was done to the chain: ${what}`, async () => {
        await pool.query(sql);
        const result = await verify();
        expect(result).to.include({ ok: false, code: 'audit/log_corrupt' });
        const kinds = new Set(faultsOf(result).map(({ kind }) => kind));
        expect([...kinds], JSON.stringify(result)).to.deep.equal(['chain_broken']);
      });
    }

    it('names the end of a chain that stands nowhere, and goes through the log all the same', async () => {
      await pool.query(`
        update records.chain_blocks set last_position = 'nowhere' where last_ordinal = ${lastBlock};
        update records.consumers set position = 'nowhere' where name = 'chain'`);
      await world.client.post('/portal/apps', { name: 'Behind the chain' });
      await (await setUpApp(world.client)).test.newUser();
      const result = await verify();
      expect(faultsOf(result).map(({ kind }) => kind)).to.deep.equal(['chain_broken']);
      expect(result.unchained).to.be.greaterThan(0);
      expect((await world.client.get('/portal/audit/head')).json).to.include({ lagEvents: null });
    });

    it('proves or disproves a noted head although the whole chain was made anew', async () => {
      const older = await hashAt(pool, 6);
      await pool.query(
        `update log.events set metadata = replace(metadata, '"actor"', '"added":0,"actor"') where position = 8`,
      );
      await pool.query('truncate records.chain_blocks, records.consumers');
      await chainAll(world);
      expect(await verify()).to.include({ ok: true });
      expect(await extension({ ordinal: 6, hash: older })).to.include({ ok: true, extends: true });
      expect(await extension()).to.include({ ok: false, code: 'audit/chain_broken', extends: false });
    });

    it('names an event that was added at the end and repeats one of its stream, whichever it is', async () => {
      const { rows } = await pool.query<{ position: number; type: string }>(
        `select distinct on (type) position::int, type from log.events order by type, position`,
      );
      expect(rows).to.have.length.greaterThan(6);
      for (const { position, type } of rows) {
        await pool.query(
          `insert into log.events
             select $1, stream, (select max(l.revision) + 1 from log.events l where l.stream = copied.stream),
                    gen_random_uuid(), type, data, metadata, created
               from log.events copied where position = $2`,
          [events + 1, position],
        );
        const result = await verify();
        expect(result, type).to.include({ ok: false, unchained: 1, faultCount: 1 });
        expect(faultsOf(result)[0], type).to.include({ kind: 'unfoldable', ordinal: events + 1 });
        await pool.query('delete from log.events where position = $1', [events + 1]);
      }
    });

    it('looks at one app or environment alone where that is asked for', async () => {
      await pool.query(`update log.events set data = '{}' where position > 2`);
      const kindsOf = async (query: string) => new Set(faultsOf(await verify(query)).map(({ kind }) => kind));
      expect([...(await kindsOf('?environment=live'))]).to.deep.equal(['altered']);
      expect([...(await kindsOf(`?app=${app.appId}&environment=test`))]).to.include('undecodable');
      expect((await world.client.get('/portal/log/verification?app=app_none')).json.code).to.equal(
        'portal/app_not_found',
      );
    });

    it('tells of a chain that is empty or does not reach so far', async () => {
      const codeOf = async (path: string) => (await world.client.get(path)).json.code;
      const far = extensionOf(head.ordinal + 1, head.hash);
      expect(await codeOf(far)).to.equal('audit/ordinal_beyond_chain');
      await pool.query('truncate records.chain_blocks, records.consumers');
      expect(await codeOf('/portal/audit/head')).to.equal('audit/nothing_chained');
      expect(await verify()).to.deep.include({ ok: true, unchained: events, head: null });
    });

    it('shows funds as they were at a time, although the clock has gone back', async () => {
      const stream = `account-test.${app.appId}.${userId}.2`;
      await app.credit(userId, '5');
      await app.credit(userId, '7');
      // By its recorded time, the last credit precedes the one before it.
      const latestMs = Date.now();
      const [latest, before, justBefore] = [0, 5, 1].map((ms) => new Date(latestMs - ms).toISOString());
      const { rows } = await pool.query<{ position: string }>(
        'select position from log.events where stream = $1 order by position desc limit 2',
        [stream],
      );
      const [last, lastButOne] = rows.map(({ position }) => position);
      const record = 'update log.events set created = $1 where position = $2';
      await pool.query(record, [latest, lastButOne]);
      await pool.query(record, [before, last]);
      const availableAt = async (at = '') => {
        const path = `/portal/app/${app.appId}/test/users/${userId}/accounts?currency=CHIP&at=${at}`;
        return Number(textOf(await world.client.get(path), 'available'));
      };
      const now = Number((await app.funds(userId)).available);
      for (let round = 0; round < 2; round++) {
        expect(await availableAt(justBefore)).to.equal(now - 12);
        expect(await availableAt(latest)).to.equal(now);
        // The second time from the blocks of the chain.
        await chainAll(world);
      }
    });
  });

  describe('in a service that runs', () => {
    let world: World;
    before(async () => {
      world = await startContexts(PLAYED);
    });
    after(() => world.stop());

    it('grows with the log, and its lag is a metric', async () => {
      const app = (await setUpApp(world.client)).test;
      await playedSession(app);
      const head = await eventually('everything is chained', async () => {
        const { json, status } = await world.client.get('/portal/audit/head');
        return status === 200 && json.lagEvents === 0 ? json : undefined;
      });
      expect(head.hash).to.match(/^[0-9a-f]{64}$/);
      expect(Date.parse(String(head.recordedUntil))).to.be.greaterThan(Date.now() - 60_000);
      expect(await resultOf(world, '/portal/log/verification')).to.include({
        ok: true,
        events: head.ordinal,
        unchained: 0,
      });
      const metrics = await (await fetch(`${world.url}/metrics`)).text();
      expect(metrics).to.match(/^coffer_consumer_lag_events\{consumer="chain"\} \d+$/m);

      await playedSession(app);
      const noted = extensionOf(Number(head.ordinal), String(head.hash));
      expect(await resultOf(world, noted)).to.include({ ok: true, extends: true });
    });
  });
});

const extensionOf = (since: number, hash: string) => `/portal/audit/verification?since=${since}&hash=${hash}`;

/** A player's session with bets, wins and a settlement. */
async function playedSession(app: AppPlace): Promise<{ readonly userId: string }> {
  const { userId, sessionId } = await app.newSession('100');
  await app.bet({ sessionId, transactionUuid: `bet-${sessionId}`, amount: '10' });
  await app.win({ sessionId, betTransactionUuid: `bet-${sessionId}`, amount: '25' });
  await app.rollback({ sessionId, betTransactionUuid: `unknown-${sessionId}` });
  await app.bet({ sessionId, transactionUuid: `back-${sessionId}`, amount: '10' });
  await app.rollback({ sessionId, betTransactionUuid: `back-${sessionId}` });
  await app.settle({ sessionId });
  return { userId };
}

/** Chains the log to its end in blocks of five. */
async function chainAll({ pool, store }: World): Promise<void> {
  const consumer = startConsumer({
    ...CHAIN_CONSUMER,
    pool,
    store,
    work: projecting([chainProjection()]),
    onAlarm: ({ reason }) => expect.fail(reason),
    onTrouble() {},
    pageSize: 5,
    minPageIntervalMs: 0,
  });
  await eventually('the log is chained', () => consumer.status().state === 'live' || undefined);
  await consumer.stop();
}

async function hashAt(pool: Pool, ordinal: number): Promise<string> {
  const { rows } = await pool.query<{ hash: string }>(
    `select encode(substr(hashes, ($1 - first_ordinal::int) * 32 + 1, 32), 'hex') as hash
       from records.chain_blocks where $1 between first_ordinal and last_ordinal`,
    [ordinal],
  );
  return String(rows[0]?.hash);
}

/** The last line of a long task; all earlier ones report progress. */
async function resultOf(world: World, path: string): Promise<Row> {
  const lines = await world.client.lines(path);
  const last = lines.at(-1);
  expect(lines.slice(0, -1).map(({ kind }) => kind)).to.satisfy((kinds: readonly unknown[]) =>
    kinds.every((kind) => kind === 'progress'),
  );
  expect(last?.kind).to.equal('result');
  // The service checks its own lines against their schema: a result is an object.
  return last?.result as Row;
}

const faultsOf = (result: Row): readonly Row[] => (Array.isArray(result.faults) ? result.faults : []);
