/** The rows that hold sealed keys, and the rows that record each opening. */
import type { Pool, Queryable } from '@coffer/database';
import { decodeBase58Address, type Environment, encodeBase58 } from '@coffer/kernel';
import type { WalletPlace } from './domain/walletIds.ts';
import type { KeyIdentity, SealedKey } from './envelope.ts';

export interface StoredKey {
  readonly identity: KeyIdentity;
  readonly sealed: SealedKey;
}

/** Why a key is opened, recorded permanently. Neither text may hold anything secret. */
export interface KeyOpening {
  /** `key:<id>`, `operator`, …: as in the metadata of events. */
  readonly actor: string;
  /** The purpose, with its id if there is one. */
  readonly purpose: string;
  readonly requestId: string;
}

/** The public facts about a key. */
export interface KeptKey {
  readonly publicKey: Buffer;
  readonly createdAt: Date;
}

interface Row {
  readonly wallet_id: string;
  readonly environment: Environment;
  readonly owner_id: string;
  readonly public_key: Buffer;
  readonly format: number;
  readonly master_key_version: number;
  readonly wrapped_data_key: Buffer;
  readonly sealed_seed: Buffer;
}

const COLUMNS =
  'wallet_id, environment, owner_id, public_key, format, master_key_version, wrapped_data_key, sealed_seed';

const storedKeyOf = (row: Row): StoredKey => ({
  identity: {
    environment: row.environment,
    ownerId: row.owner_id,
    walletId: row.wallet_id,
    publicKey: row.public_key,
  },
  sealed: {
    format: row.format,
    masterKeyVersion: row.master_key_version,
    wrappedDataKey: row.wrapped_data_key,
    sealedSeed: row.sealed_seed,
  },
});

/**
 * Keeps the key unless the wallet has one, and only while the master key that seals it is the current one. The row is
 * durable when this returns it; undefined if it was not kept.
 */
export async function insertKey(
  db: Queryable,
  { identity, sealed }: StoredKey,
  createdAt: Date,
): Promise<KeptKey | undefined> {
  // Waits for a rotation in progress; if it changes the version, nothing is inserted.
  const { rows } = await db.query<KeptKey>(
    `with current as (
       select version from records.wallets_current_master_key
        where environment = $2 and version = $6 for share
     )
     insert into records.wallets_sealed_keys (${COLUMNS}, created_at)
     select $1, $2, $3, $4, $5, version, $7, $8, $9 from current
     on conflict (wallet_id) do nothing
     returning public_key as "publicKey", created_at as "createdAt"`,
    [
      identity.walletId,
      identity.environment,
      identity.ownerId,
      identity.publicKey,
      sealed.format,
      sealed.masterKeyVersion,
      sealed.wrappedDataKey,
      sealed.sealedSeed,
      createdAt,
    ],
  );
  return rows[0];
}

export async function findKey(db: Queryable, walletId: string): Promise<KeptKey | undefined> {
  const { rows } = await db.query<KeptKey>(
    `select public_key as "publicKey", created_at as "createdAt"
       from records.wallets_sealed_keys where wallet_id = $1`,
    [walletId],
  );
  return rows[0];
}

/** The addresses among these whose keys are kept and used here, for whatever owner and environment. */
export async function findKeysOf(db: Queryable, addresses: readonly string[]): Promise<ReadonlySet<string>> {
  const publicKeys = addresses.flatMap((address) => decodeBase58Address(address) ?? []);
  if (publicKeys.length === 0) return new Set();
  const { rows } = await db.query<{ public_key: Buffer }>(
    'select public_key from records.wallets_sealed_keys where public_key = any($1::bytea[]) and retired_at is null',
    [publicKeys],
  );
  return new Set(rows.map(({ public_key }) => encodeBase58(public_key)));
}

/** Who owns the key that is kept and used here for the address; undefined if there is none. */
export type WalletAt = (
  environment: Environment,
  address: string,
) => Promise<(Pick<KeyIdentity, 'walletId' | 'ownerId'> & { readonly address: string }) | undefined>;

