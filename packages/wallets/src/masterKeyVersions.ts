/**
 * Which version of the master keys is in use is recorded in the database and not configured per process, so that a new
 * version can first be given to every process and then be put to use in all of them at once.
 */
import { type Pool, type Queryable, withTransaction } from '@coffer/database';
import { type Environment, environment as environments } from '@coffer/kernel';
import { reject } from './errors.ts';
import { checkValueOf, type MasterKey, type MasterKeys, nameOf } from './masterKeys.ts';

/** The given master keys are not those of this database. The message says which, and what to do. */
export class MasterKeysMismatchError extends Error {
  override readonly name = 'MasterKeysMismatchError';
}

export interface Activation {
  readonly actor: string;
  readonly requestId: string;
  readonly at: Date;
}

export interface MasterKeyUse {
  readonly environment: Environment;
  readonly version: number;
  readonly isCurrent: boolean;
  /** How many wallet keys only this version opens. */
  readonly walletKeys: number;
  readonly activatedAt: Date;
}

/**
 * Compares the keys held with those of the database, and puts the newest to use in an environment that uses none yet.
 * An environment for which no key is held is left alone. Throws a `MasterKeysMismatchError`.
 */
export async function adoptMasterKeys(
  pool: Pool,
  masterKeys: MasterKeys,
  activation: Activation,
): Promise<void> {
  for (const environment of environments.options) {
    const newest = newestOf(masterKeys, environment);
    if (!newest) continue;
    await withTransaction(pool, async (client) => {
      // If two first starts coincide, the second must see what the first has put to use.
      await client.query('lock table records.wallets_master_keys in share row exclusive mode');
      const registered = await registeredOf(client, environment);
      if (registered.length === 0) await putToUse(client, newest, activation);
      for (const one of registered) requireSame(masterKeys, one);
    });
  }
}

/** Whether any master key of the environment was ever put to use in this database. */
export async function hasMasterKeysInUse(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('select 1 from records.wallets_master_keys limit 1');
  return rows.length > 0;
}

export async function currentVersionOf(db: Queryable, environment: Environment): Promise<number | undefined> {
  const { rows } = await db.query<{ version: number }>(
    'select version from records.wallets_current_master_key where environment = $1',
    [environment],
  );
  return rows[0]?.version;
}

/**
 * The key under which keys are sealed now. Throws `wallets/keys_unavailable` if it is not held here, and a
 * `MasterKeysMismatchError` if another key is held under its version: the other processes could not open what that one
 * seals.
 */
export async function currentMasterKey(
  db: Queryable,
  masterKeys: Pick<MasterKeys, 'find'>,
  environment: Environment,
): Promise<MasterKey> {
  const { rows } = await db.query<{ version: number; check_value: Buffer }>(
    `select version, check_value from records.wallets_current_master_key
       join records.wallets_master_keys using (environment, version) where environment = $1`,
    [environment],
  );
  const [current] = rows;
  const held = current && masterKeys.find(environment, current.version);
  if (!held) {
    throw reject('wallets/keys_unavailable', { environment, ...(current && { version: current.version }) });
  }
  requireCheckValue(held, current.check_value);
  return held;
}

/** From now on every process seals under this version. No effect unless it is above the current one. */
export async function activate(pool: Pool, masterKey: MasterKey, activation: Activation): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('lock table records.wallets_master_keys in share row exclusive mode');
    const current = await currentVersionOf(client, masterKey.environment);
    if (current !== undefined && current >= masterKey.version) return;
    await putToUse(client, masterKey, activation);
  });
}

export async function listMasterKeyUse(db: Queryable): Promise<readonly MasterKeyUse[]> {
  const { rows } = await db.query<MasterKeyUse>(
    `select environment, version, current.version is not null as "isCurrent",
            (select count(*)::integer from records.wallets_sealed_keys as kept
              where kept.environment = used.environment and kept.master_key_version = used.version) as "walletKeys",
            activated_at as "activatedAt"
       from records.wallets_master_keys as used
       left join records.wallets_current_master_key as current using (environment, version)
      order by environment desc, version`,
  );
  return rows;
}

/** Versions other than the given one that still seal keys. */
export async function versionsLeftBehind(
  db: Queryable,
  environment: Environment,
  current: number,
): Promise<readonly number[]> {
  const registered = await registeredOf(db, environment);
  return registered
    .filter(({ version, isInUse }) => version !== current && isInUse)
    .map(({ version }) => version);
}

export function newestOf(masterKeys: MasterKeys, environment: Environment): MasterKey | undefined {
  const version = masterKeys.versionsOf(environment).at(-1);
  return version === undefined ? undefined : masterKeys.find(environment, version);
}

interface Registered {
  readonly environment: Environment;
  readonly version: number;
  readonly checkValue: Buffer;
  /** The current version, or one that still seals keys. */
  readonly isInUse: boolean;
}

async function registeredOf(db: Queryable, environment: Environment): Promise<readonly Registered[]> {
  const { rows } = await db.query<Registered>(
    `select environment, version, check_value as "checkValue",
            exists (select from records.wallets_current_master_key as current
                     where current.environment = used.environment and current.version = used.version)
            or exists (select from records.wallets_sealed_keys as kept
                        where kept.environment = used.environment
                          and kept.master_key_version = used.version) as "isInUse"
       from records.wallets_master_keys as used where environment = $1 order by version`,
    [environment],
  );
  return rows;
}

function requireSame(masterKeys: MasterKeys, registered: Registered): void {
  const held = masterKeys.find(registered.environment, registered.version);
  if (held) requireCheckValue(held, registered.checkValue);
  if (!held && registered.isInUse) {
    throw new MasterKeysMismatchError(
      `The master key ${nameOf(registered)} is in use but was not given. Without it, keys of wallets cannot be opened.`,
    );
  }
}

function requireCheckValue(held: MasterKey, checkValue: Buffer): void {
  if (checkValueOf(held).equals(checkValue)) return;
  throw new MasterKeysMismatchError(
    `The master key ${nameOf(held)} is not the one that this database was used with. Give this process the keys that are kept for this database.`,
  );
}

async function putToUse(
  db: Queryable,
  masterKey: MasterKey,
  { actor, requestId, at }: Activation,
): Promise<void> {
  const { environment, version } = masterKey;
  await db.query(
    `insert into records.wallets_master_keys
       (environment, version, check_value, activated_at, activated_by, request_id)
     values ($1, $2, $3, $4, $5, $6)`,
    [environment, version, checkValueOf(masterKey), at, actor, requestId],
  );
  await db.query(
    `insert into records.wallets_current_master_key (environment, version) values ($1, $2)
     on conflict (environment) do update set version = excluded.version`,
    [environment, version],
  );
}
