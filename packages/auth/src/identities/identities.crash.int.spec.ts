/**
 * A process that dies at any step of a first sign-in or of an erasure: at each fail point, and before and after each
 * append and each statement. Source: architecture, Processes (recovery goes forward only).
 */
import { type Consumer, reacting, startConsumer } from '@coffer/consumers';
import type { Pool } from '@coffer/database';
import { DeadProcessError, type Death, doomedPool } from '@coffer/database/testing';
import type { EventStore } from '@coffer/event-store';
import { openStoreOf, templateOf } from '@coffer/host/testing';
import type { FailPointName } from '@coffer/kernel';
import { createTestDatabase, eventually, failureOf, type TestDatabase } from '@coffer/testing';
import { expect } from 'chai';
import { AUTH_CONTEXTS, adoptSpecMasterKeys } from '../testing/authContexts.ts';
import { contextOf, type IdentityNode, identityNode, newPerson, newPlace } from '../testing/identityNode.ts';

const FIRST_SIGN_IN = ['IdentityClaimed', 'UserRegistered', 'IdentityLinked', 'WalletProvisioned'];
const ERASURE = ['UserErased', 'IdentityReleased'];

/** Where a process dies. */
type DeathPlace =
  | { readonly kind: 'failPoint'; readonly name: FailPointName }
  | { readonly kind: 'append' | 'statement'; readonly death: Death; readonly number: number };

const nameOf = (place: DeathPlace) =>
  place.kind === 'failPoint' ? `at ${place.name}` : `${place.death} ${place.kind} ${place.number}`;

const everyDeath = (failPoints: readonly FailPointName[], appends: number, statements: number) => {
  const numbered = (kind: 'append' | 'statement', count: number): readonly DeathPlace[] =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((number) => [
      { kind, death: 'before', number } as const,
      { kind, death: 'after', number } as const,
    ]);
  return [
    ...failPoints.map((name): DeathPlace => ({ kind: 'failPoint', name })),
    ...numbered('append', appends),
    ...numbered('statement', statements),
  ];
};

/** Statements: look for the wallet's key, create it; create and read the data key; write the sealed facts. */
const SIGN_IN_DEATHS = everyDeath(
  ['signIn.beforeClaim', 'signIn.claimed', 'signIn.registered', 'signIn.provisioned', 'signIn.kept'],
  3,
  7,
);
/** Statements: a transaction with two of them. */
const ERASURE_DEATHS = everyDeath(['erase.erased', 'erase.destroyed', 'erase.released'], 2, 4);

