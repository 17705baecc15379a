import { type RecordedEvent, StoreUnreachableError } from '@coffer/event-store';
import { until } from '@coffer/testing';
import { expect } from 'chai';
import { readCheckpoint, retireConsumer } from './consumersTable.ts';
import { takeLease } from './lease.ts';
import { type Projection, projecting } from './projecting.ts';
import { reacting } from './reacting.ts';
import type { Reaction } from './reaction.ts';
import { consumerWorld, NAME, POISONS, SCHEMA } from './testing/consumerWorld.ts';

describe('a consumer', () => {
  const world = consumerWorld();
  const { alarms, troubles, start, checkpoint, rows, writesRows } = world;
  const leaseOf = async () =>
    (await world.pool.query(`select epoch, owner, leased_until from ${SCHEMA}.consumers`)).rows[0];
  const expireLease = () =>
    world.pool.query(`update ${SCHEMA}.consumers set leased_until = clock_timestamp() - interval '1 second'`);

  describe('that projects', () => {
    it('applies every event once, and moves its checkpoint with the rows', async () => {
      world.log.append(25);
      const consumer = start(projecting([writesRows('A')]));
      await until(() => consumer.status().state === 'live');
      world.log.append(3);
      await until(async () => (await checkpoint()) === '28');
      expect(await rows()).to.have.length(28);
      expect(await readCheckpoint(world.pool, { schema: SCHEMA, name: NAME })).to.include({ ordinal: 28 });
      expect(consumer.status()).to.include({ position: '28', caughtUpOnce: true, reason: undefined });
    });

    it('counts no event twice that the log gives again, and reads on from its checkpoint', async () => {
      world.log.append(3);
      const { store } = world.log;
      let given: readonly RecordedEvent[] = [];
      const consumer = start(projecting([{ apply: async () => undefined }]), {
        store: {
          ...store,
          async *subscribeToAll(options) {
            for await (const message of store.subscribeToAll(options)) {
              if (message.kind !== 'events') yield message;
              else {
                const events = [...given.slice(-1), ...message.events];
                given = given.length === 0 ? message.events : [];
                yield { kind: 'events', events };
              }
            }
          },
        },
      });
      await until(() => consumer.status().state === 'live');
      world.log.append(2);
      await until(async () => (await checkpoint()) === '5');
      expect(await readCheckpoint(world.pool, { schema: SCHEMA, name: NAME })).to.include({ ordinal: 5 });
      expect(String(troubles)).to.include('The log gave the event at 3 after that at 3.');
      expect(alarms).to.deep.equal([]);
    });

    it('resumes where it stopped', async () => {
      world.log.append(5);
      const first = start(projecting([writesRows('A')]));
      await until(() => first.status().state === 'live');
      await first.stop();
      expect((await leaseOf()).owner).to.equal(null);
      world.log.append(2);
      const second = start(projecting([writesRows('B')]));
      await until(() => second.status().state === 'live');
      expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A', '4 A', '5 A', '6 B', '7 B']);
    });

    it('leaves neither rows nor checkpoint when it dies between them, and writes both later', async () => {
      world.log.append(3);
      let deaths = 0;
      const diesOnce: Projection = {
        async apply(db) {
          deaths += 1;
          if (deaths === 1) await db.query('select pg_terminate_backend(pg_backend_pid())');
          else if (deaths === 2) expect(await rows()).to.deep.equal([]);
        },
      };
      const consumer = start(projecting([writesRows('A'), diesOnce]));
      await until(() => consumer.status().state === 'live');
      expect(deaths).to.equal(2);
      expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A']);
      expect(await checkpoint()).to.equal('3');
      expect(alarms).to.deep.equal([]);
    });

    it('cannot write once another has taken its lease', async () => {
      world.log.append(3);
      const hasWritten = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      const freezes: Projection = {
        async apply() {
          hasWritten.resolve();
          await goesOn.promise;
        },
      };
      const loser = start(projecting([writesRows('loser'), freezes]), { standbyPollMs: 60_000 });
      await hasWritten.promise;
      const winner = start(projecting([writesRows('winner')]));
      await expireLease();
      await until(async () => (await leaseOf()).epoch === '2');
      goesOn.resolve();
      await until(() => winner.status().state === 'live');
      await until(() => troubles.length > 0);
      expect(loser.status().state).to.equal('standby');
      expect(await rows()).to.deep.equal(['1 winner', '2 winner', '3 winner']);
      expect(String(troubles)).to.include('no longer held');
      expect(alarms).to.deep.equal([]);
    });

    it('does not hold up its successor when frozen within a page, and writes none of it on waking', async () => {
      world.log.append(3);
      const hasWritten = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      const freezes: Projection = {
        async apply() {
          hasWritten.resolve();
          await goesOn.promise;
        },
      };
      const frozen = start(projecting([writesRows('frozen'), freezes]), {
        leaseMs: 1_000,
        standbyPollMs: 60_000,
      });
      await hasWritten.promise;
      const successor = start(projecting([writesRows('successor')]));
      // Until it is taken: the frozen one is in this process, where its renewals continue.
      await until(async () => {
        await expireLease();
        return (await leaseOf()).epoch === '2';
      });
      // Its rows wait for the open page until the server ends that transaction as idle.
      await until(() => successor.status().state === 'live');
      goesOn.resolve();
      await frozen.stop();
      expect(await rows()).to.deep.equal(['1 successor', '2 successor', '3 successor']);
      expect(alarms).to.deep.equal([]);
    });

    it('stands by while another reads, reports that it has caught up, and takes over when the other stops', async () => {
      world.log.append(3);
      const first = start(projecting([writesRows('A')]));
      await until(() => first.status().state === 'live');
      const second = start(projecting([writesRows('B')]));
      await until(() => second.status().caughtUpOnce);
      expect(second.status()).to.include({ state: 'standby', position: '3' });
      await first.stop();
      world.log.append(1);
      await until(() => second.status().position === '4');
      expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A', '4 B']);
    });

    it('lets another in when its work cannot begin', async () => {
      const cannotBegin = () => {
        throw new Error('cannot begin');
      };
      start({ begin: cannotBegin }, { firstRetryMs: 60_000 });
      await until(() => troubles.length > 0);
      const other = start(projecting([writesRows('other')]));
      await until(() => other.status().state === 'live');
      expect(String(troubles)).to.include('cannot begin');
    });

    for (const [poison, projection] of Object.entries(POISONS)) {
      it(`stops before ${poison}, names it, and releases its lease`, async () => {
        world.log.append(8);
        const consumer = start(projecting([writesRows('A'), projection]));
        await until(() => consumer.status().state === 'stopped');
        expect(alarms).to.have.length(1);
        expect(alarms[0]).to.deep.include({
          consumer: NAME,
          code: 'consumer/poison_event',
          event: { stream: 'things', revision: 3, type: 'Happened', id: 'event 3', position: '4' },
        });
        expect(consumer.status().reason).to.include(
          'consumer/poison_event: Happened at revision 3 of things',
        );
        expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A']);
        expect(await checkpoint()).to.equal('3');
        expect((await leaseOf()).owner).to.equal(null);
      });
    }

    it('stops before the event that one projection refuses, with nothing of it from another', async () => {
      world.log.append(8);
      const writes = writesRows('A');
      const writesTwice: Projection = {
        async apply(db, events, before) {
          // The second statement waits for the first, and by then the page is refused.
          const first = db.query('select pg_sleep(0.01)');
          await Promise.all([first, writes.apply(db, events, before)]);
        },
      };
      const consumer = start(
        projecting([writesTwice, POISONS['an event that its projection throws on'], writesRows('never')]),
      );
      await until(() => consumer.status().state === 'stopped');
      expect(await rows()).to.deep.equal([]);
      expect(alarms[0]).to.deep.include({ code: 'consumer/poison_event' });
      expect(alarms[0]?.event).to.include({ position: '1' });
      expect(consumer.status().reason).to.include('duplicate key');
    });

    it('stops before no event when its projection cannot ask the log: it tells the trouble, and tries again', async () => {
      world.log.append(8);
      let isAway = true;
      const asksTheLog: Projection = {
        async apply() {
          if (isAway) throw new StoreUnreachableError('The event store cannot be read.');
        },
      };
      const consumer = start(projecting([writesRows(), asksTheLog]));
      await until(() => troubles.length > 1);
      expect(consumer.status().state).not.to.equal('stopped');
      isAway = false;
      await until(async () => (await checkpoint()) === '8');
      expect((await rows()).join('')).to.equal('12345678');
      expect(alarms).to.deep.equal([]);
    });

    it('stops before an event that its projection refuses while it writes, and none of that is written', async () => {
      world.log.append(8);
      const begins: Projection = {
        async apply(db, events, before) {
          const writing = [db.query('select pg_sleep(0.01)'), writesRows('A').apply(db, events, before)];
          for (const one of writing) one.catch(() => undefined);
          if (events.some(({ revision }) => revision === 3)) throw new Error('unheard of');
          await Promise.all(writing);
        },
      };
      const consumer = start(projecting([begins]));
      await until(() => consumer.status().state === 'stopped');
      expect(await rows()).to.deep.equal(['1 A', '2 A', '3 A']);
      expect(await checkpoint()).to.equal('3');
    });

    it('reports its growing lag when it has stopped before an event', async () => {
      world.log.append(4);
      const consumer = start(projecting([POISONS['an event that its projection throws on']]));
      await until(() => consumer.status().state === 'stopped');
      world.log.append(6);
      await until(() => consumer.status().lagEvents === 7);
      expect(consumer.isBehind(), 'it does not read').to.equal(false);
    });

    it('stops for good when the log was rewritten', async () => {
      world.log.append(2);
      const consumer = start(projecting([writesRows('A')]));
      await until(() => consumer.status().state === 'live');
      world.log.rewrite();
      await until(() => consumer.status().state === 'stopped');
      expect(alarms[0]).to.include({ consumer: NAME, code: 'store/log_rewritten', event: undefined });
      expect(consumer.status().reason).to.include('store/log_rewritten');
      expect(await checkpoint()).to.equal('2');
      expect((await leaseOf()).owner).to.equal(null);
    });

    it('knows how far behind it is', async () => {
      world.log.append(30);
      const hasPage = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      let pages = 0;
      const waitsInSecondPage: Projection = {
        async apply() {
          pages += 1;
          if (pages < 2) return;
          hasPage.resolve();
          await goesOn.promise;
        },
      };
      const consumer = start(projecting([waitsInSecondPage]), { minPageIntervalMs: 1 });
      await hasPage.promise;
      await until(() => consumer.status().lagEvents !== undefined);
      expect(consumer.status()).to.include({ state: 'catchingUp', position: '10', lagEvents: 20 });
      await until(() => consumer.isBehind());
      goesOn.resolve();
      await until(() => consumer.status().state === 'live');
      expect(consumer.status()).to.include({ lagEvents: 0, lagSeconds: 0 });
      expect(consumer.isBehind()).to.equal(false);
    });
  });

  describe('that reacts', () => {
    it('keeps its checkpoint just before the oldest pending cause, and moves it on when the effect appears', async () => {
      const debt = debts(['b']);
      world.log.append(2, 'Other');
      world.log.append(1, 'Owed', 'a');
      world.log.append(1, 'Owed', 'b');
      const consumer = start(reacting([debt.reaction], { saveEveryMs: 5, firstRetryMs: 5 }));
      await until(async () => (await checkpoint()) === '3');
      expect(debt.acts).to.include.members(['a', 'b']);
      expect(consumer.status().pending).to.include({ count: 1 });
      debt.mend('b');
      await until(async () => (await checkpoint()) === String(world.log.length()));
      expect(consumer.status().pending).to.include({ count: 0, oldestSeconds: 0 });
    });

    it('is succeeded by one that acts on exactly what is pending', async () => {
      const first = debts(['b']);
      for (const key of ['a', 'b', 'c']) world.log.append(1, 'Owed', key);
      const crashed = start(reacting([first.reaction], { saveEveryMs: 60_000 }));
      await until(() => crashed.status().pending?.count === 1);
      await crashed.stop();
      expect(await checkpoint()).to.equal('1');

      const second = debts([]);
      start(reacting([second.reaction], { saveEveryMs: 5 }));
      await until(async () => (await checkpoint()) === String(world.log.length()));
      expect(second.acts).to.deep.equal(['b']);
    });

    it('finishes its current act before it releases its lease', async () => {
      world.log.append(1, 'Owed', 'a');
      const begun = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      const { reaction } = debts([]);
      const consumer = start(
        reacting([
          {
            ...reaction,
            async act() {
              begun.resolve();
              await goesOn.promise;
            },
          },
        ]),
      );
      await begun.promise;
      const stopped = consumer.stop();
      expect((await leaseOf()).owner).to.be.a('string');
      goesOn.resolve();
      await stopped;
      expect((await leaseOf()).owner).to.equal(null);
      expect(await checkpoint()).to.equal(undefined);
    });

    it('stops before an event that it cannot understand', async () => {
      const { reaction } = debts([]);
      world.log.append(2, 'Other');
      world.log.append(1, 'Garbled');
      const consumer = start(reacting([reaction]));
      await until(() => consumer.status().state === 'stopped');
      expect(alarms[0]?.event).to.deep.equal({
        stream: 'things',
        revision: 2,
        type: 'Garbled',
        id: 'event 2',
        position: '3',
      });
    });
  });

  describe('and its lease', () => {
    it('expires by its own clock when it cannot be renewed', async () => {
      const lost = Promise.withResolvers<void>();
      const lease = await takeLease({
        pool: world.pool,
        key: { schema: SCHEMA, name: NAME },
        owner: 'A',
        leaseMs: 60,
        onLost: lost.resolve,
        onTrouble: (error) => troubles.push(error),
      });
      const blocker = await world.pool.connect();
      try {
        await blocker.query('begin');
        await blocker.query(`select * from ${SCHEMA}.consumers for update`);
        await lost.promise;
      } finally {
        await blocker.query('rollback');
        blocker.release();
      }
      await lease?.release();
      expect(troubles).to.deep.equal([]);
    });

    it('is told to be lost when it is, and not again when the page in flight has ended', async () => {
      world.log.append(1);
      const goesOn = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const hangs: Projection = {
        async apply() {
          begun.resolve();
          await goesOn.promise;
        },
      };
      const consumer = start(projecting([hangs]), { leaseMs: 60, standbyPollMs: 60_000 });
      await begun.promise;
      await world.pool.query(`update ${SCHEMA}.consumers set epoch = epoch + 1`);
      await until(() => troubles.length > 0);
      expect(consumer.status()).to.deep.include({ state: 'standby', position: undefined });
      goesOn.resolve();
      await consumer.stop();
      expect(troubles.map(String)).to.deep.equal([
        `LostLeaseError: The lease of consumer ${NAME} is no longer held here.`,
      ]);
    });

    it('is not waited for when it is of a time when the clock was ahead', async () => {
      const key = { schema: SCHEMA, name: NAME };
      const shared = { pool: world.pool, key, leaseMs: 60_000, onLost() {}, onTrouble() {} };
      const leasedFor = (howLong: string) =>
        world.pool.query(
          `insert into ${SCHEMA}.consumers (name, epoch, owner, leased_until)
             values ($1, 1, 'another', clock_timestamp() + $2::interval)
           on conflict (name) do update set leased_until = excluded.leased_until`,
          [NAME, howLong],
        );
      // Within twice its length it may be that of one who lives.
      await leasedFor('110 seconds');
      expect(await takeLease({ ...shared, owner: 'A' })).to.equal(undefined);
      await leasedFor('1 hour');
      const lease = await takeLease({ ...shared, owner: 'A' });
      expect(lease?.epoch).to.equal('2');
      await lease?.release();
    });

    it('is never had of a consumer that is retired', async () => {
      const key = { schema: SCHEMA, name: NAME };
      await retireConsumer(world.pool, key);
      const options = { pool: world.pool, key, owner: 'A', leaseMs: 60_000, onLost() {}, onTrouble() {} };
      expect(await takeLease(options)).to.equal(undefined);
    });

    it('has one holder at a time, and the next as soon as it is released', async () => {
      const key = { schema: SCHEMA, name: NAME };
      const shared = { pool: world.pool, key, leaseMs: 60_000, onLost() {}, onTrouble() {} };
      const first = await takeLease({ ...shared, owner: 'A' });
      expect(first?.epoch).to.equal('1');
      expect(await takeLease({ ...shared, owner: 'B' })).to.equal(undefined);
      await first?.release();
      const second = await takeLease({ ...shared, owner: 'B' });
      expect(second?.epoch).to.equal('2');
      await second?.release();
    });
  });

  /** Debts are paid by appending `Paid`; payments of the given keys fail until mended. */
  function debts(failing: readonly string[]) {
    const acts: string[] = [];
    const broken = new Set(failing);
    const keyOf = (event: RecordedEvent): string => JSON.parse(event.data);
    const reaction: Reaction = {
      name: 'pay',
      causeOf(event) {
        if (event.type === 'Garbled') throw new Error('no such event');
        return event.type === 'Owed' ? { key: keyOf(event), target: keyOf(event) } : undefined;
      },
      effectOf: (event) => (event.type === 'Paid' ? keyOf(event) : undefined),
      async act(cause) {
        acts.push(keyOf(cause));
        if (broken.has(keyOf(cause))) throw new Error('not now');
        world.log.append(1, 'Paid', keyOf(cause));
      },
    };
    return { acts, reaction, mend: (key: string) => broken.delete(key) };
  }
});
