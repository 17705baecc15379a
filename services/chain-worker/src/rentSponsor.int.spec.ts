import { createPool, migrate, type Pool } from '@coffer/database';
import type { RentSponsor, SponsoredMove } from '@coffer/moves';
import { memoryRentSponsor } from '@coffer/moves/testing';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { createRentSponsor } from './rentSponsor.ts';
import { chainWorkerMigrations } from './signingPause.ts';

const AT_ONCE = 40;

interface SponsorWorld {
  readonly sponsor: RentSponsor;
  /** As another process would use it. */
  readonly other: RentSponsor;
  readonly caps: { perUser: number; perApp: number };
}

let moves = 0;
const move = (change: Partial<SponsoredMove> = {}): SponsoredMove => ({
  moveId: `mov_${moves++}`,
  appId: 'app_1',
  environment: 'test',
  userId: 'usr_1',
  ...change,
});
const times = (count: number, change: Partial<SponsoredMove> = {}) =>
  Array.from({ length: count }, () => move(change));

function itSponsorsRent(name: string, makeWorld: () => Promise<SponsorWorld>): void {
  describe(`${name} sponsors rent`, () => {
    let world: SponsorWorld;
    let sponsor: RentSponsor;
    beforeEach(async () => {
      world = await makeWorld();
      ({ sponsor } = world);
    });
    const reserveAll = async (wanted: readonly SponsoredMove[]) => {
      const granted = await Promise.all(
        wanted.map((one, index) => (index % 2 ? world.other : sponsor).reserve(one)),
      );
      return granted.filter(Boolean).length;
    };

    it('up to the cap of a user, however many are requested at once', async () => {
      expect(await reserveAll(times(AT_ONCE))).to.equal(2);
      expect(await sponsor.spend(move()), 'nor of one that was not reserved').to.equal(false);
      expect(await sponsor.reserve(move({ userId: 'usr_2' }))).to.equal(true);
    });

    it('up to the cap of an app in an environment, whoever its users are', async () => {
      world.caps.perApp = 5;
      const ofMany = Array.from({ length: AT_ONCE }, (_, index) => move({ userId: `usr_${index}` }));
      expect(await reserveAll(ofMany)).to.equal(5);
      expect(await sponsor.reserve(move({ environment: 'live' }))).to.equal(true);
      expect(await sponsor.reserve(move({ appId: 'app_2' }))).to.equal(true);
    });

    it('once per move, however often it is requested, even when the caps are reached or lowered', async () => {
      const one = move();
      const again = Array.from({ length: AT_ONCE }, () => one);
      expect(await reserveAll(again)).to.equal(AT_ONCE);
      expect(await reserveAll(times(AT_ONCE))).to.equal(1);
      world.caps.perUser = 0;
      for (const ask of [sponsor.reserve, sponsor.spend, world.other.spend]) {
        expect(await ask(one)).to.equal(true);
      }
      expect(await sponsor.reserve(move())).to.equal(false);
    });

    it('no longer for a move whose request was refused, unless something may have been signed', async () => {
      const [refused, signed] = [move(), move()];
      await sponsor.reserve(refused);
      await sponsor.reserve(signed);
      await sponsor.spend(signed);
      for (const { moveId } of [refused, signed, move()]) await sponsor.release(moveId);
      expect(await reserveAll(times(AT_ONCE)), 'one is free again').to.equal(1);
    });

    it('for as long as one of several requests of the move is not refused', async () => {
      const one = move();
      expect(await reserveAll([one, one, one])).to.equal(3);
      await Promise.all([sponsor.release(one.moveId), world.other.release(one.moveId)]);
      expect(await reserveAll(times(AT_ONCE)), 'it still counts').to.equal(1);
      expect(await sponsor.spend(one)).to.equal(true);
    });

    it('no longer when all requests of the move were refused', async () => {
      const one = move();
      await reserveAll([one, one]);
      await Promise.all([sponsor.release(one.moveId), world.other.release(one.moveId)]);
      expect(await reserveAll(times(AT_ONCE))).to.equal(2);
      expect(await sponsor.spend(one)).to.equal(false);
    });

    it('never when a cap is zero', async () => {
      world.caps.perUser = 0;
      expect(await sponsor.spend(move())).to.equal(false);
      world.caps.perUser = 2;
      world.caps.perApp = 0;
      expect(await sponsor.spend(move())).to.equal(false);
    });
  });
}

itSponsorsRent('the memory', async () => {
  const sponsor = memoryRentSponsor();
  return { sponsor, other: sponsor, caps: sponsor.caps };
});

describe('the database', () => {
  let database: TestDatabase;
  let another: Pool;
  before(async () => {
    database = await createTestDatabase({
      name: 'rentSponsor',
      prepare: (pool) => migrate(pool, [chainWorkerMigrations]),
    });
    another = createPool({ ...database, applicationName: 'spec', onIdleError() {} });
  });
  after(async () => {
    await another.end();
    await database.drop();
  });
  const makeWorld = async (): Promise<SponsorWorld> => {
    const { pool } = database;
    await pool.query('delete from records.chain_rent_sponsorships');
    const caps = { perUser: 2, perApp: 500 };
    const capsOf = async () => caps;
    return {
      sponsor: createRentSponsor({ pool, capsOf }),
      other: createRentSponsor({ pool: another, capsOf }),
      caps,
    };
  };

  itSponsorsRent('it', makeWorld);

  it('counts by the day of the database, in UTC', async () => {
    const { sponsor, other } = await makeWorld();
    const { pool } = database;
    const [first] = times(2);
    await sponsor.reserve(first as SponsoredMove);
    await sponsor.spend(move());
    expect(await sponsor.spend(move())).to.equal(false);
    const { rows } = await pool.query(
      "select bool_and(sponsored_on = (now() at time zone 'utc')::date) as is_today from records.chain_rent_sponsorships",
    );
    expect(rows).to.deep.equal([{ is_today: true }]);
    await pool.query('update records.chain_rent_sponsorships set sponsored_on = sponsored_on - 1');
    for (const one of times(2)) expect(await other.spend(one)).to.equal(true);
    expect(await sponsor.spend(first as SponsoredMove), 'of yesterday').to.equal(true);
    expect(await sponsor.spend(move())).to.equal(false);
  });
});