describe('a process that dies', () => {
  let database: TestDatabase;
  let pool: Pool;
  let store: EventStore;
  /** A process that survives. */
  let node: IdentityNode;

  before(async () => {
    database = await createTestDatabase(templateOf(AUTH_CONTEXTS));
    const { connectionString } = database;
    // Connections are broken on purpose.
    pool = database.pool;
    store = await openStoreOf(connectionString);
    node = identityNode({ pool, store });
    await adoptSpecMasterKeys(pool);
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  type Place = ReturnType<typeof newPlace>;
  type Person = ReturnType<typeof newPerson>;

  const signIn = (place: Place, person: Person) => node.identities.resolve(place, person, {}, contextOf());

  /** A process that dies at that place: nothing is heard from it, or done by it, afterwards. */
  function doomedNode(at: DeathPlace) {
    const doomed = at.kind === 'statement' ? doomedPool(pool, at.death, at.number) : doomedPool(pool);
    let dead = false;
    let appends = 0;
    const die = (): never => {
      dead = true;
      throw new DeadProcessError('The process has just died.');
    };
    const doomedStore: EventStore = {
      ...store,
      async append(request) {
        if (dead || doomed.isDead()) return die();
        appends += 1;
        const isLast = at.kind === 'append' && appends === at.number;
        if (isLast && at.death === 'before') return die();
        const result = await store.append(request);
        return isLast ? die() : result;
      },
    };
    const failPoint = (name: FailPointName) => {
      if (at.kind === 'failPoint' && at.name === name) die();
    };
    return identityNode({ pool: doomed.pool, store: doomedStore, failPoint });
  }

  async function dieDuring(work: Promise<unknown>): Promise<void> {
    expect(await failureOf(work)).to.be.instanceOf(DeadProcessError);
  }

  const typesOf = async ({ scopeId }: Place): Promise<readonly string[]> => {
    const types: string[] = [];
    for await (const page of store.readAll()) {
      for (const event of page) if (event.stream.includes(scopeId)) types.push(event.type);
    }
    return types;
  };

  const userIdsOf = async ({ scopeId }: Place): Promise<readonly string[]> => {
    const userIds: string[] = [];
    for await (const page of store.readAll()) {
      for (const { stream, type, data } of page) {
        if (stream.includes(scopeId) && type === 'IdentityClaimed') userIds.push(JSON.parse(data).userId);
      }
    }
    return userIds;
  };

  const dieSigningIn = async (at: DeathPlace) => {
    const place = newPlace();
    const person = newPerson();
    await dieDuring(doomedNode(at).identities.resolve(place, person, {}, contextOf('req-of-the-dead')));
    return { place, person, left: await typesOf(place) };
  };

  const dieErasing = async (at: DeathPlace) => {
    const place = newPlace();
    const person = newPerson();
    const { user: old } = await signIn(place, person);
    await dieDuring(doomedNode(at).identities.erase(place, old.id, contextOf('req-of-the-dead')));
    const isErased = (await typesOf(place)).includes('UserErased');
    return { place, person, old, isErased };
  };

  const expectForgotten = async (userId: string) => {
    const { rows } = await pool.query(
      `select sealed_key, (select count(*)::int from records.auth_identities i where i.user_id = k.user_id) as known
         from records.auth_data_keys k where user_id = $1`,
      [userId],
    );
    expect(rows).to.deep.equal([{ sealed_key: null, known: 0 }]);
  };

  describe('in a first sign-in', () => {
    it('has no other step to die at', async () => {
      const statements = doomedPool(pool);
      let appends = 0;
      const counted: EventStore = {
        ...store,
        append: (request) => {
          appends += 1;
          return store.append(request);
        },
      };
      const { identities } = identityNode({ pool: statements.pool, store: counted });
      await identities.resolve(newPlace(), newPerson(), {}, contextOf());
      expect({ appends, statements: statements.statements.length }).to.deep.equal({
        appends: 3,
        statements: 7,
      });
    });

    for (const at of SIGN_IN_DEATHS) {
      it(`${nameOf(at)}: the next sign-in ends in one user and one wallet`, async () => {
        const { place, person, left } = await dieSigningIn(at);
        expect(FIRST_SIGN_IN.slice(0, left.length), 'what the dead one left').to.deep.equal(left);

        const { user, standing } = await signIn(place, person);
        expect(standing).to.equal('active');
        expect(user.primaryIdentity).to.deep.include(person);
        expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
        expect(await signIn(place, person)).to.deep.include({ user, standing });
        expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
      });
    }
  });

  describe('in an erasure', () => {
    for (const at of ERASURE_DEATHS) {
      it(`${nameOf(at)}: the operator’s repeat finishes it`, async () => {
        const { place, person, old } = await dieErasing(at);
        await node.identities.erase(place, old.id, contextOf());
        await expectForgotten(old.id);
        expect(await typesOf(place)).to.deep.equal([...FIRST_SIGN_IN, ...ERASURE]);
        expect((await signIn(place, person)).user.id).not.to.equal(old.id);
      });

      it(`${nameOf(at)}: the next sign-in finishes it, if it has begun`, async () => {
        const { place, person, old, isErased } = await dieErasing(at);
        const { user, standing } = await signIn(place, person);
        expect(standing).to.equal('active');
        expect(user.id === old.id).to.equal(!isErased);
        if (isErased) await expectForgotten(old.id);
        const rest = isErased ? [...ERASURE, ...FIRST_SIGN_IN] : [];
        expect(await typesOf(place)).to.deep.equal([...FIRST_SIGN_IN, ...rest]);
      });
    }
  });

  describe('and nobody comes back', () => {
    let consumer: Consumer;
    let erasedEarly: { readonly place: Place; readonly person: Person };
    const troubles: unknown[] = [];
    const signedIn = new Map<DeathPlace, Awaited<ReturnType<typeof dieSigningIn>>>();
    const erasing = new Map<DeathPlace, Awaited<ReturnType<typeof dieErasing>>>();

    before(async () => {
      for (const at of SIGN_IN_DEATHS) signedIn.set(at, await dieSigningIn(at));
      for (const at of ERASURE_DEATHS) erasing.set(at, await dieErasing(at));
      const { place, person } = await dieSigningIn({ kind: 'failPoint', name: 'signIn.registered' });
      const [userId = expect.fail('nothing was claimed')] = await userIdsOf(place);
      await node.identities.erase(place, userId, contextOf());
      erasedEarly = { place, person };
      consumer = startConsumer({
        pool,
        store,
        schema: 'records',
        name: 'identities',
        work: reacting(node.reactions, { graceMs: 0 }),
        onAlarm: (alarm) => troubles.push(alarm),
        onTrouble: (trouble) => troubles.push(trouble),
      });
    });
    after(() => consumer.stop());

    for (const at of SIGN_IN_DEATHS) {
      it(`in a first sign-in, ${nameOf(at)}: the process finishes what was claimed, once`, async () => {
        const { place, person, left } = signedIn.get(at) ?? expect.fail();
        const expected = left.length === 0 ? [] : FIRST_SIGN_IN;
        await eventually('the user has a wallet', async () => {
          const { length } = await typesOf(place);
          return length === expected.length || undefined;
        });
        expect(await typesOf(place)).to.deep.equal(expected);
        const { user } = await signIn(place, person);
        expect(user.primaryIdentity).to.deep.include(person);
        expect(await typesOf(place)).to.deep.equal(FIRST_SIGN_IN);
      });
    }

    for (const at of ERASURE_DEATHS) {
      it(`in an erasure, ${nameOf(at)}: the process finishes it, if it has begun`, async () => {
        const { place, old, isErased } = erasing.get(at) ?? expect.fail();
        const expected = [...FIRST_SIGN_IN, ...(isErased ? ERASURE : [])];
        await eventually('the identity is released', async () => {
          const { length } = await typesOf(place);
          return length === expected.length || undefined;
        });
        expect(await typesOf(place)).to.deep.equal(expected);
        if (isErased) await expectForgotten(old.id);
      });
    }

    it('in a first sign-in, and the user is erased before there is a wallet: there never is one', async () => {
      const { place, person } = erasedEarly;
      expect(await typesOf(place)).to.deep.equal([...FIRST_SIGN_IN.slice(0, 3), ...ERASURE]);
      await signIn(place, person);
      expect(await typesOf(place)).to.deep.equal([
        ...FIRST_SIGN_IN.slice(0, 3),
        ...ERASURE,
        ...FIRST_SIGN_IN,
      ]);
    });

    it('and in the end nothing is pending, and there was no trouble', async () => {
      await eventually('the process stands at the end of the log', async () => {
        const head = await store.head();
        const { rows } = await pool.query<{ position: string }>(
          "select position from records.consumers where name = 'identities'",
        );
        return rows[0]?.position === head?.position || undefined;
      });
      expect(troubles).to.deep.equal([]);
    });
  });
});
