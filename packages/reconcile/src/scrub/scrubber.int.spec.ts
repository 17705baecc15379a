import { migrate, type Pool } from '@coffer/database';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { reconcileMigrations } from '../migrations.ts';
import { createScrubber, type ScrubberOptions } from './scrubber.ts';
import { forgetScrubPass, readScrub, takeTurn } from './scrubTable.ts';

describe('the turns of the scrub', () => {
  let database: TestDatabase;
  let pool: Pool;
  const { signal } = new AbortController();

  before(async () => {
    database = await createTestDatabase({
      name: 'scrub',
      prepare: (preparing) => migrate(preparing, [reconcileMigrations]),
    });
    pool = database.pool;
  });
  after(() => database.drop());
  beforeEach(() =>
    pool.query(
      `update records.scrub set state = null, format = 0, due_at = null, owner = null, leased_until = null`,
    ),
  );

  /** Without a log: a pass is one place to compare. */
  const scrubber = (
    compared: () => Promise<void> = async () => undefined,
    options: Partial<ScrubberOptions> = {},
  ) => {
    const { turn } = createScrubber({
      pool,
      clock: () => new Date(),
      owner: 'spec',
      passMs: 0,
      places: async () => {
        await compared();
        return [];
      },
      log: {
        end: async () => ({ end: undefined, faults: [] }),
        stretch: () => expect.fail('There is no log.'),
      },
      books: {
        derive: async () => ({ ordinal: 0, taken: 0, isAtEnd: true }),
        compare: () => expect.fail('There are no apps.'),
        drop: async () => undefined,
      },
      ...options,
    });
    return {
      async turn(signal: AbortSignal) {
        // However long the previous turn has rested.
        await pool.query('update records.scrub set due_at = null');
        return turn(signal);
      },
    };
  };
  const lapse = () =>
    pool.query(`update records.scrub set leased_until = clock_timestamp() - interval '1 second'`);
  const isTaken = () =>
    until(async () => (await pool.query('select from records.scrub where owner is not null')).rowCount !== 0);
  const stageOf = async () => (await readScrub(pool)).state?.pass?.stage.kind;

  it('are taken by one process at a time, and each continues from where the other stopped', async () => {
    const gate = Promise.withResolvers<void>();
    const [one, other] = [scrubber(() => gate.promise), scrubber()];
    expect((await one.turn(signal))?.after.pass).to.equal(null);
    await other.turn(signal);
    expect(await stageOf()).to.equal('comparing');

    const underWay = one.turn(signal);
    await isTaken();
    expect(await other.turn(signal)).to.equal(undefined);
    gate.resolve();
    expect((await underWay)?.after.lastPass).to.include({ findings: 0 });
    expect((await other.turn(signal))?.after.pass).to.not.equal(null);
  });

  it('pass to the next process when one has died, and what the dead one still says does not stand', async () => {
    const gate = Promise.withResolvers<void>();
    const [dead, next] = [scrubber(() => gate.promise), scrubber()];
    await dead.turn(signal);
    await dead.turn(signal);
    const late = dead.turn(signal);
    await isTaken();
    await lapse();
    expect((await next.turn(signal))?.after.pass).to.equal(null);
    await next.turn(signal);
    gate.resolve();
    expect(await late).to.equal(undefined);
    expect(await stageOf()).to.equal('comparing');
  });

  it('are not waited for when the dead one has them from a time when the clock was ahead', async () => {
    const leasedFor = (howLong: string) =>
      pool.query(`update records.scrub set leased_until = clock_timestamp() + $1::interval`, [howLong]);
    await leasedFor('110 seconds');
    expect(await takeTurn(pool, 'spec')).to.equal(undefined);
    await leasedFor('1 hour');
    expect(await takeTurn(pool, 'spec')).to.not.equal(undefined);
  });

  it('are given back at once by a process that stops, and later by one in trouble', async () => {
    await scrubber().turn(signal);
    await scrubber().turn(signal);
    for (const isStopping of [true, false]) {
      const stopping = new AbortController();
      const failing = scrubber(async () => {
        if (isStopping) stopping.abort();
        throw new Error('Trouble.');
      });
      expect(await failing.turn(stopping.signal).catch((error: unknown) => error)).to.be.instanceOf(Error);
      expect((await readScrub(pool)).waitMs > 0).to.equal(!isStopping);
      expect(await stageOf(), 'nothing is lost').to.equal('comparing');
    }
  });

  it('begin a pass anew when the log was put back, and still show what was found', async () => {
    const since = '2026-01-01T00:00:00.000Z';
    await scrubber().turn(signal);
    await scrubber().turn(signal);
    await pool.query(
      `update records.scrub set state = jsonb_set(state::jsonb, '{alarm}', jsonb_build_object('since', $1::text))::text`,
      [since],
    );
    await forgetScrubPass(pool);
    const { state } = await readScrub(pool);
    expect(state?.pass).to.equal(null);
    expect(state?.alarm).to.include({ since });
    expect(await takeTurn(pool, 'spec')).to.not.equal(undefined);
  });
});
