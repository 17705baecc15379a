/**
 * Personal data, kept outside the log and sealed with a key per user, which is itself sealed with the installation's
 * key. Destroying the user's key makes every copy of the data unreadable that does not include the key.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { answeredWithin, type Pool, SHARED_ANSWER_WITHIN_MS, withTransaction } from '@coffer/database';
import { createBatchingLookup, createSecretBox, type SecretBox, type UserPlace } from '@coffer/kernel';
import { z } from 'zod';

const personalFacts = z.object({ externalId: z.string(), profile: z.record(z.string(), z.string()) });
type PersonalFacts = Readonly<z.infer<typeof personalFacts>>;

/** By identity id. */
export type FactsByIdentity = ReadonlyMap<string, PersonalFacts>;

export interface PersonalData {
  /** Stores what a sign-in has proved. Returns all that is then known of the user; undefined once destroyed. */
  readonly keep: (
    owner: UserPlace,
    identityId: string,
    facts: PersonalFacts,
    at: Date,
  ) => Promise<FactsByIdentity | undefined>;
  /** Empty if nothing was stored, or once it is destroyed. */
  readonly read: (owner: UserPlace) => Promise<FactsByIdentity>;
  /** Permanent: no more data can be stored for the user. */
  readonly destroy: (owner: UserPlace, at: Date) => Promise<void>;
}

interface Row {
  /** The index of the requested owner, from 1. */
  readonly number: number;
  readonly sealed_key: unknown;
  readonly is_destroyed: boolean;
  readonly identity_id: string | null;
  readonly sealed: unknown;
}

/** `box` undefined: destroyed. */
interface Loaded {
  readonly box: SecretBox | undefined;
  readonly facts: FactsByIdentity;
}

const OWNED = 'environment = $1 and scope_id = $2 and user_id = $3';
const MAX_OWNERS_PER_QUERY = 256;
const parameters = ({ environment, scopeId, userId }: UserPlace) => [environment, scopeId, userId];

/** `secretBox` is the installation's; it seals the users' keys. */
export function createPersonalData(pool: Pool, secretBox: SecretBox): PersonalData {
  const rowsOf = createBatchingLookup({
    findAll: (owners: readonly UserPlace[]) => selectRows(pool, owners),
    maximumKeys: MAX_OWNERS_PER_QUERY,
  });

  return {
    async keep(owner, identityId, facts, at) {
      const { box, facts: known } = (await load(owner)) ?? (await loadWithNewKey(owner, at));
      if (!box) return undefined;
      if (isDeepStrictEqual(known.get(identityId), facts)) return known;

      const sealed = box.seal(JSON.stringify(facts), placeOf('identity', owner, identityId));
      // The share lock makes a destruction wait for this row, and so include it.
      const { rowCount } = await pool.query(
        `insert into records.auth_identities (identity_id, environment, scope_id, user_id, sealed, updated_at)
         select $4, environment, scope_id, user_id, $5, $6 from records.auth_data_keys
          where ${OWNED} and destroyed_at is null for share
         on conflict (identity_id) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`,
        [...parameters(owner), identityId, sealed, at],
      );
      return rowCount === 0 ? undefined : new Map([...known, [identityId, facts]]);
    },

    async read(owner) {
      return (await load(owner))?.facts ?? new Map();
    },

    async destroy(owner, at) {
      await withTransaction(pool, async (client) => {
        await client.query(
          `insert into records.auth_data_keys (environment, scope_id, user_id, created_at, destroyed_at)
           values ($1, $2, $3, $4, $4)
           on conflict (environment, scope_id, user_id) do update
             set sealed_key = null, destroyed_at = excluded.destroyed_at
             where auth_data_keys.destroyed_at is null`,
          [...parameters(owner), at],
        );
        await client.query(`delete from records.auth_identities where ${OWNED}`, parameters(owner));
      });
    },
  };

  async function load(owner: UserPlace): Promise<Loaded | undefined> {
    const rows = await rowsOf(owner);
    const [first] = rows;
    if (!first) return undefined;
    if (first.is_destroyed) return { box: undefined, facts: new Map() };
    const key = Buffer.from(secretBox.open(first.sealed_key, placeOf('key', owner)), 'base64');
    const box = createSecretBox(key);
    const facts = rows.flatMap(({ identity_id: identityId, sealed }) => {
      if (identityId === null) return [];
      const text = box.open(sealed, placeOf('identity', owner, identityId));
      return [[identityId, personalFacts.parse(JSON.parse(text))] as const];
    });
    return { box, facts: new Map(facts) };
  }

  /** If two callers create one at the same time, both read the same key. */
  async function loadWithNewKey(owner: UserPlace, at: Date): Promise<Loaded> {
    const key = secretBox.seal(randomBytes(32).toString('base64'), placeOf('key', owner));
    await pool.query(
      `insert into records.auth_data_keys (environment, scope_id, user_id, sealed_key, created_at)
       values ($1, $2, $3, $4, $5) on conflict do nothing`,
      [...parameters(owner), key, at],
    );
    const loaded = await load(owner);
    assert(loaded, 'a data key that was just written is there');
    return loaded;
  }
}

/** One per owner, in the same order. */
async function selectRows(pool: Pool, owners: readonly UserPlace[]): Promise<readonly (readonly Row[])[]> {
  const asked = answeredWithin(SHARED_ANSWER_WITHIN_MS, {
    name: 'auth_personal_data',
    text: `select wanted.number::int as number, sealed_key, destroyed_at is not null as is_destroyed,
                  identity_id, sealed
             from unnest($1::text[], $2::text[], $3::text[])
                  with ordinality as wanted (environment, scope_id, user_id, number)
             join records.auth_data_keys using (environment, scope_id, user_id)
             left join records.auth_identities using (environment, scope_id, user_id)`,
    values: [
      owners.map(({ environment }) => environment),
      owners.map(({ scopeId }) => scopeId),
      owners.map(({ userId }) => userId),
    ],
  });
  const { rows } = await pool.query<Row>(asked);
  const byNumber = Map.groupBy(rows, ({ number }) => number);
  return owners.map((_, index) => byNumber.get(index + 1) ?? []);
}

/** What a sealed value is bound to: copied to another person or row, it cannot be opened. */
function placeOf(kind: 'key' | 'identity', { environment, scopeId, userId }: UserPlace, ...rest: string[]) {
  return JSON.stringify(['auth', kind, environment, scopeId, userId, ...rest]);
}