export const walletAt =
  (db: Queryable): WalletAt =>
  async (environment, address) => {
    const { rows } = await db.query<Pick<Row, 'wallet_id' | 'owner_id'>>(
      `select wallet_id, owner_id from records.wallets_sealed_keys
        where public_key = $1 and environment = $2 and retired_at is null`,
      [decodeBase58Address(address), environment],
    );
    return rows[0] && { walletId: rows[0].wallet_id, ownerId: rows[0].owner_id, address };
  };

/**
 * The sealed key, with its opening on record: the one statement has committed when this returns, so no key is opened
 * without a record. Takes a pool, because a transaction could still be rolled back. A retired key is only returned if a
 * retired one is asked for.
 */
export async function takeKeyForOpening(
  pool: Pool,
  { ownerId, environment, walletId }: WalletPlace,
  { actor, purpose, requestId }: KeyOpening,
  which: 'inUse' | 'retired' = 'inUse',
): Promise<StoredKey | undefined> {
  const { rows } = await pool.query<Row>(
    `with found as (
       select ${COLUMNS} from records.wallets_sealed_keys
        where wallet_id = $1 and environment = $2 and owner_id = $3 and (retired_at is not null) = $7
     ), opening as (
       insert into records.wallets_key_openings (wallet_id, environment, actor, purpose, request_id)
       select wallet_id, environment, $4, $5, $6 from found
     )
     select * from found`,
    [walletId, environment, ownerId, actor, purpose, requestId, which === 'retired'],
  );
  return rows[0] && storedKeyOf(rows[0]);
}

/** Once this returns, no process signs anything with the key. The first time counts. */
export async function retireKey(db: Queryable, walletId: string, at: Date): Promise<void> {
  await db.query(
    'update records.wallets_sealed_keys set retired_at = $2 where wallet_id = $1 and retired_at is null',
    [walletId, at],
  );
}

/** Removes the keys retired by then, along with the form in which they were handed out; returns their wallets. */
export async function destroyRetiredKeys(
  db: Queryable,
  retiredBy: Date,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ wallet_id: string }>(
    `delete from records.wallets_sealed_keys where wallet_id in (
       select wallet_id from records.wallets_sealed_keys
        where retired_at <= $1 order by retired_at limit $2 for update skip locked
     ) returning wallet_id`,
    [retiredBy, limit],
  );
  return rows.map(({ wallet_id }) => wallet_id);
}

/** Like `takeKeyForOpening`, for the next keys under an old version, in the order of their wallets' ids. */
export async function takeKeysForRewrapping(
  pool: Pool,
  {
    environment,
    version,
    after,
    limit,
  }: {
    readonly environment: Environment;
    readonly version: number;
    /** The last wallet id of the previous batch; empty for the first. */
    readonly after: string;
    readonly limit: number;
  },
  { actor, purpose, requestId }: KeyOpening,
): Promise<readonly StoredKey[]> {
  const { rows } = await pool.query<Row>(
    `with found as (
       select ${COLUMNS} from records.wallets_sealed_keys
        where environment = $1 and master_key_version = $2 and wallet_id > $3
        order by wallet_id limit $4
     ), opening as (
       insert into records.wallets_key_openings (wallet_id, environment, actor, purpose, request_id)
       select wallet_id, environment, $5, $6, $7 from found
     )
     select * from found order by wallet_id`,
    [environment, version, after, limit, actor, purpose, requestId],
  );
  return rows.map(storedKeyOf);
}

/** Replaces each wrapping that was read with the new one; leaves those that somebody else has replaced. */
export async function replaceWrappings(
  db: Queryable,
  replacements: readonly {
    readonly walletId: string;
    readonly before: SealedKey;
    readonly after: SealedKey;
  }[],
): Promise<number> {
  const { rowCount } = await db.query(
    `update records.wallets_sealed_keys as kept
        set master_key_version = given.version, wrapped_data_key = given.wrapped
       from unnest($1::text[], $2::bytea[], $3::integer[], $4::bytea[])
            as given (wallet_id, wrapped_before, version, wrapped)
      where kept.wallet_id = given.wallet_id and kept.wrapped_data_key = given.wrapped_before`,
    [
      replacements.map(({ walletId }) => walletId),
      replacements.map(({ before }) => before.wrappedDataKey),
      replacements.map(({ after }) => after.masterKeyVersion),
      replacements.map(({ after }) => after.wrappedDataKey),
    ],
  );
  return rowCount ?? 0;
}
