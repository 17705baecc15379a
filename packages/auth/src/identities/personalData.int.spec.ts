/** Personal data that is written and destroyed at the same time. Source: ADR 0016. */
import { randomBytes } from 'node:crypto';
import { migrate, type Pool } from '@coffer/database';
import { createSecretBox, newId, type SecretBox, type UserPlace } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase, until } from '@coffer/testing';
import { expect } from 'chai';
import { authMigrations } from '../migrations.ts';
import { createPersonalData, type PersonalData } from './personalData.ts';

const AT = new Date('2026-01-02T03:04:05.678Z');
const FACTS = { externalId: 'ada@example.com', profile: { email: 'ada@example.com' } };

describe('personal data', () => {
  const secretBox = createSecretBox(randomBytes(32));
  let database: TestDatabase;
  let pool: Pool;
  let personalData: PersonalData;

  before(async () => {
    database = await createTestDatabase();
    pool = database.pool;
    await migrate(pool, [authMigrations]);
    personalData = createPersonalData(pool, secretBox);
  });
  after(() => database.drop());

  const newOwner = () => ({ environment: 'test', scopeId: newId('scp'), userId: newId('usr') }) as const;
  const rowsOf = async ({ userId }: ReturnType<typeof newOwner>) => {
    const { rows } = await pool.query('select 1 from records.auth_identities where user_id = $1', [userId]);
    return rows.length;
  };
  const isWriting = (statement: unknown) =>
    String(statement).startsWith('insert into records.auth_identities');

  /** A pool that writes the facts in a different way. */
  function withWriting(write: (statement: string, values: unknown[]) => Promise<unknown>): Pool {
    const query = (statement: string, values: unknown[]) =>
      isWriting(statement) ? write(statement, values) : pool.query(statement, values);
    // `keep` uses nothing else from it.
    return { query } as unknown as Pool;
  }

  it('is read as it was kept, and not at all once destroyed', async () => {
    const owner = newOwner();
    const identityId = newId('idn');
    expect(await personalData.read(owner)).to.deep.equal(new Map());
    expect(await personalData.keep(owner, identityId, FACTS, AT)).to.deep.equal(
      new Map([[identityId, FACTS]]),
    );
    expect(await personalData.read(owner)).to.deep.equal(new Map([[identityId, FACTS]]));

    for (const _ of ['once', 'again']) {
      await personalData.destroy(owner, AT);
      expect(await personalData.read(owner)).to.deep.equal(new Map());
      expect(await personalData.keep(owner, identityId, FACTS, AT)).to.equal(undefined);
    }
  });

  it('of many that are read at once is each one’s own, and one that does not open fails alone', async () => {
    const owners = Array.from({ length: 5 }, newOwner);
    const [first, , erased, broken, last] = owners as [UserPlace, UserPlace, UserPlace, UserPlace, UserPlace];
    const factsOf = ({ userId }: UserPlace) => ({ externalId: userId, profile: { name: userId } });
    const identities = new Map<UserPlace, readonly string[]>();
    for (const owner of [first, erased, broken, last]) {
      const ids = [newId('idn'), newId('idn')];
      identities.set(owner, ids);
      for (const id of ids) await personalData.keep(owner, id, factsOf(owner), AT);
    }
    await personalData.destroy(erased, AT);
    await pool.query(
      'update records.auth_data_keys broken set sealed_key = other.sealed_key from records.auth_data_keys other where broken.user_id = $1 and other.user_id = $2',
      [broken.userId, first.userId],
    );

    const read = await Promise.allSettled(owners.map((owner) => personalData.read(owner)));
    const known = (owner: UserPlace) => ({
      status: 'fulfilled',
      value: new Map(identities.get(owner)?.map((id) => [id, factsOf(owner)])),
    });
    const nothing = { status: 'fulfilled', value: new Map() };
    expect([read[0], read[1], read[2], read[4]]).to.deep.equal([known(first), nothing, nothing, known(last)]);
    expect(read[3]).to.include({ status: 'rejected' });
  });

  it('is not kept of somebody who was erased before the first of it came', async () => {
    const owner = newOwner();
    await personalData.destroy(owner, AT);
    expect(await personalData.keep(owner, newId('idn'), FACTS, AT)).to.equal(undefined);
    expect(await rowsOf(owner)).to.equal(0);
  });

  it('is not written by a sign-in that had read the key just before it was destroyed', async () => {
    const owner = newOwner();
    const late = createPersonalData(
      withWriting(async (statement, values) => {
        await personalData.destroy(owner, AT);
        return pool.query(statement, values);
      }),
      secretBox,
    );
    expect(await late.keep(owner, newId('idn'), FACTS, AT)).to.equal(undefined);
    expect(await rowsOf(owner)).to.equal(0);
  });

  it('that is being written is taken along by a destruction, which waits for it', async () => {
    const owner = newOwner();
    const client = await pool.connect();
    try {
      await client.query('begin');
      const early = createPersonalData(
        withWriting((...written) => client.query(...written)),
        secretBox,
      );
      expect(await early.keep(owner, newId('idn'), FACTS, AT)).to.be.instanceOf(Map);

      let isDestroyed = false;
      const destroying = personalData.destroy(owner, AT).then(() => {
        isDestroyed = true;
      });
      await until(async () => isDestroyed || (await somebodyWaitsForALock()));
      await client.query('commit');
      await destroying;
    } finally {
      client.release(true);
    }
    expect(await rowsOf(owner)).to.equal(0);
  });

  async function somebodyWaitsForALock(): Promise<boolean> {
    const { rows } = await pool.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  }

  it('is sealed with a key of each user’s own', async () => {
    const keys: string[] = [];
    const watched: SecretBox = {
      ...secretBox,
      seal: (text, place) => {
        keys.push(text);
        return secretBox.seal(text, place);
      },
    };
    const { keep } = createPersonalData(pool, watched);
    for (const owner of [newOwner(), newOwner()]) await keep(owner, newId('idn'), FACTS, AT);
    expect(new Set(keys).size).to.equal(2);
    for (const key of keys) expect(Buffer.from(key, 'base64')).to.have.length(32);
  });

  it('does not open under another person’s id, not even with the key that it was sealed with', async () => {
    const [one, other] = [newOwner(), newOwner()];
    for (const owner of [one, other]) await personalData.keep(owner, newId('idn'), FACTS, AT);
    const copy = async (table: string, column: string) =>
      pool.query(
        `update records.${table} set ${column} = (select ${column} from records.${table} where user_id = $1)
          where user_id = $2`,
        [one.userId, other.userId],
      );
    const failureOf = () => personalData.read(other).catch((error: unknown) => error);
    await copy('auth_identities', 'sealed');
    expect(await failureOf(), 'the data').to.be.instanceOf(Error);
    await copy('auth_data_keys', 'sealed_key');
    expect(await failureOf(), 'the data and its key').to.be.instanceOf(Error);
  });

  it('does not open with another installation’s key', async () => {
    const owner = newOwner();
    await personalData.keep(owner, newId('idn'), FACTS, AT);
    const stranger = createPersonalData(pool, createSecretBox(randomBytes(32)));
    const failure = await stranger.read(owner).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
    expect(String(failure)).not.to.include('ada');
  });
});
