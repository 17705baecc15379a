/** Identifying a player, for every way to sign in. Source: specification, What the service does and Sign-in. */
import type { Pool } from '@coffer/database';
import type { EventStore, RecordedEvent } from '@coffer/event-store';
import { openStoreOf, templateOf } from '@coffer/host/testing';
import { newId } from '@coffer/kernel';
import { createTestDatabase, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { AUTH_CONTEXTS, adoptSpecMasterKeys } from '../testing/authContexts.ts';
import { contextOf, type IdentityNode, identityNode, newPerson, newPlace } from '../testing/identityNode.ts';
import { requireIdentityKey } from './identityHash.ts';

const FIRST_SIGN_IN = ['IdentityClaimed', 'UserRegistered', 'IdentityLinked', 'WalletProvisioned'];

describe('signing in', () => {
  let database: TestDatabase;
  let pool: Pool;
  /** Two processes on one database. */
  let stores: readonly [EventStore, EventStore];
  let nodes: readonly [IdentityNode, IdentityNode];
  let node: IdentityNode;

  before(async () => {
    database = await createTestDatabase(templateOf(AUTH_CONTEXTS));
    const { connectionString } = database;
    pool = database.pool;
    stores = [await openStoreOf(connectionString), await openStoreOf(connectionString)];
    nodes = [identityNode({ pool, store: stores[0] }), identityNode({ pool, store: stores[1] })];
    node = nodes[0];
    await adoptSpecMasterKeys(pool);
  });
  after(async () => {
    for (const store of stores) await store.close();
    await database.drop();
  });

  type Place = ReturnType<typeof newPlace>;
  type Person = Parameters<IdentityNode['identities']['resolve']>[1];
  const signIn = (
    place: Parameters<IdentityNode['identities']['resolve']>[0],
    person: Person,
    firstTouch: { referralCode?: string; gameKey?: string } = {},
    { identities } = node,
  ) => identities.resolve(place, person, firstTouch, contextOf());
  const erase = (place: Place, userId: string) => node.identities.erase(place, userId, contextOf());

  const log = async (): Promise<readonly RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const page of stores[0].readAll()) events.push(...page);
    return events;
  };
  const logOf = async ({ scopeId }: Place) => (await log()).filter(({ stream }) => stream.includes(scopeId));
  const typesOf = async (place: Place) => (await logOf(place)).map(({ type }) => type);

  it('for the first time makes a user with its identity and a wallet', async () => {
    const place = newPlace();
    const person = newPerson();
    const { user, standing } = await signIn(place, person);
    const [claimed] = await logOf(place);

    expect(standing).to.equal('active');
    const identity = { id: user.primaryIdentity.id, ...person };
    expect(user).to.deep.include({ appId: place.appId, primaryIdentity: identity, identities: [identity] });
    expect(user.id).to.match(/^usr_/);
    expect(identity.id).to.match(/^idn_/);
    expect(user.wallets).to.have.length(1);
    expect(user.createdAt).to.equal(JSON.parse(claimed?.data ?? '').claimedAt);
    expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
    expect(await node.identities.view(place, user.id, contextOf())).to.deep.equal({ user, standing });
  });

  it('again finds the same user and wallet, and writes no event', async () => {
    const place = newPlace();
    const person = newPerson();
    const first = await signIn(place, person);
    for (const { identities } of nodes) {
      expect(await identities.resolve(place, person, {}, contextOf())).to.deep.equal(first);
    }
    expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
  });

  it('for the first time fifty times at once, in two processes, makes one user and one wallet', async () => {
    const place = newPlace();
    const person = newPerson();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => signIn(place, person, {}, nodes[index % 2])),
    );
    for (const answer of answers) expect(answer).to.deep.equal(answers[0]);
    expect(await typesOf(place)).to.have.members(FIRST_SIGN_IN);
  });

  it('finds the same user through every app of the scope, and another one everywhere else', async () => {
    const place = newPlace();
    const person = newPerson();
    const { user } = await signIn(place, person);
    const sister = { ...place, appId: newId('app') };
    expect((await signIn(sister, person)).user).to.deep.equal({ ...user, appId: sister.appId });
    const { externalId, profile } = person;
    const others = [
      await signIn({ ...place, environment: 'live' }, person),
      await signIn({ ...place, scopeId: newId('scp') }, person),
      await signIn(place, { type: 'messenger', externalId, profile }),
    ];
    const ids = new Set([user.id, ...others.map((other) => other.user.id)]);
    expect(ids.size).to.equal(4);
  });

  it('keeps the profile of the last time', async () => {
    const place = newPlace();
    const profiles = [{ username: 'ada', firstName: 'Ada' }, { username: 'lovelace' }, {}];
    for (const profile of profiles) {
      const person = { type: 'messenger', externalId: '7000000001', profile } as const;
      const { user } = await signIn(place, person);
      expect(user.primaryIdentity).to.deep.include(person);
      const seen = await nodes[1].identities.view(place, user.id, contextOf());
      expect(seen?.user).to.deep.equal(user);
    }
    expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
  });

  it('keeps what the first touch of each app brought for referrals', async () => {
    const place = newPlace();
    const person = newPerson();
    const first = { referralCode: 'SUMMER26', gameKey: 'dice' };
    await signIn(place, person, first);
    await signIn(place, person, { referralCode: 'WINTER27' });
    const sister = { ...place, appId: newId('app') };
    await signIn(sister, person, { gameKey: 'cards' });
    const kept = (await logOf(place))
      .filter(({ type }) => ['IdentityClaimed', 'FirstTouched'].includes(type))
      .map(({ data }) => JSON.parse(data));
    expect(kept).to.have.length(2);
    expect(kept[0]).to.include({ appId: place.appId, ...first });
    expect(kept[1]).to.include({ appId: sister.appId, gameKey: 'cards' });
  });

  it('tells a suspended user’s standing, and leaves what to do about it to the caller', async () => {
    const place = newPlace();
    const person = newPerson();
    const { user } = await signIn(place, person);
    await node.users.suspend(
      { ...place, userId: user.id },
      { ...contextOf(), requestId: 'r', actor: 'operator' },
    );
    expect(await signIn(place, person)).to.deep.include({ user, standing: 'suspended' });
  });

  it('leaves nothing that names a person where it can be read', async () => {
    const place = newPlace();
    const address = 'grace.hopper@example.com';
    await signIn(
      place,
      { type: 'email', externalId: address, profile: { email: address } },
      { referralCode: address },
    );
    const { user } = await signIn(place, {
      type: 'messenger',
      externalId: '8123456789',
      profile: {
        username: 'ghopper',
        firstName: 'Grace',
        lastName: 'Hopper',
        photoUrl: 'https://example.com/g.png',
      },
    });
    await erase(place, user.id);

    const { rows: tables } = await pool.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts = [JSON.stringify(await log())];
    for (const { name } of tables) {
      const { rows } = await pool.query<{ text: string | null }>(
        `select string_agg(t::text, e'\\n') as text from ${name} t`,
      );
      texts.push(rows[0]?.text ?? '');
    }
    const all = texts.join('\n').toLowerCase();
    expect(all, 'the identities are there').to.include(user.id);
    for (const personal of ['hopper', 'grace', '8123456789', 'g.png', '@example']) {
      expect(all.includes(personal), personal).to.equal(false);
    }
  });

  it('is refused to a service with another identity key than the first', async () => {
    await requireIdentityKey(pool, Buffer.alloc(32, 5));
    await requireIdentityKey(pool, Buffer.alloc(32, 5));
    const refusal = await requireIdentityKey(pool, Buffer.alloc(32, 6)).catch((error: unknown) => error);
    expect(String(refusal)).to.include('COFFER_IDENTITY_KEY');
  });

  describe('after the user was erased', () => {
    const rowsOf = async (userId: string) => {
      const { rows } = await pool.query(
        `select sealed_key, (select count(*)::int from records.auth_identities i where i.user_id = k.user_id) as known
           from records.auth_data_keys k where user_id = $1`,
        [userId],
      );
      return rows;
    };
    const FORGOTTEN = [{ sealed_key: null, known: 0 }];

    it('makes a new user with a wallet of its own, and the old one is forgotten', async () => {
      const place = newPlace();
      const person = newPerson();
      const { user: old } = await signIn(place, person);
      await erase(place, old.id);
      expect(await rowsOf(old.id)).to.deep.equal(FORGOTTEN);

      const { user, standing } = await signIn(place, person);
      expect(standing).to.equal('active');
      expect(user.id).not.to.equal(old.id);
      expect(user.primaryIdentity).to.deep.include(person);
      expect(user.primaryIdentity.id).not.to.equal(old.primaryIdentity.id);
      expect(user.wallets.map(({ address }) => address)).not.to.deep.equal(
        old.wallets.map(({ address }) => address),
      );
      expect(await typesOf(place)).to.deep.equal([
        ...FIRST_SIGN_IN,
        'UserErased',
        'IdentityReleased',
        ...FIRST_SIGN_IN,
      ]);

      await erase(place, old.id);
      expect(await signIn(place, person)).to.deep.include({ user, standing });
      const forgotten = await node.identities.view(place, old.id, contextOf());
      expect(forgotten?.standing).to.equal('erased');
      expect(forgotten?.user.primaryIdentity).to.deep.include({ externalId: '', profile: {} });
    });

    it('does not affect a user of another scope or environment', async () => {
      const place = newPlace();
      const { user } = await signIn(place, newPerson());
      for (const elsewhere of [
        { ...place, scopeId: newId('scp') },
        { ...place, environment: 'live' } as const,
      ]) {
        const refusal = await node.identities
          .erase(elsewhere, user.id, contextOf())
          .catch((error) => error.code);
        expect(refusal).to.equal('users/not_found');
        expect(await node.identities.view(elsewhere, user.id, contextOf())).to.equal(undefined);
      }
    });

    it('or while it is, ends in one live user, and in nothing known of the others', async () => {
      const place = newPlace();
      const person = newPerson();
      const { user: first } = await signIn(place, person);
      const erasing = erase(place, first.id);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const profile = { email: person.externalId, username: `name-${index}` };
          return signIn(place, { ...person, profile }, {}, nodes[index % 2]);
        }),
      );
      await erasing;
      const { user, standing } = await signIn(place, person);
      expect(standing).to.equal('active');
      expect(user.id).not.to.equal(first.id);
      expect(await rowsOf(first.id)).to.deep.equal(FORGOTTEN);
      const ids = new Set(answers.map((answer) => answer.user.id));
      for (const id of ids) expect([first.id, user.id]).to.include(id);
      expect((await typesOf(place)).filter((type) => type === 'UserRegistered')).to.have.length(2);
    });

    it('makes a new user even if the log has lost the erasure, which the destroyed key proves', async () => {
      const place = newPlace();
      const person = newPerson();
      const { user: old } = await signIn(place, person);
      await node.personalData.destroy({ ...place, userId: old.id }, new Date());
      const { user } = await signIn(place, person);
      expect(user.id).not.to.equal(old.id);
      expect((await node.identities.view(place, old.id, contextOf()))?.standing).to.equal('erased');
    });
  });
});
